/* One request of a client and our reply to it.
 *
 * A handler replies at once, or it lets the exchange wait and replies later from the loop.  While
 * it waits, the exchange watches its client: one that leaves is reported to the handler. */
#ifndef HTTP_EXCHANGE_H
#define HTTP_EXCHANGE_H

#include <microhttpd.h>

#include "base/buf.h"
#include "base/list.h"
#include "base/loop.h"
#include "http/tenant.h"

#define EXCHANGE_MAX_WORDS 3
#define EXCHANGE_CLIENT_LEFT 499 /* a status that no client reads */
#define JSON_TYPE "application/json"
#define NDJSON_TYPE "application/x-ndjson"
#define BYTES_TYPE "application/octet-stream"
#define SSE_TYPE "text/event-stream"

struct dialect;
struct server;
struct route;

/* A connection, which serves one exchange after another. */
struct visitor {
    struct link link;
    int fd;
    bool tcp;
    bool busy;            /* a request was read whole, and its reply is not */
    uint64_t deadline_us; /* when it is closed, unless it is busy */
};

struct exchange {
    struct link link; /* of those that wait */
    struct server *server;
    struct MHD_Connection *connection;
    struct visitor *visitor;
    const struct route *route;
    const struct dialect *dialect; /* whose route it is; NULL: our own */
    char method[16];
    char *path;                      /* as it was sent */
    char *words[EXCHANGE_MAX_WORDS]; /* of the path, decoded; what {braces} of the route match */
    struct buf body;
    struct tenant tenant;
    uint64_t began_us;
    unsigned int status;
    struct MHD_Response *response;    /* NULL: not yet */
    bool queued;                      /* it was given to the library */
    bool waits;                       /* for exchange_reply from the loop */
    struct loop_watch watch;          /* of the client, while it waits */
    void (*left)(struct exchange *x); /* the client is gone; set with `subject` */
    void *subject;
};

struct exchange *exchange_new(struct server *server, struct MHD_Connection *connection,
                              const char *path);
void exchange_free(struct exchange *x);
/* NULL: the request has no such header. */
const char *exchange_header(const struct exchange *x, const char *name);
/* A parameter behind the '?'; NULL: there is none. */
const char *exchange_query(const struct exchange *x, const char *name);
/* The most preferred of the three types that `Accept` names; JSON when it names none of them. */
const char *exchange_accepts(const struct exchange *x);

/* The reply.  `body` is freed; NULL: memory ran out. */
void exchange_reply(struct exchange *x, unsigned int status, const char *type, char *body);
void exchange_reply_bytes(struct exchange *x, unsigned int status, const char *type, char *body,
                          size_t len);
void exchange_reply_with(struct exchange *x, unsigned int status, struct MHD_Response *response);
/* Adds a header to a reply that is made, and not sent. */
void exchange_add_header(struct exchange *x, const char *name, const char *value);

/* The handler replies later.  `left` is called when the client leaves before.  For an exchange that
 * waits already, only these two change. */
void exchange_wait(struct exchange *x, void (*left)(struct exchange *x), void *subject);
/* Only watches: `left` is called when the client leaves before the reply is sent whole. */
void exchange_watch(struct exchange *x, void (*left)(struct exchange *x), void *subject);
/* Gives the reply to the library; for the server alone. */
enum MHD_Result exchange_send(struct exchange *x);

#endif
