/* The server of the Model Context Protocol: a client of the library, behind any transport.
 *
 * A transport has a server for each party that its operator gives rights to, and a peer for each
 * client.  It gives each message of the client to mcp_peer_handle; what has to be sent comes back
 * through the peer's callback, from the calling thread, also before the call returns.  A call of a
 * tool returns when the tool has ended, so a transport handles those on threads of their own
 * (mcp_peer_may_wait). */
#ifndef MCP_MCP_H
#define MCP_MCP_H

#include "admit/grant.h"
#include "mcp/mcp_message.h"
#include "model/request.h"

#define MCP_VERSION_STATELESS "2026-07-28"
#define MCP_VERSION_SESSIONS "2025-11-25" /* the newest with `initialize` */

struct mcp_server;
struct mcp_peer;

/* True for a version that has `initialize` and that is spoken here. */
bool mcp_version_initializes(const char *version);

/* What a transport that others use decides and counts besides.  In a call's thread. */
struct mcp_host {
    /* Before a session is made; negative: it is not, and *err says why. */
    int (*begin)(void *context, const sbr_request *req, void **ret_held, sbr_error *err);
    /* It was made (`id` NULL: it could not be); takes what was held over.  Negative: it is ended
     * again, and *err says why. */
    int (*made)(void *context, void *held, const char *id, const sbr_request *req, sbr_error *err);
    void (*ended)(void *context, const char *id);
    /* The path of a client's root as a project, which is the caller's; NULL: it may be none. */
    char *(*admit)(void *context, const char *path);
    /* These changes were left; they are asked to be applied, and *err says why they may not. */
    void (*kept)(void *context, const char *changes_id);
    int (*may_apply)(void *context, const char *changes_id, sbr_error *err);
    void *context;
};

/* What the operator allows.  Arguments of tools can only narrow it. */
struct mcp_settings {
    const sbr_request
        *base;        /* limits, network, project, volumes, policy; must outlive the server */
    bool allow_apply; /* apply_changes without asking the person */
    bool no_packages; /* tools install none */
    bool roots;       /* without a project: a root of the client is the project */
    bool cold;        /* no engine is asked */
    /* For clients that came over a network: */
    const struct grant *grant; /* of their token; NULL: what `base` has is all that tools get */
    const char *token;         /* what gave them their rights, for messages; NULL: none did */
    bool no_sessions, no_project, no_apply; /* these tools are not there */
    const struct mcp_host *host;            /* NULL: the person's own machine */
    sbr_runtime *runtime;                   /* NULL: the server has its own */
    uint64_t kept_bytes;                    /* of results and their files; 0: the default */
};

int mcp_server_new(const struct mcp_settings *settings, struct mcp_server **ret, sbr_error *err)
    must_check;
/* Ends the sessions that its tools have made.  No call may run any more. */
void mcp_server_free(struct mcp_server *server);

/* The `i`-th argument of a tool that a header of HTTP repeats (x-mcp-header in its schema): the
 * argument, and what stands behind "Mcp-Param-".  False: there are no more. */
bool mcp_server_header(const struct mcp_server *server, const char *tool, size_t i,
                       const char **ret_argument, const char **ret_header);

/* Memory that the call of a tool may use besides sessions that live; 0: none, or no such call. */
uint64_t mcp_server_memory(const struct mcp_server *server, const struct mcp_message *message);

/* Sends one message: JSON without a newline.  `context` is that of the message that is handled.
 * May be called by several threads at once. */
typedef void mcp_send(void *context, enum mcp_kind kind, const char *text, size_t len);

struct mcp_peer *mcp_peer_new(struct mcp_server *server, mcp_send *send);
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
