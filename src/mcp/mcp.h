/* The server of the Model Context Protocol: a client of the library, behind any transport.
 *
 * A transport has one server and a peer for each client that it serves.  It gives each message of
 * the client to mcp_peer_handle; what has to be sent comes back through the peer's callback, from
 * the calling thread, also before the call returns.  A call of a tool returns when the tool has
 * ended, so a transport handles those on threads of their own (mcp_peer_may_wait). */
#ifndef MCP_MCP_H
#define MCP_MCP_H

#include "mcp/mcp_message.h"
#include "model/request.h"

#define MCP_VERSION_STATELESS "2026-07-28"
#define MCP_VERSION_SESSIONS "2025-11-25" /* the newest with `initialize` */

struct mcp_server;
struct mcp_peer;

/* What the operator allows.  Arguments of tools can only narrow it. */
struct mcp_settings {
    const sbr_request
        *base;        /* limits, network, project, volumes, policy; must outlive the server */
    bool allow_apply; /* apply_changes without asking the person */
    bool no_packages; /* tools install none */
    bool roots;       /* without a project: the client's first root is the project */
    bool cold;        /* no engine is asked */
};

int mcp_server_new(const struct mcp_settings *settings, struct mcp_server **ret, sbr_error *err)
    must_check;
/* Ends the sessions that its tools have made.  No call may run any more. */
void mcp_server_free(struct mcp_server *server);

/* Sends one message: JSON without a newline.  May be called by several threads at once. */
typedef void mcp_send(void *context, const char *text, size_t len);

struct mcp_peer *mcp_peer_new(struct mcp_server *server, mcp_send *send, void *context);
void mcp_peer_free(struct mcp_peer *peer);
/* True when handling the message may take as long as a program inside. */
bool mcp_peer_may_wait(const struct mcp_message *message);
/* Takes the message's content over.  The code of the error that was sent, or 0. */
enum mcp_code mcp_peer_handle(struct mcp_peer *peer, struct mcp_message *message);
/* Answers a request that the transport cannot serve now. */
void mcp_peer_refuse(struct mcp_peer *peer, struct mcp_message *message, const char *why);
/* The client left: ends all its calls, now and in future. */
void mcp_peer_leave(struct mcp_peer *peer);

#endif
