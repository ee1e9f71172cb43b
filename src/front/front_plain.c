/* A connection without TLS, as long as its requests come whole and read in one way only.
 *
 * Such a request goes to the gateway at once, and its reply usually does not come through here: the
 * gateway writes it to the connection.  What it sends here, because it is large or grows, is
 * written in the order in which it comes.  With the first other request libmicrohttpd takes the
 * connection over, behind all replies. */
#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fields.h"
#include "base/reply_head.h"
#include "front/front_internal.h"
#include "front/front_parse.h"

#define REQUEST_MAX 12288            /* head and body                                          */
#define PARTIAL_US (10 * 1000000ULL) /* from the first byte of a request to the last            */
#define REST_US (5 * 1000000ULL)     /* how long a client may go on sending behind the last reply */
#define READ_US (60 * 1000000ULL)    /* a client reads something, after the gateway's end        */
#define NEVER UINT64_MAX

/* What the caller goes on with. */
enum step {
    STEP_CLOSE, /* the connection is to be closed                                   */
    STEP_GONE,  /* it is libmicrohttpd's, and `c` may be freed: nothing looks at it */
    STEP_ON,    /* there may be another request                                     */
    STEP_WAIT,  /* for more, or for the gateway                                     */
};

/* `frame` begins with room for the head.  What the channel does not take waits, and so do the
 * client's next requests. */
static bool forward(struct front_client *c, const struct front_head *head, struct buf *frame,
                    const char *body, size_t body_len)
{
    if (frame->failed || frame->len + body_len > FRONT_FRAME_MAX)
        return false;
    memcpy(frame->data, head, sizeof(*head));
    if (frames_send(&c->channel, frame->data, frame->len, body, body_len) < 0)
        return false;
    if (frames_is_waiting(&c->channel))
        (void)loop_change(&c->front->loop, &c->watch, c->watch.events | EPOLLOUT);
    return true;
}

static bool forward_request(struct front_client *c, struct buf *frame, const char *body,
                            size_t body_len)
{
    const struct front_head head = { .type = FRONT_REQUEST,
                                     .flags = FRONT_WHOLE | FRONT_DIRECT,
                                     .fields_len = (uint32_t)(frame->len - sizeof(head)) };

    c->forwarded = true;
    c->overdue_us = NEVER; /* the gateway ends a connection that is idle */
    return forward(c, &head, frame, body, body_len);
}

static void begin_frame(struct buf *frame)
{
    const struct front_head none = { 0 };

    buf_init(frame, FRONT_FRAME_MAX);
    buf_add(frame, &none, sizeof(none));
}

/* The gateway refuses a header with a control character: this one stands for whatever can be read
 * in more than one way.  Nothing else is read. */
static enum step forward_bad(struct front_client *c)
{
    struct buf frame;
    bool sent;

    begin_frame(&frame);
    (void)fields_add(&frame, FRONT_FIELD_METHOD, "", "GET");
    (void)fields_add(&frame, FRONT_FIELD_PATH, "", "/");
    (void)fields_add(&frame, FRONT_FIELD_HEADER, "X", "\x01");
    sent = forward_request(c, &frame, NULL, 0);
    buf_done(&frame);
    c->stage = STAGE_WAITING;
    return sent ? STEP_WAIT : STEP_CLOSE;
}

/* The connection becomes libmicrohttpd's: at once, or when the replies to all that went before are
 * out. */
static enum step turn(struct front_client *c)
{
    const struct front_head head = { .type = FRONT_TURN };
    struct buf frame;
    bool sent;

    if (c->forwarded) {
        begin_frame(&frame);
        sent = forward(c, &head, &frame, NULL, 0);
        buf_done(&frame);
        c->stage = STAGE_ASKED;
        c->overdue_us = NEVER; /* it waits for replies now, and not for the client */
        return sent ? STEP_WAIT : STEP_CLOSE;
    }
    loop_remove(&c->front->loop, &c->gone);
    (void)loop_change(&c->front->loop, &c->watch, 0);
    if (c->overdue_us == NEVER)
        c->overdue_us = clock_now_us() + PARTIAL_US;
    c->stage = STAGE_IDLE;
    c->front->library_take(c);
    return STEP_GONE;
}

static enum step take_partial(struct front_client *c, size_t len)
{
    if (len >= REQUEST_MAX)
        return turn(c);
    if (c->overdue_us == NEVER)
        c->overdue_us = clock_now_us() + PARTIAL_US;
    return STEP_WAIT;
}

static bool consume(const struct front_client *c, size_t len)
{
    static char nowhere[REQUEST_MAX];

    return recv(c->fd, nowhere, len, MSG_DONTWAIT | MSG_TRUNC) == (ssize_t)len;
}

/* One request of the bytes that are there. */
static enum step read_request(struct front_client *c, const char *data, size_t len)
{
    size_t head_len = 0, body_len = 0;
    enum front_parsed parsed;
    bool sent = false;
    struct buf frame;

    begin_frame(&frame);
    parsed = front_parse(data, len, &frame, &head_len, &body_len);
    if (parsed == FRONT_PARSED_WHOLE)
        sent = forward_request(c, &frame, data + head_len, body_len) &&
               consume(c, head_len + body_len);
    buf_done(&frame);
    switch (parsed) {
    case FRONT_PARSED_WHOLE:
        if (!sent)
            return STEP_CLOSE;
        return len > head_len + body_len ? STEP_ON : STEP_WAIT;
    case FRONT_PARSED_MORE:
        return take_partial(c, len);
    case FRONT_PARSED_BAD:
        return forward_bad(c);
    default:
        return turn(c);
    }
}

/* What comes behind the last reply: unread, it would make the kernel send a reset, and a client
 * would lose the reply. */
static enum step drop_rest(const struct front_client *c)
{
    static char nowhere[REQUEST_MAX];
    ssize_t n;

    do
        n = recv(c->fd, nowhere, sizeof(nowhere), MSG_DONTWAIT);
    while (n > 0);
    return n < 0 && errno == EAGAIN ? STEP_WAIT : STEP_CLOSE;
}

void front_plain_close(struct front_client *c)
{
    int fd = c->fd;

    (void)drop_rest(c);
    front_client_free(c);
    close(fd);
}

static enum step read_requests(struct front_client *c)
{
    static char data[REQUEST_MAX];
    enum step step = STEP_ON;

    if (c->stage == STAGE_DRAIN)
        return drop_rest(c);
    while (step == STEP_ON && c->stage == STAGE_IDLE && !frames_is_waiting(&c->channel)) {
        ssize_t n = recv(c->fd, data, sizeof(data), MSG_PEEK | MSG_DONTWAIT);

        if (n <= 0) /* EPOLLRDHUP reports an end */
            return n == 0 || errno == EAGAIN || errno == EINTR ? STEP_WAIT : STEP_CLOSE;
        step = read_request(c, data, (size_t)n);
    }
    return step;
}

static bool send_rest(struct front_client *c)
{
    ssize_t n;

    while (c->rest.len) {
        n = send(c->fd, c->rest.data, c->rest.len, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (n < 0)
            return errno == EAGAIN || errno == EINTR;
        buf_drop(&c->rest, (size_t)n);
        if (!c->watch.on)
            c->overdue_us = clock_now_us() + READ_US;
    }
    buf_done(&c->rest); /* thousands of clients may wait here */
    buf_init(&c->rest, 2 * FRONT_FRAME_MAX);
    return true;
}

static bool add_part(struct front_client *c, const char *data, size_t len)
{
    if (c->to_come == FRONT_LENGTH_UNKNOWN) {
        if (!len) /* an empty chunk would be the last */
            return true;
        buf_printf(&c->rest, "%zx\r\n", len);
        buf_add(&c->rest, data, len);
        return buf_add(&c->rest, "\r\n", 2) == 0;
    }
    if (len > c->to_come)
        return false;
    c->to_come -= len;
    return buf_add(&c->rest, data, len) == 0;
}

static bool begin_reply(struct front_client *c, const struct front_head *head, const char *data,
                        size_t len)
{
    struct reply_head text = { .status = head->status,
                               .fields = data,
                               .fields_len = head->fields_len };

    if (c->to_come || c->closes || head->fields_len > len || head->flags & FRONT_UPGRADE)
        return false;
    if (!reply_head_has_body(head->status))
        len = head->fields_len;
    else
        text.length = head->flags & FRONT_WHOLE ? len - head->fields_len : head->length;
    c->closes = reply_head_closes(data, head->fields_len);
    c->to_come = text.length;
    return reply_head_add(&text, &c->rest) &&
           add_part(c, data + head->fields_len, len - head->fields_len);
}

static bool end_reply(struct front_client *c)
{
    bool grew = c->to_come == FRONT_LENGTH_UNKNOWN;

    c->to_come = 0;
    return grew && buf_add(&c->rest, "0\r\n\r\n", 5) == 0;
}

static bool take_frame(struct front_client *c, const struct front_head *head, const char *data,
                       size_t len)
{
    switch (head->type) {
    case FRONT_REPLY:
        return begin_reply(c, head, data, len);
    case FRONT_DATA:
        return c->to_come && add_part(c, data, len);
    case FRONT_DONE:
        return end_reply(c);
    case FRONT_REST:
        return !c->to_come && !c->closes && buf_add(&c->rest, data, len) == 0;
    case FRONT_ADMIT:
        return c->stage == STAGE_ASKED && !c->to_come;
    default:
        return false;
    }
}

static bool is_last_sent(const struct front_client *c)
{
    return c->closes && !c->to_come && !c->rest.len && c->stage != STAGE_DRAIN;
}

static enum step end_connection(struct front_client *c)
{
    (void)shutdown(c->fd, SHUT_WR);
    c->stage = STAGE_DRAIN;
    c->overdue_us = clock_now_us() + REST_US;
    return drop_rest(c);
}

/* Takes frames as fast as the client takes what is in them.  STEP_ON: TURN was admitted. */
static enum step pump(struct front_client *c)
{
    static char frame[FRONT_FRAME_MAX];
    struct front_head head;

    while (!c->rest.len && !is_last_sent(c) && c->stage != STAGE_DRAIN) {
        ssize_t n = front_client_receive(c, frame, &head);

        if (n == 0)
            return STEP_WAIT;
        if (n < 0 || !take_frame(c, &head, frame + sizeof(head), (size_t)n - sizeof(head)))
            return STEP_CLOSE;
        if (head.type == FRONT_ADMIT)
            return STEP_ON;
        if (!send_rest(c))
            return STEP_CLOSE;
    }
    return is_last_sent(c) ? end_connection(c) : STEP_WAIT;
}

/* The channel is read when the client has taken what came before. */
static void watch_channel(struct front_client *c)
{
    uint32_t events = (c->rest.len || c->stage == STAGE_DRAIN ? 0 : EPOLLIN) |
                      (frames_is_waiting(&c->channel) ? EPOLLOUT : 0);

    if (c->watch.on && c->watch.events != events)
        (void)loop_change(&c->front->loop, &c->watch, events);
}

static enum step go_on(struct front_client *c)
{
    enum step step = pump(c);

    if (step == STEP_WAIT)
        watch_channel(c);
    if (step != STEP_ON)
        return step;
    c->forwarded = false; /* nothing is before the odd request any more */
    return turn(c);
}

/* The gateway takes a client that sends no more for gone, behind all requests that came whole.
 * Those that the channel does not take yet are still to be read. */
static void pass_end(struct front_client *c)
{
    if (c->half && !frames_is_waiting(&c->channel))
        (void)shutdown(c->channel.fd, SHUT_WR);
}

static enum step take_channel(struct front_client *c, uint32_t events)
{
    enum step step = STEP_WAIT;

    if (events & EPOLLOUT) {
        if (frames_flush(&c->channel) < 0)
            return STEP_CLOSE;
        watch_channel(c);
        step = read_requests(c);
        if (step >= STEP_ON)
            pass_end(c);
    }
    if (step < STEP_ON || !(events & (EPOLLIN | EPOLLHUP | EPOLLERR)))
        return step;
    if (events & (EPOLLHUP | EPOLLERR)) { /* what is in it is still sent, as far as it is taken */
        loop_remove(&c->front->loop, &c->watch);
        c->overdue_us = clock_now_us() + READ_US;
    }
    return go_on(c);
}

static void channel_event(struct front_client *c, uint32_t events)
{
    if (take_channel(c, events) == STEP_CLOSE)
        front_plain_close(c);
}

static enum step take_client(struct front_client *c, uint32_t events)
{
    enum step step = STEP_WAIT;

    if (events & (EPOLLHUP | EPOLLERR))
        return STEP_CLOSE;
    if (events & EPOLLOUT && c->rest.len)
        step = send_rest(c) ? go_on(c) : STEP_CLOSE;
    if (step >= STEP_ON && events & (EPOLLIN | EPOLLRDHUP))
        step = read_requests(c);
    c->half |= (events & EPOLLRDHUP) != 0;
    if (step >= STEP_ON)
        pass_end(c);
    return step;
}

static void client_event(void *context, uint32_t events)
{
    if (take_client(context, events) == STEP_CLOSE)
        front_plain_close(context);
}

bool front_plain_open(struct front_client *c)
{
    c->plain_event = channel_event;
    c->plain_close = front_plain_close;
    c->gone = loop_watch_of(c->fd, client_event, c);
    buf_done(&c->rest);
    buf_init(&c->rest, 2 * FRONT_FRAME_MAX);
    return loop_change(&c->front->loop, &c->watch, EPOLLIN) == 0 &&
           loop_add(&c->front->loop, &c->gone, EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET) == 0;
}
