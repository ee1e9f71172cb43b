#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/clock.h"
#include "front/front_internal.h"

#define HEADER_US (10 * 1000000ULL) /* of the first request of a connection, until it is read */
#define LAST_US (60 * 1000000ULL)   /* to read what a WebSocket's end has left in the channel */
#define UNSENT_MAX (4 * FRONT_MESSAGE_MAX)
#define REST_MAX ((size_t)FRONT_FRAME_MAX)

/* The gateway takes a client that closes only its sending side for gone, because a dead one looks
 * the same.  A reply that is there already is still sent.  While libmicrohttpd looks at the
 * connection, it sees the end itself. */
static void client_gone(void *context, uint32_t events)
{
    struct front_client *c = context;

    if (!c->paused)
        return;
    if (events & (EPOLLHUP | EPOLLERR))
        front_client_give_up(c);
    else if (events & EPOLLRDHUP)
        (void)shutdown(c->channel.fd, SHUT_WR);
}

/* The gateway has closed its end.  What is in the channel goes to the client as it reads; the end
 * itself would be reported in every turn until then. */
static void take_last(struct front_client *c)
{
    uint64_t overdue_us = clock_now_us() + LAST_US;

    loop_remove(&c->front->loop, &c->watch);
    c->overdue_us = c->overdue_us < overdue_us ? c->overdue_us : overdue_us;
}

static void channel_event(void *context, uint32_t events)
{
    struct front_client *c = context;

    if (c->plain) {
        c->plain_event(c, events);
    } else if (c->stage == STAGE_SOCKET) {
        if (events & (EPOLLHUP | EPOLLERR))
            take_last(c);
        c->woken(c);
    } else if (c->paused) {
        c->woken(c);
    } else if (events & (EPOLLHUP | EPOLLERR)) {
        loop_remove(&c->front->loop, &c->watch);
        if (c->stage == STAGE_IDLE)
            front_client_give_up(c);
    } else if (c->stage == STAGE_BODY && c->answered && events & EPOLLIN) {
        c->answered(c);
    } else { /* what is there waits until the client takes more */
        (void)loop_change(&c->front->loop, &c->watch, c->stage == STAGE_BODY ? EPOLLIN : 0);
    }
}

ssize_t front_client_receive(const struct front_client *c, char frame[FRONT_FRAME_MAX],
                             struct front_head *ret)
{
    ssize_t n = frames_receive(&c->channel, frame, FRONT_FRAME_MAX);

    if (n < 0 && errno == EAGAIN)
        return 0;
    if (n < (ssize_t)sizeof(*ret))
        return -1;
    memcpy(ret, frame, sizeof(*ret));
    return n;
}

struct front_client *front_client_new(struct front *front, int channel)
{
    struct front_client *c = calloc(1, sizeof(*c));

    if (!c)
        return NULL;
    c->front = front;
    c->plain = true;
    c->fd = c->gone.fd = -1;
    frames_init(&c->channel, channel, UNSENT_MAX);
    c->watch = loop_watch_of(channel, channel_event, c);
    buf_init(&c->request, FRONT_FRAME_MAX);
    buf_init(&c->rest, REST_MAX);
    c->overdue_us = clock_now_us() + HEADER_US;
    link_init(&c->link);
    if (loop_add(&front->loop, &c->watch, 0) < 0) {
        frames_done(&c->channel);
        free(c);
        return NULL;
    }
    list_append(&front->clients, &c->link);
    return c;
}

void front_client_free(struct front_client *c)
{
    c->front->in_library -= !c->plain;
    loop_remove(&c->front->loop, &c->watch);
    loop_remove(&c->front->loop, &c->gone);
    frames_done(&c->channel);
    link_remove(&c->link);
    if (c->release)
        c->release(c);
    if (c->response)
        MHD_destroy_response(c->response);
    buf_done(&c->request);
    buf_done(&c->rest);
    free(c);
}

/* Stays on from the first request to the last: each call reports anew what is there already. */
static void watch_client(struct front_client *c, uint32_t events)
{
    if (c->gone.on) {
        (void)loop_change(&c->front->loop, &c->gone, events);
        return;
    }
    c->gone = loop_watch_of(c->fd, client_gone, c);
    (void)loop_add(&c->front->loop, &c->gone, events);
}

void front_client_pause(struct front_client *c, uint32_t events,
                        void (*woken)(struct front_client *c))
{
    c->woken = woken;
    c->paused = true;
    if (c->watch.events != events)
        (void)loop_change(&c->front->loop, &c->watch, events);
    watch_client(c, EPOLLET | (c->stage >= STAGE_WAITING ? EPOLLRDHUP : 0));
    MHD_suspend_connection(c->connection);
}

void front_client_go_on(struct front_client *c)
{
    if (!c->paused)
        return;
    c->paused = false;
    MHD_resume_connection(c->connection);
}

void front_client_give_up(struct front_client *c)
{
    if (c->plain) {
        c->plain_close(c);
        return;
    }
    c->stage = STAGE_OVER;
    loop_remove(&c->front->loop, &c->watch);
    frames_done(&c->channel);
    (void)shutdown(c->fd, SHUT_RDWR);
    front_client_go_on(c);
}

/* libmicrohttpd misses an end that comes together with the last bytes: it would wait for the rest
 * of a request that can never be complete. */
static bool has_ended(const struct front_client *c)
{
    char byte;

    return !c->plain && !c->paused && c->stage != STAGE_SOCKET &&
           recvfrom(c->fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT, NULL, NULL) == 0;
}

static bool may_be_overdue(const struct front_client *c)
{
    return c->stage <= STAGE_BODY || c->stage == STAGE_SOCKET || c->stage == STAGE_DRAIN;
}

/* Bytes that come one by one keep no connection open for ever. */
void front_client_tick(struct front *front, uint64_t now_us)
{
    list_each(at, &front->clients) {
        struct front_client *c = link_owner(at, struct front_client, link);

        if (may_be_overdue(c) && (now_us > c->overdue_us || has_ended(c)))
            front_client_give_up(c);
    }
}
