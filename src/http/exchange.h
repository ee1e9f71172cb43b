/* One request of a client and our reply to it.
 *
 * A handler replies at once, or it lets the exchange wait and replies later from the loop.  While
 * it waits, the exchange watches its client: one that leaves is reported to the handler. */
#ifndef HTTP_EXCHANGE_H
#define HTTP_EXCHANGE_H

#include "admit/grant.h"
#include "base/buf.h"
#include "base/list.h"
#include "base/loop.h"
#include "http/http_words.h"
#include "http/response.h"
#include "http/visitor.h"

#define EXCHANGE_MAX_WORDS 3
#define JSON_TYPE "application/json"
#define NDJSON_TYPE "application/x-ndjson"
#define BYTES_TYPE "application/octet-stream"
#define SSE_TYPE "text/event-stream"

struct dialect;
struct server;
struct route;

struct exchange {
    struct link link;  /* of those that wait */
    struct link ready; /* of those that have something to send */
    struct server *server;
    struct visitor *visitor;
    char *fields; /* as the front sent them: headers and parameters */
    size_t fields_len;
    const struct route *route;
    const struct dialect *dialect;   /* whose route it is; NULL: our own */
    const char *method, *path;       /* as they were sent; in `fields` */
    char *words[EXCHANGE_MAX_WORDS]; /* of the path, decoded; what {braces} of the route match */
    struct buf body;
    void *read; /* a struct body_read, of a body that is large; NULL: none */
    void (*free_read)(void *read);
    struct grant tenant;
    uint64_t began_us;
    unsigned int status;
    const char *reason;               /* the short word of a problem; NULL: the reply is none */
    struct response *response;        /* NULL: not yet */
    void (*left)(struct exchange *x); /* the client is gone; set with `subject` */
    void *subject;
};

/* NULL: the fields do not read well, or memory ran out. */
struct exchange *exchange_new(struct visitor *visitor, const char *fields, size_t len);
void exchange_free(struct exchange *x);
/* NULL: the request has no such header. */
const char *exchange_header(const struct exchange *x, const char *name);
/* A parameter behind the '?'; NULL: there is none. */
const char *exchange_query(const struct exchange *x, const char *name);
typedef void exchange_field(void *context, const char *name, const char *value);
void exchange_each_header(const struct exchange *x, exchange_field *call, void *context);
/* The value is as it was sent; exchange_unescape decodes it. */
void exchange_each_query(const struct exchange *x, exchange_field *call, void *context);
/* Decodes %XX in place. */
void exchange_unescape(char *text);
/* The most preferred of the three types that `Accept` names; JSON when it names none of them. */
const char *exchange_accepts(const struct exchange *x);

/* The reply.  `body` is freed; NULL: memory ran out. */
void exchange_reply(struct exchange *x, unsigned int status, const char *type, char *body);
void exchange_reply_bytes(struct exchange *x, unsigned int status, const char *type, char *body,
                          size_t len);
/* The same of texts that stay where they are, one behind the other; NULL among them: memory ran
 * out. */
void exchange_reply_texts(struct exchange *x, unsigned int status, const char *type,
                          struct response_text *const *texts, size_t n);
void exchange_reply_with(struct exchange *x, unsigned int status, struct response *response);
/* Adds a header to a reply that is made, and not sent. */
void exchange_add_header(struct exchange *x, const char *name, const char *value);

/* The handler replies later.  `left` is called when the client leaves before.  For an exchange that
 * waits already, only these two change. */
void exchange_wait(struct exchange *x, void (*left)(struct exchange *x), void *subject);
/* It does not wait any more: its handler is called next. */
void exchange_go_on(struct exchange *x);
/* Only watches: `left` is called when the client leaves before the reply is sent whole. */
void exchange_watch(struct exchange *x, void (*left)(struct exchange *x), void *subject);
/* The reply has more to send, after this turn of the loop. */
void exchange_resume(struct exchange *x);

#endif
