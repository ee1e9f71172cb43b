#include "http/visitor.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/reply_head.h"
#include "base/scope.h"
#include "http/guard.h"
#include "http/problem.h"
#include "http/refusals.h"
#include "http/route.h"
#include "http/server.h"
#include "http/token.h"
#include "wire/front.h"

#define IDLE_US (60 * 1000000ULL) /* of a connection between two requests */
#define UNSENT_MAX ((size_t)64 << 20)
#define FRAMES_AT_ONCE 16 /* of one channel, before others have their turn */

/* The reply is sent, or its client is gone. */
static void complete(struct visitor *v, struct exchange *x)
{
    v->x = NULL;
    v->idle_us = clock_now_us();
    counters_add_request(&v->server->counters, x->status);
    refusals_count(x);
    exchange_free(x);
}

void visitor_close(struct visitor *v)
{
    const struct visitor_user *user = v->user;

    if (v->channel.fd < 0)
        return;
    loop_remove(&v->server->loop, &v->watch);
    frames_done(&v->channel);
    scope_close_fd(&v->client);
    link_remove(&v->link);
    list_append(&v->server->closed, &v->link);
    v->server->sockets[v->socket].visitors--;
    v->user = NULL;
    if (v->x)
        complete(v, v->x);
    if (user)
        user->closed(v->user_context);
}

void visitor_listen(struct visitor *v, bool reads)
{
    uint32_t events = (reads ? EPOLLIN : 0) | (frames_is_waiting(&v->channel) ? EPOLLOUT : 0);

    if (v->direct)
        events = (events & EPOLLOUT ? EPOLLOUT : events) | EPOLLRDHUP;
    if (v->ending || v->last)
        events &= ~(uint32_t)(EPOLLIN | EPOLLRDHUP);
    if (v->channel.fd >= 0 && v->watch.events != events)
        (void)loop_change(&v->server->loop, &v->watch, events);
}

/* To the connection itself, past the front, which has nothing of its own to send before it.  What
 * the connection does not take goes through the front.  1: sent, or on its way; 0: nothing was
 * sent; -1: the reply is broken. */
static int send_direct(struct visitor *v, struct exchange *x)
{
    const struct front_head head = { .type = FRONT_REST };
    struct response *r = x->response;
    struct buf rest;
    int sent = 1;

    if (!v->direct || v->through_front || v->client < 0)
        return 0;
    buf_init(&rest, FRONT_FRAME_MAX - sizeof(head));
    if (!response_send(r, x->status, v->client, &rest))
        return 0;
    x->begun = true;
    r->sent = r->len;
    if (rest.len || rest.failed) {
        v->through_front = true;
        if (rest.failed || frames_send(&v->channel, &head, sizeof(head), rest.data, rest.len) < 0)
            sent = -1;
    }
    buf_done(&rest);
    return sent;
}

/* The head of the reply, with the body when both fit into a frame. */
static int send_head(struct visitor *v, struct exchange *x)
{
    struct response *r = x->response;
    bool whole = r->bytes && r->fields.len + r->len <= FRONT_FRAME_MAX;
    const struct front_head head = {
        .type = FRONT_REPLY,
        .flags = (uint8_t)((whole || (!r->read && !r->len) ? FRONT_WHOLE : 0) |
                           (r->upgrade ? FRONT_UPGRADE : 0)),
        .status = (uint16_t)x->status,
        .fields_len = (uint32_t)(r->fields.len - sizeof(head)),
        .length = r->len,
    };
    int sent;

    if (r->fields.failed)
        return -1;
    sent = send_direct(v, x);
    if (sent != 0)
        return sent < 0 ? -1 : 0;
    v->through_front = true;
    if (v->direct && reply_head_closes(r->fields.data + sizeof(head), head.fields_len))
        v->last = true; /* what comes behind this request is not carried out */
    x->begun = true;
    memcpy(r->fields.data, &head, sizeof(head));
    if (whole)
        r->sent = r->len;
    sent = frames_send(&v->channel, r->fields.data, r->fields.len, r->bytes,
                       whole ? (size_t)r->len : 0);
    buf_done(&r->fields); /* a stream may go on for hours */
    return sent;
}

/* The next frame of the body.  1: sent; 0: there is nothing now; -1: the reply is broken. */
static int send_part(struct visitor *v, struct exchange *x)
{
    static char data[FRONT_FRAME_MAX - sizeof(struct front_head)];
    struct front_head head = { .type = FRONT_DATA };
    struct response *r = x->response;
    ssize_t n = r->upgrade ? RESPONSE_END : response_take(r, data, sizeof(data));

    if (n == 0 || n == RESPONSE_BROKEN)
        return n == 0 ? 0 : -1;
    if (n > 0)
        return frames_send(&v->channel, &head, sizeof(head), data, (size_t)n) < 0 ? -1 : 1;
    x->whole = true;
    head.type = FRONT_DONE; /* a length that is known needs none */
    return r->read && frames_send(&v->channel, &head, sizeof(head), NULL, 0) < 0 ? -1 : 1;
}

static void upgrade(struct visitor *v, struct exchange *x)
{
    v->user = x->response->upgrade;
    v->user_context = x->response->context;
    memcpy(v->token_id, x->tenant.token_id, sizeof(v->token_id));
    x->left = NULL;
    complete(v, x);
    v->user->opened(v->user_context, v);
}

/* Sends what the channel takes; false: the connection is over. */
static bool send_reply(struct visitor *v, struct exchange *x)
{
    int r = x->begun ? 1 : send_head(v, x);

    while (r >= 0 && !x->whole && !frames_is_waiting(&v->channel)) {
        r = send_part(v, x);
        if (r == 0)
            break;
    }
    if (r < 0)
        return false;
    if (x->whole && x->response->upgrade)
        upgrade(v, x);
    else if (x->whole)
        complete(v, x);
    if (!v->user)
        visitor_listen(v, true);
    return true;
}

/* The last reply is sent. */
static bool is_out(const struct visitor *v)
{
    return v->ending && !v->x && !frames_is_waiting(&v->channel);
}

void visitor_run(struct server *server)
{
    while (!link_is_alone(&server->ready)) {
        struct exchange *x = link_owner(server->ready.next, struct exchange, ready);
        struct visitor *v = x->visitor;

        link_remove(&x->ready);
        if (!send_reply(v, x) || is_out(v))
            visitor_close(v);
    }
    list_each(at, &server->closed) {
        link_remove(at);
        free(link_owner(at, struct visitor, link));
    }
}

/* The request is there whole, or nothing more of it comes. */
static void handle(struct exchange *x)
{
    x->received = true;
    if (x->response)
        exchange_resume(x);
    else
        x->route->handle(x);
}

static void take_body(struct exchange *x, const char *data, size_t len)
{
    if (x->response || buf_add(&x->body, data, len) == 0)
        return;
    problem_reply(x, &(struct problem){ .status = HTTP_CONTENT_TOO_LARGE,
                                        .detail = "the body is larger than the gateway takes",
                                        .remedy = "the operator can raise --max-body" });
    exchange_add_header(x, HTTP_HEADER_CONNECTION, "close");
}

/* The frame may have to wait for room. */
static bool admit(struct visitor *v)
{
    const struct front_head head = { .type = FRONT_ADMIT };

    if (frames_send(&v->channel, &head, sizeof(head), NULL, 0) < 0)
        return false;
    visitor_listen(v, true);
    return true;
}

static bool begin(struct visitor *v, const struct front_head *head, const char *data, size_t len)
{
    struct exchange *x;

    /* Nor one before it has read the last reply: what waits for it would grow. */
    if (v->x || frames_is_waiting(&v->channel) || head->fields_len > len)
        return false;
    x = v->x = exchange_new(v, data, head->fields_len);
    if (!x)
        return false;
    v->direct |= head->flags & FRONT_DIRECT;
    (void)guard_admits(x, x->method);
    if (head->flags & FRONT_WHOLE)
        take_body(x, data + head->fields_len, len - head->fields_len);
    if (head->flags & FRONT_WHOLE || x->response) {
        handle(x);
        return true;
    }
    return admit(v);
}

/* What is too much is refused at once: the front may have sent more of it already. */
static void take_piece(struct visitor *v, const char *data, size_t len)
{
    take_body(v->x, data, len);
    if (!v->x->response)
        return;
    v->refused = true;
    handle(v->x);
}

/* All replies are sent: libmicrohttpd reads the connection from here on, and waits for each. */
static bool take_turn(struct visitor *v)
{
    if (!v->direct || v->x)
        return false;
    v->direct = false;
    scope_close_fd(&v->client);
    v->client = -1;
    return admit(v);
}

/* False: a front that is in order sends no such frame now. */
static bool take_frame(struct visitor *v, const struct front_head *head, const char *data,
                       size_t len)
{
    if (v->refused)
        return head->type == FRONT_BODY || head->type == FRONT_END;
    if (v->user)
        return head->type == FRONT_MESSAGE && v->user->take(v->user_context, head, data, len);
    if (head->type == FRONT_REQUEST)
        return begin(v, head, data, len);
    if (head->type == FRONT_TURN)
        return take_turn(v);
    if (!v->x || v->x->received)
        return false;
    if (head->type == FRONT_BODY)
        take_piece(v, data, len);
    else if (head->type == FRONT_END)
        handle(v->x);
    else
        return false;
    return true;
}

/* True for a reply that is there and ends by itself. */
static bool has_reply(const struct visitor *v)
{
    if (!v->x)
        return frames_is_waiting(&v->channel);
    return v->x->received && v->x->response && !v->x->response->read;
}

/* The client sends no more. */
static void take_end(struct visitor *v)
{
    if (!has_reply(v)) {
        visitor_close(v);
        return;
    }
    v->ending = true;
    visitor_listen(v, false);
}

static void read_frames(struct visitor *v)
{
    static char frame[FRONT_FRAME_MAX]; /* one thread, and no call below reads another */
    struct front_head head;

    for (int i = 0; i < FRAMES_AT_ONCE && v->channel.fd >= 0; i++) {
        ssize_t n = frames_receive(&v->channel, frame, sizeof(frame));

        if (n < 0 && errno == EAGAIN)
            return;
        if (n == 0) {
            take_end(v);
            return;
        }
        if (n >= (ssize_t)sizeof(head)) {
            memcpy(&head, frame, sizeof(head));
            bool taken = take_frame(v, &head, frame + sizeof(head), (size_t)n - sizeof(head));

            if (taken && v->x && v->x->received) /* no frame comes before the reply */
                return;
            if (taken)
                continue;
        }
        visitor_close(v);
    }
}

/* The next request is not read before the reply to this one is in the channel. */
static bool is_busy(const struct visitor *v)
{
    return v->direct && ((v->x && v->x->received) || frames_is_waiting(&v->channel));
}

static void channel_event(void *context, uint32_t events)
{
    struct visitor *v = context;

    if (events & EPOLLOUT && (frames_flush(&v->channel) < 0 || is_out(v))) {
        visitor_close(v);
        return;
    }
    if (events & EPOLLOUT && v->user)
        v->user->turn(v->user_context);
    else if (events & EPOLLOUT && v->x && v->x->begun)
        exchange_resume(v->x);
    else if (events & EPOLLOUT)
        visitor_listen(v, true);
    if (events & EPOLLRDHUP && is_busy(v))
        take_end(v); /* whatever requests are behind this one */
    else if (v->direct && v->x && v->x->received && events & EPOLLIN)
        visitor_listen(v, false); /* the next request waits for its turn in the channel */
    else if (events & EPOLLIN)
        read_frames(v);
    else if (events & (EPOLLHUP | EPOLLERR))
        visitor_close(v);
}

static bool is_welcome(const struct visitor *v)
{
    const char *id = v->x ? v->x->tenant.token_id : v->user ? v->token_id : "";

    return !id[0] || token_holds(id);
}

static uint64_t idle_max_us(void)
{
#ifdef SBR_TEST_HOOKS
    const char *ms = getenv("SANDBOX_RUN_TEST_IDLE");

    if (ms)
        return strtoull(ms, NULL, 10) * 1000;
#endif
    return IDLE_US;
}

/* Of a connection that libmicrohttpd reads, the front knows. */
static bool is_idle(const struct visitor *v)
{
    return v->direct && !v->x && clock_now_us() > v->idle_us + idle_max_us();
}

void visitor_tick(struct server *server)
{
    list_each(at, &server->visitors) {
        struct visitor *v = link_owner(at, struct visitor, link);

        if (is_welcome(v) && !is_idle(v))
            continue;
        if (!v->user || v->unwelcome) {
            visitor_close(v);
            continue;
        }
        v->unwelcome = true;
        v->user->refuse(v->user_context);
    }
}

struct visitor *visitor_new(struct server *server, unsigned int socket, int channel, int client)
{
    struct visitor *v = calloc(1, sizeof(*v));

    if (!v) {
        close(channel);
        return NULL;
    }
    v->server = server;
    v->client = client < 0 ? -1 : fcntl(client, F_DUPFD_CLOEXEC, 0);
    v->socket = socket;
    v->tcp = socket == SERVER_AT_TCP;
    frames_init(&v->channel, channel, UNSENT_MAX);
    link_init(&v->link);
    v->watch = loop_watch_of(channel, channel_event, v);
    if (loop_add(&server->loop, &v->watch, EPOLLIN) < 0) {
        frames_done(&v->channel);
        scope_close_fd(&v->client);
        free(v);
        return NULL;
    }
    server->sockets[socket].visitors++;
    list_append(&server->visitors, &v->link);
    return v;
}
