#include "http/websocket.h"

#include <errno.h>
#include <fcntl.h>
#include <gnutls/crypto.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/scope.h"
#include "base/text.h"
#include "http/problem.h"
#include "http/server.h"

#define ACCEPT_GUID "258EAFA5-E914-47DA-95CA-C5AB0DC85B11" /* RFC 6455 */
#define SHA1_SIZE 20

static void leave(struct websocket *w)
{
    struct execution *e = w->execution;

    link_remove(&w->link);
    w->execution = NULL;
    if (!e)
        return;
    if (link_is_alone(&e->streams) && link_is_alone(&e->sockets))
        e->alone_us = clock_now_us();
}

static void drop(struct websocket *w)
{
    leave(w);
    loop_remove(&w->server->loop, &w->watch);
    if (w->frames)
        wslay_event_context_free(w->frames);
    buf_done(&w->early);
    buf_done(&w->pending);
    if (w->handle)
        (void)MHD_upgrade_action(w->handle, MHD_UPGRADE_ACTION_CLOSE);
    free(w);
}

static ssize_t send_bytes(wslay_event_context_ptr frames, const uint8_t *data, size_t len,
                          int flags, void *context)
{
    const struct websocket *w = context;
    ssize_t n = send(w->watch.fd, data, len, MSG_NOSIGNAL | MSG_DONTWAIT);

    (void)flags;
    if (n < 0)
        wslay_event_set_error(frames, errno == EAGAIN || errno == EINTR
                                          ? WSLAY_ERR_WOULDBLOCK
                                          : WSLAY_ERR_CALLBACK_FAILURE);
    return n;
}

static ssize_t receive_bytes(wslay_event_context_ptr frames, uint8_t *data, size_t len, int flags,
                             void *context)
{
    struct websocket *w = context;
    ssize_t n;

    (void)flags;
    if (w->early.len) {
        n = (ssize_t)(len < w->early.len ? len : w->early.len);
        memcpy(data, w->early.data, (size_t)n);
        buf_drop(&w->early, (size_t)n);
        return n;
    }
    n = recv(w->watch.fd, data, len, MSG_DONTWAIT);
    if (n > 0)
        return n;
    wslay_event_set_error(frames, n < 0 && (errno == EAGAIN || errno == EINTR)
                                      ? WSLAY_ERR_WOULDBLOCK
                                      : WSLAY_ERR_CALLBACK_FAILURE);
    return -1;
}

/* Gives the program what it takes; the rest waits for SBR_EVENT_STDIN. */
static void feed(struct websocket *w)
{
    struct execution *e = w->execution;
    int64_t taken = 0;

    if (!e || !e->job || !e->takes_stdin) {
        buf_drop(&w->pending, w->pending.len);
        return;
    }
    if (w->pending.len)
        taken = sbr_job_write_stdin(e->job, w->pending.data, w->pending.len);
    buf_drop(&w->pending, taken < 0 ? w->pending.len : (size_t)taken);
    if (w->ends && !w->pending.len) {
        e->takes_stdin = false;
        (void)sbr_job_close_stdin(e->job);
    }
}

static void message_came(wslay_event_context_ptr frames,
                         const struct wslay_event_on_msg_recv_arg *message, void *context)
{
    struct websocket *w = context;
    json_t *text;

    (void)frames;
    if (message->opcode == WSLAY_BINARY_FRAME) {
        buf_add(&w->pending, message->msg, message->msg_length);
    } else if (message->opcode == WSLAY_TEXT_FRAME) {
        text = json_loadb((const char *)message->msg, message->msg_length,
                          JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, NULL);
        w->manner->text(w, text);
        json_decref(text);
    }
    feed(w);
}

void websocket_send(struct websocket *w, const char *text, size_t len)
{
    const struct wslay_event_msg message = { WSLAY_TEXT_FRAME, (const uint8_t *)text, len };

    if (!w->goodbye)
        (void)wslay_event_queue_msg(w->frames, &message);
}

void websocket_say(struct websocket *w, json_t *message)
{
    scoped_free char *text = message ? json_dumps(message, JSON_COMPACT) : NULL;

    if (text)
        websocket_send(w, text, strlen(text));
    json_decref(message);
}

void websocket_end(struct websocket *w, uint16_t code, const char *reason)
{
    if (w->goodbye)
        return;
    w->goodbye = code;
    w->goodbye_reason = reason ? reason : "";
}

/* The library sends the last frame before messages that wait: so it is given when none does. */
static void say_goodbye(struct websocket *w)
{
    if (!w->goodbye || w->said_goodbye || wslay_event_get_queued_msg_count(w->frames))
        return;
    w->said_goodbye = true;
    (void)wslay_event_queue_close(w->frames, w->goodbye, (const uint8_t *)w->goodbye_reason,
                                  strlen(w->goodbye_reason));
    (void)wslay_event_send(w->frames);
}

/* One event after the other: what the client does not take stays in the bounded log. */
static void queue_events(struct websocket *w)
{
    const struct execution *e = w->execution;
    const struct event_log_line *line;

    while (e && !w->goodbye && wslay_event_get_queued_msg_count(w->frames) == 0) {
        if (w->next < e->log.first) {
            websocket_say(w, json_pack("{s:s, s:I}", "type", "lost", "events",
                                       (json_int_t)(e->log.first - w->next)));
            w->next = e->log.first;
        } else if ((line = event_log_get(&e->log, w->next))) {
            w->next++;
            w->manner->event(w, line);
        } else {
            break;
        }
        if (wslay_event_send(w->frames) < 0)
            return;
    }
    if (w->attached && (!e || (execution_is_over(e) && w->next >= event_log_next(&e->log))))
        websocket_end(w, w->manner->end_code, w->manner->end_reason);
    (void)wslay_event_send(w->frames);
    say_goodbye(w);
}

/* Sends and receives what is possible now; false: the connection is over. */
static bool turn(struct websocket *w, bool readable)
{
    uint32_t events;

    if ((readable || w->early.len) && wslay_event_recv(w->frames) < 0)
        return false;
    if (wslay_event_send(w->frames) < 0)
        return false;
    queue_events(w);
    events = (wslay_event_want_read(w->frames) && !w->pending.len ? EPOLLIN : 0) |
             (wslay_event_want_write(w->frames) ? EPOLLOUT : 0);
    if (!wslay_event_want_read(w->frames) && !wslay_event_want_write(w->frames))
        return false;
    return loop_change(&w->server->loop, &w->watch, events | EPOLLRDHUP) == 0;
}

static void socket_event(void *context, uint32_t events)
{
    struct websocket *w = context;

    if (events & (EPOLLHUP | EPOLLERR) || !turn(w, events & (EPOLLIN | EPOLLRDHUP)))
        drop(w);
}

void websocket_turn(struct websocket *w)
{
    if (w->frames && !turn(w, false))
        drop(w);
}

void websocket_attach(struct websocket *w, struct execution *e)
{
    link_remove(&w->link);
    list_append(&e->sockets, &w->link);
    w->execution = e;
    w->attached = true;
    e->alone_us = 0;
}

void websocket_wake(struct execution *e)
{
    list_each(at, &e->sockets) {
        struct websocket *w = link_owner(at, struct websocket, link);

        if (!w->frames)
            continue;
        feed(w);
        if (!turn(w, false))
            drop(w);
    }
}

static void drop_list(struct link *list)
{
    list_each(at, list) {
        struct websocket *w = link_owner(at, struct websocket, link);

        if (w->frames)
            drop(w);
        else
            leave(w);
    }
}

void websocket_drop_all(struct execution *e)
{
    drop_list(&e->sockets);
}

void websocket_drop_waiting(struct link *waiting)
{
    drop_list(waiting);
}

/* Called by the library when the reply 101 is sent: the connection is ours. */
static void upgraded(void *context, struct MHD_Connection *connection, void *exchange,
                     const char *extra, size_t extra_len, MHD_socket fd,
                     struct MHD_UpgradeResponseHandle *handle)
{
    static const struct wslay_event_callbacks callbacks = { .recv_callback = receive_bytes,
                                                            .send_callback = send_bytes,
                                                            .on_msg_recv_callback = message_came };
    struct websocket *w = context;
    struct exchange *x = exchange;

    (void)connection;
    x->left = NULL;
    w->handle = handle;
    (void)fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);
    buf_add(&w->early, extra, extra_len);
    w->watch = loop_watch_of(fd, socket_event, w);
    if (wslay_event_context_server_init(&w->frames, &callbacks, w) < 0) {
        w->frames = NULL;
        drop(w);
        return;
    }
    wslay_event_config_set_max_recv_msg_length(w->frames, WEBSOCKET_MESSAGE_MAX);
    if (loop_add(&w->server->loop, &w->watch, EPOLLIN | EPOLLRDHUP) < 0 || !turn(w, false))
        drop(w);
}

static char *accept_key(const char *key)
{
    scoped_free char *text = text_format("%s" ACCEPT_GUID, key);
    unsigned char digest[SHA1_SIZE];

    if (!text || gnutls_hash_fast(GNUTLS_DIG_SHA1, text, strlen(text), digest) < 0)
        return NULL;
    return encoding_to_base64(digest, sizeof(digest));
}

static bool wants_upgrade(const struct exchange *x)
{
    const char *upgrade = exchange_header(x, MHD_HTTP_HEADER_UPGRADE);
    const char *version = exchange_header(x, "Sec-WebSocket-Version");
    const char *key = exchange_header(x, "Sec-WebSocket-Key");

    return upgrade && !strcasecmp(upgrade, "websocket") && version && !strcmp(version, "13") &&
           key && strlen(key) == 24;
}

static struct MHD_Response *make_response(struct websocket *w, const struct exchange *x)
{
    scoped_free char *key = accept_key(exchange_header(x, "Sec-WebSocket-Key"));
    const char *protocols = exchange_header(x, "Sec-WebSocket-Protocol");
    struct MHD_Response *response = key ? MHD_create_response_for_upgrade(upgraded, w) : NULL;

    if (!response)
        return NULL;
    (void)MHD_add_response_header(response, MHD_HTTP_HEADER_UPGRADE, "websocket");
    (void)MHD_add_response_header(response, "Sec-WebSocket-Accept", key);
    if (w->manner->protocol && strstr(protocols ? protocols : "", w->manner->protocol))
        (void)MHD_add_response_header(response, "Sec-WebSocket-Protocol", w->manner->protocol);
    return response;
}

/* The connection ended before it was upgraded. */
static void abandoned(struct exchange *x)
{
    drop(x->subject);
}

static struct websocket *make(struct exchange *x, const struct websocket_manner *manner)
{
    struct websocket *w = calloc(1, sizeof(*w));

    if (!w)
        return NULL;
    w->manner = manner;
    w->server = x->server;
    w->tenant = x->tenant;
    w->opened_us = clock_now_us();
    w->watch.fd = -1;
    buf_init(&w->early, WEBSOCKET_MESSAGE_MAX);
    buf_init(&w->pending, 4 * WEBSOCKET_MESSAGE_MAX);
    link_init(&w->link);
    return w;
}

void websocket_open(struct exchange *x, const struct websocket_manner *manner, struct execution *e,
                    struct link *waiting)
{
    struct websocket *w = NULL;
    struct MHD_Response *response;

    if (!wants_upgrade(x)) {
        problem_reply(x, &(struct problem){ .status = MHD_HTTP_UPGRADE_REQUIRED,
                                            .detail = "this path is for a WebSocket, version 13" });
        exchange_add_header(x, MHD_HTTP_HEADER_UPGRADE, "websocket");
        return;
    }
    w = make(x, manner);
    response = w ? make_response(w, x) : NULL;
    if (!response) {
        free(w);
        exchange_reply(x, MHD_HTTP_SERVICE_UNAVAILABLE, JSON_TYPE, NULL);
        return;
    }
    if (e)
        websocket_attach(w, e);
    else
        list_append(waiting, &w->link);
    exchange_reply_with(x, MHD_HTTP_SWITCHING_PROTOCOLS, response);
    x->left = abandoned;
    x->subject = w;
}
