/* WebSockets: frames of RFC 6455 on one side, messages on the other. */
#include <errno.h>
#include <fcntl.h>
#include <gnutls/crypto.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <wslay/wslay.h>

#include "base/clock.h"
#include "base/encoding.h"
#include "base/text.h"
#include "front/front_internal.h"

#define ACCEPT_GUID "258EAFA5-E914-47DA-95CA-C5AB0DC85B11" /* RFC 6455 */
#define SHA1_SIZE 20
#define OUTGOING_MAX ((size_t)64 << 20)
#define UNSENT_FRAMES 64   /* answers to pings that the client does not take: then it is not read */
#define FRAGMENTS_MAX 1024 /* of one message: each takes a hundred times the memory of its byte */
#define GOODBYE_US (5 * 1000000ULL) /* how long a client may take to answer the closing frame */

struct front_socket {
    struct loop_watch watch; /* of the client */
    struct MHD_UpgradeResponseHandle *handle;
    wslay_event_context_ptr frames;
    struct buf early;       /* bytes that came with the request */
    struct buf outgoing;    /* a message of the gateway that is not whole yet */
    bool ends;              /* the gateway has said that it closes */
    unsigned int fragments; /* of the message that comes */
};

static ssize_t send_bytes(wslay_event_context_ptr frames, const uint8_t *data, size_t len,
                          int flags, void *context)
{
    const struct front_client *c = context;
    ssize_t n = send(c->socket->watch.fd, data, len, MSG_NOSIGNAL | MSG_DONTWAIT);

    (void)flags;
    if (n < 0)
        wslay_event_set_error(frames, errno == EAGAIN || errno == EINTR
                                          ? WSLAY_ERR_WOULDBLOCK
                                          : WSLAY_ERR_CALLBACK_FAILURE);
    return n;
}

static bool is_flooded(const struct front_socket *s)
{
    return wslay_event_get_queued_msg_count(s->frames) >= UNSENT_FRAMES;
}

/* Nothing is read while messages wait for the gateway, or answers for the client. */
static ssize_t receive_bytes(wslay_event_context_ptr frames, uint8_t *data, size_t len, int flags,
                             void *context)
{
    struct front_client *c = context;
    struct front_socket *s = c->socket;
    ssize_t n;

    (void)flags;
    if (frames_is_waiting(&c->channel) || is_flooded(s)) {
        wslay_event_set_error(frames, WSLAY_ERR_WOULDBLOCK);
        return -1;
    }
    if (s->early.len) {
        n = (ssize_t)(len < s->early.len ? len : s->early.len);
        memcpy(data, s->early.data, (size_t)n);
        buf_drop(&s->early, (size_t)n);
        return n;
    }
    n = recv(s->watch.fd, data, len, MSG_DONTWAIT);
    if (n > 0)
        return n;
    wslay_event_set_error(frames, n < 0 && (errno == EAGAIN || errno == EINTR)
                                      ? WSLAY_ERR_WOULDBLOCK
                                      : WSLAY_ERR_CALLBACK_FAILURE);
    return -1;
}

/* The library bounds the bytes of a message, and not its pieces. */
static void frame_began(wslay_event_context_ptr frames,
                        const struct wslay_event_on_frame_recv_start_arg *frame, void *context)
{
    struct front_socket *s = ((struct front_client *)context)->socket;

    if (frame->opcode != WSLAY_CONTINUATION_FRAME) {
        s->fragments = wslay_is_ctrl_frame(frame->opcode) ? s->fragments : 0;
        return;
    }
    if (++s->fragments <= FRAGMENTS_MAX)
        return;
    (void)wslay_event_queue_close(frames, WSLAY_CODE_MESSAGE_TOO_BIG, NULL, 0);
    wslay_event_shutdown_read(frames);
}

static void message_came(wslay_event_context_ptr frames,
                         const struct wslay_event_on_msg_recv_arg *message, void *context)
{
    const size_t most = FRONT_FRAME_MAX - sizeof(struct front_head);
    const uint8_t *bytes = message->msg ? message->msg : (const uint8_t *)""; /* of an empty one */
    struct front_client *c = context;
    size_t at = 0;

    (void)frames;
    if (message->opcode != WSLAY_BINARY_FRAME && message->opcode != WSLAY_TEXT_FRAME)
        return;
    do {
        size_t n = message->msg_length - at < most ? message->msg_length - at : most;
        const struct front_head head = {
            .type = FRONT_MESSAGE,
            .flags = (uint8_t)((message->opcode == WSLAY_BINARY_FRAME ? FRONT_BINARY : 0) |
                               (at + n < message->msg_length ? FRONT_MORE : 0)),
        };

        (void)frames_send(&c->channel, &head, sizeof(head), bytes + at, n);
        at += n;
    } while (at < message->msg_length);
}

/* One message after the other: what the client does not take stays with the gateway. */
static bool pass_on(struct front_client *c)
{
    static char frame[FRONT_FRAME_MAX];
    struct front_socket *s = c->socket;
    struct front_head head;

    while (!s->ends && wslay_event_get_queued_msg_count(s->frames) == 0) {
        ssize_t n = front_client_receive(c, frame, &head);
        const char *data = frame + sizeof(head);
        size_t len = (size_t)n - sizeof(head);

        if (n <= 0)
            return n == 0;
        if (head.type == FRONT_CLOSE) {
            s->ends = true;
            c->overdue_us = clock_now_us() + GOODBYE_US;
            (void)wslay_event_queue_close(s->frames, head.status, (const uint8_t *)data, len);
        } else if (head.type != FRONT_MESSAGE || buf_add(&s->outgoing, data, len) < 0) {
            return false;
        } else if (!(head.flags & FRONT_MORE)) {
            const struct wslay_event_msg message = { WSLAY_TEXT_FRAME,
                                                     (const uint8_t *)s->outgoing.data,
                                                     s->outgoing.len };

            (void)wslay_event_queue_msg(s->frames, &message);
            buf_drop(&s->outgoing, s->outgoing.len);
        }
        if (wslay_event_send(s->frames) < 0)
            return false;
    }
    return true;
}

/* Sends and receives what is possible now; false: the connection is over. */
static bool turn(struct front_client *c, bool readable)
{
    struct front_socket *s = c->socket;
    bool wants_read, wants_write, stuck;

    if (frames_flush(&c->channel) < 0)
        return false;
    if ((readable || s->early.len) && wslay_event_recv(s->frames) < 0)
        return false;
    if (wslay_event_send(s->frames) < 0 || !pass_on(c))
        return false;
    wants_read = wslay_event_want_read(s->frames);
    wants_write = wslay_event_want_write(s->frames);
    if (!wants_read && !wants_write)
        return false;
    stuck = frames_is_waiting(&c->channel);
    (void)loop_change(&c->front->loop, &c->watch,
                      (stuck ? EPOLLOUT : 0) | (s->ends || wants_write ? 0 : EPOLLIN));
    return loop_change(&c->front->loop, &s->watch,
                       (wants_read && !stuck && !is_flooded(s) ? EPOLLIN | EPOLLRDHUP : 0) |
                           (wants_write ? EPOLLOUT : 0)) == 0;
}

static void free_socket(struct front_client *c)
{
    struct front_socket *s = c->socket;

    c->socket = NULL;
    if (!s)
        return;
    loop_remove(&c->front->loop, &s->watch);
    if (s->frames)
        wslay_event_context_free(s->frames);
    buf_done(&s->early);
    buf_done(&s->outgoing);
    if (s->handle)
        (void)MHD_upgrade_action(s->handle, MHD_UPGRADE_ACTION_CLOSE);
    free(s);
}

/* The library closes the connection, and its callback frees the client. */
static void drop(struct front_client *c)
{
    loop_remove(&c->front->loop, &c->watch);
    frames_done(&c->channel);
    c->stage = STAGE_OVER;
    free_socket(c);
}

static void go_on(struct front_client *c, bool readable)
{
    if (!turn(c, readable))
        drop(c);
}

static void woken(struct front_client *c)
{
    go_on(c, false);
}

static void socket_event(void *context, uint32_t events)
{
    struct front_client *c = context;

    if (events & (EPOLLHUP | EPOLLERR))
        drop(c);
    else
        go_on(c, events & (EPOLLIN | EPOLLRDHUP));
}

/* Called by the library when the reply 101 is sent: the connection is ours.
 * NOLINTNEXTLINE(readability-function-size): as the library calls it */
static void upgraded(void *context, struct MHD_Connection *connection, void *state,
                     const char *extra, size_t extra_len, MHD_socket fd,
                     struct MHD_UpgradeResponseHandle *handle)
{
    static const struct wslay_event_callbacks callbacks = { .recv_callback = receive_bytes,
                                                            .send_callback = send_bytes,
                                                            .on_frame_recv_start_callback =
                                                                frame_began,
                                                            .on_msg_recv_callback = message_came };
    struct front_client *c = context;
    struct front_socket *s = calloc(1, sizeof(*s));

    (void)connection;
    (void)state;
    if (!s) {
        (void)MHD_upgrade_action(handle, MHD_UPGRADE_ACTION_CLOSE);
        return;
    }
    c->socket = s;
    c->stage = STAGE_SOCKET;
    c->overdue_us = UINT64_MAX;
    c->woken = woken;
    c->release = free_socket;
    loop_remove(&c->front->loop, &c->gone); /* the same socket, where there is no TLS */
    s->handle = handle;
    s->watch = loop_watch_of(fd, socket_event, c);
    (void)fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);
    buf_init(&s->early, FRONT_MESSAGE_MAX);
    buf_init(&s->outgoing, OUTGOING_MAX);
    buf_add(&s->early, extra, extra_len);
    if (wslay_event_context_server_init(&s->frames, &callbacks, c) < 0) {
        s->frames = NULL;
        drop(c);
        return;
    }
    wslay_event_config_set_max_recv_msg_length(s->frames, FRONT_MESSAGE_MAX);
    if (loop_add(&c->front->loop, &s->watch, EPOLLIN | EPOLLRDHUP) < 0)
        drop(c);
    else
        go_on(c, false);
}

static char *accept_key(struct MHD_Connection *connection)
{
    const char *key = MHD_lookup_connection_value(connection, MHD_HEADER_KIND, "Sec-WebSocket-Key");
    scoped_free char *text = key ? text_format("%s" ACCEPT_GUID, key) : NULL;
    unsigned char digest[SHA1_SIZE];

    if (!text || gnutls_hash_fast(GNUTLS_DIG_SHA1, text, strlen(text), digest) < 0)
        return NULL;
    return encoding_to_base64(digest, sizeof(digest));
}

struct MHD_Response *front_socket_response(struct front_client *c)
{
    scoped_free char *key = accept_key(c->connection);
    struct MHD_Response *response = key ? MHD_create_response_for_upgrade(upgraded, c) : NULL;

    if (!response)
        return NULL;
    (void)MHD_add_response_header(response, MHD_HTTP_HEADER_UPGRADE, "websocket");
    (void)MHD_add_response_header(response, "Sec-WebSocket-Accept", key);
    return response;
}
