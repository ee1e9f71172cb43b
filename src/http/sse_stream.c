#include "http/agents.h"

#include <stdlib.h>

#include "base/clock.h"

#define PENDING_MAX ((size_t)64 << 20) /* that a slow client has not read: then it is dropped */
#define PING_US 15000000

struct sse_stream {
    struct link link; /* of the server's streams */
    struct exchange *exchange;
    bool waits, ended;
    void (*left)(void *context); /* NULL: it was called, or nobody wants to know */
    void *context;
    uint64_t spoke_us;
    struct buf pending;
    size_t sent;
};

static void resume(struct sse_stream *s)
{
    if (!s->waits)
        return;
    s->waits = false;
    exchange_resume(s->exchange);
}

static void lose(struct sse_stream *s)
{
    void (*left)(void *context) = s->left;

    s->ended = true;
    s->left = NULL;
    if (left)
        left(s->context);
}

/* Called when the channel takes more. */
static ssize_t read_events(void *context, char *to, size_t max)
{
    struct sse_stream *s = context;
    size_t n = s->pending.len - s->sent;

    if (s->pending.failed)
        return RESPONSE_BROKEN;
    if (!n) {
        buf_drop(&s->pending, s->pending.len);
        s->sent = 0;
        if (s->ended)
            return RESPONSE_END;
        s->waits = true;
        return 0;
    }
    n = n < max ? n : max;
    memcpy(to, s->pending.data + s->sent, n);
    s->sent += n;
    if (s->sent > s->pending.len / 2) { /* a client that is never quite done fills nothing up */
        buf_drop(&s->pending, s->sent);
        s->sent = 0;
    }
    s->spoke_us = clock_now_us();
    return (ssize_t)n;
}

/* The reply is sent, or its client is gone. */
static void close_stream(void *context)
{
    struct sse_stream *s = context;

    lose(s);
    link_remove(&s->link);
    buf_done(&s->pending);
    free(s);
}

static void client_gone(struct exchange *x)
{
    lose(x->subject);
}

struct sse_stream *sse_stream_open(struct exchange *x, void (*left)(void *context), void *context)
{
    struct sse_stream *s = calloc(1, sizeof(*s));
    struct response *response = s ? response_of_stream(read_events, s, close_stream) : NULL;

    if (!response) {
        free(s);
        exchange_reply(x, HTTP_SERVICE_UNAVAILABLE, JSON_TYPE, NULL);
        return NULL;
    }
    *s = (struct sse_stream){
        .exchange = x, .left = left, .context = context, .spoke_us = clock_now_us()
    };
    buf_init(&s->pending, PENDING_MAX);
    link_init(&s->link);
    list_append(&x->server->sse_streams, &s->link);
    response_add_header(response, HTTP_HEADER_CONTENT_TYPE, SSE_TYPE);
    response_add_header(response, "X-Accel-Buffering", "no");
    exchange_reply_with(x, HTTP_OK, response);
    exchange_watch(x, client_gone, s);
    return s;
}

void sse_stream_send(struct sse_stream *s, const char *text, size_t len)
{
    if (s->ended)
        return;
    (void)buf_add_text(&s->pending, "event: message\ndata: ");
    (void)buf_add(&s->pending, text, len);
    (void)buf_add_text(&s->pending, "\n\n");
    resume(s);
}

void sse_stream_end(struct sse_stream *s)
{
    s->left = NULL;
    s->ended = true;
    resume(s);
}

void sse_stream_tick(struct server *server, uint64_t now_us)
{
    list_each(at, &server->sse_streams) {
        struct sse_stream *s = link_owner(at, struct sse_stream, link);

        if (!s->waits || now_us < s->spoke_us + PING_US)
            continue;
        (void)buf_add_text(&s->pending, ":\n\n");
        resume(s);
    }
}

void sse_stream_drop_all(struct server *server)
{
    list_each(at, &server->sse_streams)
        sse_stream_end(link_owner(at, struct sse_stream, link));
}
