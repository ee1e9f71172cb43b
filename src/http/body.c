#include "http/submission.h"

#include <stdlib.h>
#include <string.h>

#include "http/durable.h"
#include "http/handlers.h"
#include "http/offload.h"
#include "http/problem.h"
#include "http/route.h"
#include "http/server.h"

#define LARGE_BYTES ((size_t)64 << 10)
#define READERS_MAX 2 /* at once: each may hold a tree of 25 MB */

/* A body that waits for its thread, or is read. */
struct reading {
    struct link link;
    struct server *server;
    struct exchange *x; /* NULL: the client left */
    struct buf body;
    struct body_read *read;
    struct grant tenant;
    bool message, marked; /* of MCP; the fingerprint is wanted */
    unsigned int flags;   /* of its route */
};

static void start_next(struct server *server);

static bool is_large(const struct exchange *x)
{
    return x->route && x->route->flags & (ROUTE_JSON | ROUTE_ANY_TYPE) && x->body.len > LARGE_BYTES;
}

static void free_read(void *context)
{
    struct body_read *read = context;

    if (!read)
        return;
    json_decref(read->tree);
    sbr_request_free(read->req);
    mcp_message_done(&read->message);
    free(read);
}

static void free_reading(struct reading *r)
{
    link_remove(&r->link);
    free_read(r->read);
    buf_done(&r->body);
    free(r);
}

/* Files are decoded, and all of it is copied and checked. */
static void make_request(struct reading *r)
{
    struct body_read *read = r->read;

    (void)submission_read(r->server, &r->tenant, read->tree, &read->req, &read->fault);
    json_decref(take_ptr(read->tree));
}

/* In the thread. */
static int work(struct offload *o, sbr_error *err)
{
    struct reading *r = o->extra;

    (void)err;
    if (r->marked)
        sha256_hex(r->body.data, r->body.len, r->read->fingerprint);
    if (r->message)
        mcp_message_read(r->body.data, r->body.len, &r->read->message);
    else
        r->read->tree = submission_parse(r->body.data, r->body.len, &r->read->fault);
    if (r->flags & ROUTE_SESSION && r->read->tree &&
        sessions_take_bounds(r->read->tree, &r->read->bounds, &r->read->fault) < 0)
        json_decref(take_ptr(r->read->tree));
    if (r->flags & ROUTE_RUN && r->read->tree)
        make_request(r);
    return 0;
}

static void go_on(struct reading *r)
{
    struct exchange *x = r->x;

    x->read = take_ptr(r->read);
    x->free_read = free_read;
    /* What was read has all of it, and may wait for hours; what is put on record is the text. */
    if (!r->message && (!(r->flags & ROUTE_RUN) || durable_is_asked(x))) {
        buf_done(&x->body);
        x->body = r->body;
        buf_init(&r->body, 0);
    }
    exchange_go_on(x);
    x->route->handle(x);
}

static void done(struct offload *o, const sbr_error *err)
{
    struct server *server = o->server;
    struct reading *r = o->extra;

    (void)err;
    server->readers--;
    if (r->x)
        go_on(r);
    free_reading(r);
    start_next(server);
}

static void refuse(struct reading *r)
{
    struct exchange *x = r->x;

    exchange_go_on(x);
    problem_reply(x, &(struct problem){ .status = HTTP_TOO_MANY_REQUESTS,
                                        .detail = "too many large bodies are read at once",
                                        .retry_s = 1 });
    free_reading(r);
}

static void start_next(struct server *server)
{
    list_each(at, &server->bodies) {
        struct reading *r = link_owner(at, struct reading, link);
        const struct offload o = { .work = work, .done = done, .extra = r };

        if (server->readers >= READERS_MAX)
            return;
        link_remove(&r->link);
        if (!r->x) {
            free_reading(r);
        } else if (offload_start_own(server, &o) < 0) {
            refuse(r);
        } else {
            server->readers++;
        }
    }
}

static void client_left(struct exchange *x)
{
    struct reading *r = x->subject;

    r->x = NULL;
}

void body_take(struct exchange *x)
{
    struct reading *r;

    execution_kept_look(x->server);
    if (!is_large(x)) {
        x->route->handle(x);
        return;
    }
    r = calloc(1, sizeof(*r));
    if (r)
        r->read = calloc(1, sizeof(*r->read));
    if (!r || !r->read) {
        free(r);
        exchange_reply(x, HTTP_SERVICE_UNAVAILABLE, JSON_TYPE, NULL);
        return;
    }
    r->server = x->server;
    r->x = x;
    r->message = x->route->flags & ROUTE_RPC;
    r->flags = x->route->flags;
    r->tenant = x->tenant;
    r->marked = exchange_header(x, "Idempotency-Key");
    r->body = x->body;
    buf_init(&x->body, x->server->options.max_body);
    link_init(&r->link);
    exchange_wait(x, client_left, r);
    list_append(&r->server->bodies, &r->link);
    start_next(r->server);
}
