#include "http/websocket.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/clock.h"
#include "base/json_read.h"
#include "http/problem.h"
#include "http/server.h"

/* Answers that wait for a client: it is not heard before it has read some of them.  Events of a
 * program that runs never reach this, so that a signal to one that floods is heard. */
#define UNREAD_MAX ((size_t)2 * FRONT_MESSAGE_MAX)

#define EVENTS_AT_ONCE 32 /* or parts of a result, before others have their turn */

static void leave(struct websocket *w)
{
    struct execution *e = w->execution;

    link_remove(&w->link);
    w->execution = NULL;
    if (e)
        execution_was_left(e);
}

/* The connection ends with it. */
static void drop(struct websocket *w)
{
    struct visitor *v = w->visitor;

    leave(w);
    response_text_drop(w->result);
    buf_done(&w->incoming);
    buf_done(&w->pending);
    free(w);
    if (!v)
        return;
    v->user = NULL;
    visitor_close(v);
}

static void closed(void *context)
{
    struct websocket *w = context;

    w->visitor = NULL;
    drop(w);
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

/* `goes_on`: the message does, behind this. */
static void send_text(struct websocket *w, const char *text, size_t len, bool goes_on)
{
    const size_t most = FRONT_FRAME_MAX - sizeof(struct front_head);
    size_t at = 0;

    if (w->goodbye || !w->visitor)
        return;
    do {
        size_t n = len - at < most ? len - at : most;
        const struct front_head head = { .type = FRONT_MESSAGE,
                                         .flags = goes_on || at + n < len ? FRONT_MORE : 0 };

        (void)frames_send(&w->visitor->channel, &head, sizeof(head), text + at, n);
        at += n;
    } while (at < len);
}

void websocket_send_event(struct websocket *w, const struct event_log_line *line)
{
    send_text(w, line->text, line->len, line->result);
    if (!line->result)
        return;
    w->result = response_text_share(line->result);
    w->result_sent = (struct response_place){ 0 };
}

/* The next piece of a result that is sent from where it is, as the channel takes it. */
static void send_result(struct websocket *w)
{
    char data[FRONT_FRAME_MAX - sizeof(struct front_head)];
    size_t n = response_text_read(w->result, &w->result_sent, data, sizeof(data));

    send_text(w, data, n, true);
    if (w->result_sent.done < w->result->len)
        return;
    response_text_drop(take_ptr(w->result));
    send_text(w, "}", 1, false);
}

void websocket_say(struct websocket *w, json_t *message)
{
    scoped_free char *text = message ? json_dumps(message, JSON_COMPACT) : NULL;

    if (text)
        send_text(w, text, strlen(text), false);
    json_decref(message);
}

void websocket_end(struct websocket *w, uint16_t code, const char *reason)
{
    if (w->goodbye)
        return;
    w->goodbye = code;
    w->goodbye_reason = reason ? reason : "";
}

static void say_goodbye(struct websocket *w)
{
    const struct front_head head = { .type = FRONT_CLOSE, .status = w->goodbye };

    if (!w->goodbye || w->said_goodbye)
        return;
    w->said_goodbye = true;
    (void)frames_send(&w->visitor->channel, &head, sizeof(head), w->goodbye_reason,
                      strlen(w->goodbye_reason));
}

static bool is_all_sent(const struct websocket *w)
{
    return execution_is_over(w->execution) && !w->result &&
           w->next >= event_log_next(&w->execution->log);
}

/* One event after the other: what the client does not take stays in the bounded log. */
static void send_events(struct websocket *w)
{
    struct execution *e = w->execution;
    const struct event_log_line *line;
    int n = 0;

    while (e && !w->goodbye && !frames_is_waiting(&w->visitor->channel) && n++ < EVENTS_AT_ONCE) {
        if (w->result) {
            send_result(w);
        } else if (w->next < e->log.first) {
            websocket_say(w, json_pack("{s:s, s:I}", "type", "lost", "events",
                                       (json_int_t)(e->log.first - w->next)));
            w->next = e->log.first;
        } else if ((line = event_log_get(&e->log, w->next))) {
            w->next++;
            w->manner->event(w, line);
        } else {
            break;
        }
    }
    w->visitor->has_more = n > EVENTS_AT_ONCE;
    if (e)
        execution_was_read(e, w->next);
    if (w->attached && (!e || is_all_sent(w)))
        websocket_end(w, w->manner->end_code, w->manner->end_reason);
    say_goodbye(w);
}

/* Sends what is possible now; false: the connection is over. */
static bool turn(struct websocket *w)
{
    if (frames_flush(&w->visitor->channel) < 0)
        return false;
    send_events(w);
    visitor_listen(w->visitor, !w->pending.len && w->visitor->channel.waiting.len < UNREAD_MAX);
    return !w->visitor->channel.broken;
}

static void take_message(struct websocket *w, bool binary)
{
    json_t *text;

    if (binary) {
        buf_add(&w->pending, w->incoming.data, w->incoming.len);
    } else {
        text =
            json_read(w->incoming.len ? w->incoming.data : "", w->incoming.len, &json_read_document,
                      JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, "the message", NULL);
        w->manner->text(w, text);
        json_decref(text);
    }
    feed(w);
}

static bool take(void *context, const struct front_head *head, const char *data, size_t len)
{
    struct websocket *w = context;

    if (w->goodbye) /* what comes after it is not for the program */
        return true;
    if (buf_add(&w->incoming, data, len) < 0)
        return false;
    if (head->flags & FRONT_MORE)
        return true;
    take_message(w, head->flags & FRONT_BINARY);
    buf_drop(&w->incoming, w->incoming.len);
    return turn(w);
}

void websocket_turn(struct websocket *w)
{
    if (w->visitor && !turn(w))
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

        if (!w->visitor)
            continue;
        feed(w);
        if (!turn(w))
            drop(w);
    }
}

static void drop_list(struct link *list)
{
    list_each(at, list) {
        struct websocket *w = link_owner(at, struct websocket, link);

        if (w->visitor)
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

static void opened(void *context, struct visitor *visitor)
{
    struct websocket *w = context;

    w->visitor = visitor;
    if (!turn(w))
        drop(w);
}

static bool wants_upgrade(const struct exchange *x)
{
    const char *upgrade = exchange_header(x, HTTP_HEADER_UPGRADE);
    const char *version = exchange_header(x, "Sec-WebSocket-Version");
    const char *key = exchange_header(x, "Sec-WebSocket-Key");

    return upgrade && !strcasecmp(upgrade, "websocket") && version && !strcmp(version, "13") &&
           key && strlen(key) == 24;
}

static void more_room(void *context)
{
    websocket_turn(context);
}

static void refuse(void *context)
{
    struct websocket *w = context;

    websocket_end(w, WEBSOCKET_POLICY, "the token was revoked or has expired");
    websocket_turn(w);
}

static struct response *make_response(struct websocket *w, const struct exchange *x)
{
    static const struct visitor_user user = {
        .opened = opened, .take = take, .turn = more_room, .refuse = refuse, .closed = closed
    };

    const char *protocols = exchange_header(x, "Sec-WebSocket-Protocol");
    struct response *response = response_of_upgrade(&user, w);

    if (response && w->manner->protocol && strstr(protocols ? protocols : "", w->manner->protocol))
        response_add_header(response, "Sec-WebSocket-Protocol", w->manner->protocol);
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
    buf_init(&w->incoming, FRONT_MESSAGE_MAX);
    buf_init(&w->pending, 4 * FRONT_MESSAGE_MAX);
    link_init(&w->link);
    return w;
}

void websocket_open(struct exchange *x, const struct websocket_manner *manner, struct execution *e,
                    struct link *waiting)
{
    struct websocket *w = NULL;
    struct response *response;

    if (!wants_upgrade(x)) {
        problem_reply(x, &(struct problem){ .status = HTTP_UPGRADE_REQUIRED,
                                            .detail = "this path is for a WebSocket, version 13" });
        exchange_add_header(x, HTTP_HEADER_UPGRADE, "websocket");
        return;
    }
    w = make(x, manner);
    response = w ? make_response(w, x) : NULL;
    if (!response) {
        free(w);
        exchange_reply(x, HTTP_SERVICE_UNAVAILABLE, JSON_TYPE, NULL);
        return;
    }
    if (e)
        websocket_attach(w, e);
    else
        list_append(waiting, &w->link);
    exchange_reply_with(x, HTTP_SWITCHING_PROTOCOLS, response);
    x->left = abandoned;
    x->subject = w;
}
