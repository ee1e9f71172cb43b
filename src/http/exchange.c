#include "http/exchange.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/err.h"
#include "http/server.h"

struct exchange *exchange_new(struct server *server, struct MHD_Connection *connection,
                              const char *path)
{
    struct exchange *x = calloc(1, sizeof(*x));

    if (!x)
        return NULL;
    x->server = server;
    x->connection = connection;
    x->path = strdup(path);
    x->began_us = clock_now_us();
    x->watch.fd = -1;
    link_init(&x->link);
    buf_init(&x->body, server->options.max_body + 1);
    if (!x->path) {
        free(x);
        return NULL;
    }
    return x;
}

static void stop_watching(struct exchange *x)
{
    loop_remove(&x->server->loop, &x->watch);
    x->watch.fd = -1;
    x->left = NULL;
}

void exchange_free(struct exchange *x)
{
    if (!x)
        return;
    if (x->left) {
        void (*left)(struct exchange * x) = x->left;

        x->left = NULL;
        left(x);
    }
    stop_watching(x);
    link_remove(&x->link);
    if (x->response)
        MHD_destroy_response(x->response);
    for (size_t i = 0; i < EXCHANGE_MAX_WORDS; i++)
        free(x->words[i]);
    buf_done(&x->body);
    free(x->path);
    free(x);
}

const char *exchange_header(const struct exchange *x, const char *name)
{
    return MHD_lookup_connection_value(x->connection, MHD_HEADER_KIND, name);
}

const char *exchange_query(const struct exchange *x, const char *name)
{
    return MHD_lookup_connection_value(x->connection, MHD_GET_ARGUMENT_KIND, name);
}

const char *exchange_accepts(const struct exchange *x)
{
    static const char *const types[] = { JSON_TYPE, SSE_TYPE, NDJSON_TYPE };
    const char *accept = exchange_header(x, MHD_HTTP_HEADER_ACCEPT), *best = JSON_TYPE;
    const char *first = NULL;

    for (size_t i = 0; accept && i < ARRAY_LEN(types); i++) {
        const char *at = strstr(accept, types[i]);

        if (at && (!first || at < first)) {
            first = at;
            best = types[i];
        }
    }
    return best;
}

/* For every reply: nothing is stored, and no browser takes it for something else. */
static void add_common_headers(struct MHD_Response *response)
{
    static const char *const headers[][2] = {
        { MHD_HTTP_HEADER_CACHE_CONTROL, "no-store" },
        { "X-Content-Type-Options", "nosniff" },
        { "Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'" },
        { "Cross-Origin-Resource-Policy", "same-origin" },
    };

    for (size_t i = 0; i < ARRAY_LEN(headers); i++)
        if (!MHD_get_response_header(response, headers[i][0]))
            (void)MHD_add_response_header(response, headers[i][0], headers[i][1]);
}

void exchange_reply_with(struct exchange *x, unsigned int status, struct MHD_Response *response)
{
    if (x->response || !response) { /* the first reply stands */
        if (response)
            MHD_destroy_response(response);
        return;
    }
    add_common_headers(response);
    x->status = status;
    x->response = response;
    if (!x->waits)
        return;
    x->waits = false;
    link_remove(&x->link);
    stop_watching(x);
    MHD_resume_connection(x->connection);
}

void exchange_reply_bytes(struct exchange *x, unsigned int status, const char *type, char *body,
                          size_t len)
{
    static char nothing[] = "{\"title\":\"out of memory\",\"status\":503}";
    struct MHD_Response *response =
        body ? MHD_create_response_from_buffer(len, body, MHD_RESPMEM_MUST_FREE)
             : MHD_create_response_from_buffer(strlen(nothing), nothing, MHD_RESPMEM_PERSISTENT);

    if (response)
        (void)MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE, type);
    exchange_reply_with(x, body ? status : MHD_HTTP_SERVICE_UNAVAILABLE, response);
}

void exchange_reply(struct exchange *x, unsigned int status, const char *type, char *body)
{
    exchange_reply_bytes(x, status, type, body, body ? strlen(body) : 0);
}

void exchange_add_header(struct exchange *x, const char *name, const char *value)
{
    if (x->response)
        (void)MHD_add_response_header(x->response, name, value);
}

/* A client that closes only its sending side counts as gone: a dead one looks the same. */
static void client_event(void *context, uint32_t events)
{
    struct exchange *x = context;
    void (*left)(struct exchange * x) = x->left;

    if (!(events & (EPOLLRDHUP | EPOLLHUP | EPOLLERR)))
        return;
    stop_watching(x);
    if (left)
        left(x);
    if (x->waits) /* the library finds out that there is nothing to send to */
        exchange_reply(x, EXCHANGE_CLIENT_LEFT, JSON_TYPE, strdup("{}"));
}

void exchange_watch(struct exchange *x, void (*left)(struct exchange *x), void *subject)
{
    x->left = left;
    x->subject = subject;
    x->watch = loop_watch_of(x->visitor->fd, client_event, x);
    (void)loop_add(&x->server->loop, &x->watch, EPOLLRDHUP);
}

void exchange_wait(struct exchange *x, void (*left)(struct exchange *x), void *subject)
{
    if (x->waits) { /* one call led to the next */
        x->left = left;
        x->subject = subject;
        return;
    }
    x->waits = true;
    list_append(&x->server->waiting, &x->link);
    exchange_watch(x, left, subject);
    MHD_suspend_connection(x->connection);
}

enum MHD_Result exchange_send(struct exchange *x)
{
    if (!x->response || x->queued)
        return MHD_YES; /* it waits, or the library asks once more */
    x->queued = true;
    return MHD_queue_response(x->connection, x->status, x->response);
}
