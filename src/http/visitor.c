#include "http/visitor.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/reply_head.h"
#include "http/counters.h"
#include "http/handlers.h"
#include "http/problem.h"
#include "http/server.h"
#include "http/token.h"
#include "wire/front.h"

#define IDLE_US (60 * 1000000ULL) /* of a connection between two requests */
#define UNSENT_MAX ((size_t)64 << 20)
#define FRAMES_AT_ONCE 16 /* of one channel, before others have their turn */
#define PARTS_AT_ONCE 32  /* the same of a reply: a front that keeps up would take all of it */

/* The reply is sent, or its client is gone. */
static void complete(struct visitor *v, struct exchange *x)
{
    v->x = NULL;
    v->idle_us = clock_now_us();
    if (!link_is_alone(&v->stranger)) { /* in its list, the longest idle is first */
        link_remove(&v->stranger);
        list_append(&v->server->sockets[v->socket].strangers, &v->stranger);
    }
    counters_add_request(&v->server->counters, x->status);
    refusals_count(x);
    exchange_free(x);
}

void visitor_close(struct visitor *v)
{
    const struct visitor_user *user = v->user;

    if (!life_take(&v->life, LIFE_END))
        return;
    loop_remove(&v->server->loop, &v->watch);
    frames_done(&v->channel);
    scope_close_fd(&v->client);
    link_remove(&v->link);
    link_remove(&v->stranger);
    list_append(&v->server->closed, &v->link);
    v->server->sockets[v->socket].visitors--;
    v->user = NULL;
    if (v->x)
        complete(v, v->x);
    if (user)
        user->closed(v->user_context);
}

/* True for a reply that is there and ends by itself. */
static bool has_reply(const struct visitor *v)
{
    if (!v->x)
        return frames_is_waiting(&v->channel);
    return life_is_answered(v->life) && !v->x->response->read;
}

void visitor_listen(struct visitor *v, bool reads)
{
    bool writes = frames_is_waiting(&v->channel) || v->has_more;
    uint32_t events = (reads ? EPOLLIN : 0) | (writes ? EPOLLOUT : 0);

    if (v->direct)
        events = (events & EPOLLOUT ? EPOLLOUT : events) |
                 (v->half && has_reply(v) ? 0 : EPOLLRDHUP); /* it would come again and again */
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
    (void)life_take(&v->life, LIFE_HEAD);
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
    (void)life_take(&v->life, LIFE_HEAD);
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
    char *data = v->server->part;
    struct front_head head = { .type = FRONT_DATA };
    struct response *r = x->response;
    ssize_t n = r->upgrade ? RESPONSE_END : response_take(r, data, sizeof(v->server->part));

    if (n == 0 || n == RESPONSE_BROKEN)
        return n == 0 ? 0 : -1;
    if (n > 0)
        return frames_send(&v->channel, &head, sizeof(head), data, (size_t)n) < 0 ? -1 : 1;
    (void)life_take(&v->life, r->upgrade ? LIFE_UPGRADE : LIFE_SENT);
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
    int r = v->life == LIFE_SENDING ? 1 : send_head(v, x), parts = 0;

    while (r >= 0 && v->life == LIFE_SENDING && !frames_is_waiting(&v->channel) &&
           parts++ < PARTS_AT_ONCE) {
        r = send_part(v, x);
        if (r == 0)
            break;
    }
    v->has_more = r > 0 && v->life == LIFE_SENDING && parts > PARTS_AT_ONCE;
    if (r < 0)
        return false;
    if (v->life == LIFE_UPGRADED)
        upgrade(v, x);
    else if (v->life == LIFE_IDLE)
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
static bool handle(struct visitor *v)
{
    if (!life_take(&v->life, LIFE_WHOLE))
        return false;
    if (v->life == LIFE_READY)
        exchange_resume(v->x);
    else
        v->server->take_request(v->x);
    return true;
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
    if (!life_take(&v->life, LIFE_REQUEST) || frames_is_waiting(&v->channel) ||
        head->fields_len > len)
        return false;
    x = v->x = exchange_new(v, data, head->fields_len);
    if (!x)
        return false;
    v->direct |= head->flags & FRONT_DIRECT;
    (void)guard_admits(x, x->method);
    if (x->tenant.token_id[0]) /* also one that does not allow this request */
        link_remove(&v->stranger);
    if (head->flags & FRONT_WHOLE)
        take_body(x, data + head->fields_len, len - head->fields_len);
    if (head->flags & FRONT_WHOLE || x->response)
        return handle(v);
    return admit(v);
}

/* What is too much is refused at once: the front may have sent more of it already. */
static bool take_piece(struct visitor *v, const char *data, size_t len)
{
    if (!life_take(&v->life, LIFE_PIECE))
        return false;
    take_body(v->x, data, len);
    if (!v->x->response)
        return true;
    v->refused = true;
    return handle(v);
}

/* All replies are sent: libmicrohttpd reads the connection from here on, and waits for each. */
static bool take_turn(struct visitor *v)
{
    if (!v->direct || !life_take(&v->life, LIFE_TURN))
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
    switch (head->type) {
    case FRONT_REQUEST:
        return begin(v, head, data, len);
    case FRONT_TURN:
        return take_turn(v);
    case FRONT_MESSAGE:
        return life_take(&v->life, LIFE_MESSAGE) && v->user->take(v->user_context, head, data, len);
    case FRONT_BODY:
        return take_piece(v, data, len);
    case FRONT_END:
        return handle(v);
    default:
        return false;
    }
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
    char *frame = v->server->frame; /* no call below reads another */
    struct front_head head;

    for (int i = 0; i < FRAMES_AT_ONCE && v->channel.fd >= 0; i++) {
        ssize_t n = frames_receive(&v->channel, frame, sizeof(v->server->frame));

        if (n < 0 && errno == EAGAIN)
            return;
        if (n == 0) {
            take_end(v);
            return;
        }
        if (n >= (ssize_t)sizeof(head)) {
            memcpy(&head, frame, sizeof(head));
            bool taken = take_frame(v, &head, frame + sizeof(head), (size_t)n - sizeof(head));

            if (taken && life_is_asked(v->life)) /* no frame comes before the reply */
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
    return v->direct && (life_is_asked(v->life) || frames_is_waiting(&v->channel));
}

/* A client that sends no more may be gone: what it waits for is cancelled, with the requests behind
 * it.  A reply that is there is sent, and the requests behind it have their turn. */
static void take_half(struct visitor *v)
{
    if (!has_reply(v)) {
        visitor_close(v);
        return;
    }
    v->half = true;
    visitor_listen(v, false);
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
    else if (events & EPOLLOUT && v->life == LIFE_SENDING)
        exchange_resume(v->x);
    else if (events & EPOLLOUT)
        visitor_listen(v, true);
    if (events & EPOLLRDHUP && is_busy(v))
        take_half(v);
    else if (v->direct && life_is_asked(v->life) && events & EPOLLIN)
        visitor_listen(v, false); /* the next request waits for its turn in the channel */
    else if (events & EPOLLIN)
        read_frames(v);
    else if (events & (EPOLLHUP | EPOLLERR))
        visitor_close(v);
}

static bool is_welcome(const struct visitor *v)
{
    const char *id = v->x ? v->x->tenant.token_id : v->user ? v->token_id : "";

    return !id[0] || token_holds(v->server->tokens, id);
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

struct visitor *visitor_new(struct server *server, unsigned int socket, int channel, int client,
                            const struct visitor_peer *peer)
{
    struct visitor *v = calloc(1, sizeof(*v));

    if (!v) {
        close(channel);
        return NULL;
    }
    v->server = server;
    v->life = LIFE_IDLE;
    v->client = client < 0 ? -1 : fcntl(client, F_DUPFD_CLOEXEC, 0);
    v->socket = socket;
    v->tcp = socket == SERVER_AT_TCP;
    v->peer = *peer;
    frames_init(&v->channel, channel, UNSENT_MAX);
    link_init(&v->link);
    link_init(&v->stranger);
    v->watch = loop_watch_of(channel, channel_event, v);
    if (loop_add(&server->loop, &v->watch, EPOLLIN) < 0) {
        frames_done(&v->channel);
        scope_close_fd(&v->client);
        free(v);
        return NULL;
    }
    server->sockets[socket].visitors++;
    list_append(&server->visitors, &v->link);
    if (v->tcp)
        list_append(&server->sockets[socket].strangers, &v->stranger);
    return v;
}
