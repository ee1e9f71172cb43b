/* Who speaks MCP over HTTP: for each token a server of src/mcp with the token's rights, and its
 * clients of the era with `initialize`.
 *
 * A token's runs, files and sessions are found by that token only.  The loop calls all of this. */
#ifndef HTTP_AGENTS_H
#define HTTP_AGENTS_H

#include <string.h>

#include "base/encoding.h"
#include "http/exchange.h"
#include "http/server.h"
#include "mcp/mcp.h"

#define AGENT_CALLS_MAX 16 /* of one token at once: each has a thread */

struct sse_stream;

struct agent {
    struct link link; /* of the server's agents */
    struct server *server;
    struct grant tenant;
    char workspace[64]; /* as the tenant names it; empty: none */
    sbr_request *base;
    struct held *held;
    struct mcp_host host;
    struct mcp_server *mcp;
    struct link clients;
    unsigned int calls; /* that run */
    uint64_t used_us;
};

/* A client that sent `initialize`. */
struct agent_client {
    struct link link;
    struct agent *agent;
    char id[ENCODING_ID_SIZE]; /* Mcp-Session-Id */
    struct mcp_peer *peer;
    unsigned int calls;
    bool closed;               /* it is freed with its last call */
    struct sse_stream *stream; /* of its GET; NULL: none */
    uint64_t used_us;
};

/* That of the exchange's token; made when it is the first.  NULL: replied. */
struct agent *agents_find(struct exchange *x);
/* NULL without memory. */
struct agent_client *agents_add_client(struct agent *agent, mcp_send *send);
/* NULL: this token has none of that id. */
struct agent_client *agents_find_client(struct agent *agent, const char *id);
void agents_close_client(struct agent_client *client);
/* A call begins or ends; `client` may be NULL. */
void agents_begin_call(struct agent *agent, struct agent_client *client);
void agents_end_call(struct agent *agent, struct agent_client *client);
/* Forgets those that nobody used for long. */
void agents_tick(struct server *server, uint64_t now_us);
/* The gateway ends. */
void agents_close(struct server *server);

/* A reply that grows: server-sent events that the loop adds one by one. */

/* Replies to `x`, which may wait.  `left` is called once when the client is gone, unless
 * sse_stream_end came first.  NULL without memory: it replied. */
struct sse_stream *sse_stream_open(struct exchange *x, void (*left)(void *context), void *context);
/* One event: JSON without a newline. */
void sse_stream_send(struct sse_stream *s, const char *text, size_t len);
/* Closes behind what was sent.  The stream is not the caller's any more. */
void sse_stream_end(struct sse_stream *s);
/* Comments keep streams open on which nothing happens. */
void sse_stream_tick(struct server *server, uint64_t now_us);
/* Ends all of them: the gateway ends. */
void sse_stream_drop_all(struct server *server);

#endif
