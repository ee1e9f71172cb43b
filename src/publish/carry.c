#include "publish/publish_internal.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"

#define ACCEPT_BATCH 32
#define UNSENT_BYTES (256 << 10)
#define DIAL_US 10000000 /* a program that listens but does not accept has that long */

enum carry_state { DIALLING, RELAYING };

struct carry {
    struct publisher *publisher;
    struct link link;
    enum carry_state state;
    uint32_t rule;
    uint16_t port; /* inside */
    bool v6;
    uint64_t since_us;
    struct loop_watch inside, outside;
    struct pump in, out;
};

static void rest(struct publisher *publisher)
{
    bool rest = publisher->sockets.n_free4 == 0 || publisher->starved;

    if (rest == publisher->resting)
        return;
    publisher->resting = rest;
    for (size_t i = 0; i < publisher->n_listeners; i++) {
        if (rest)
            loop_remove(&publisher->events, &publisher->listeners[i].watch);
        else
            (void)loop_add(&publisher->events, &publisher->listeners[i].watch, EPOLLIN);
    }
}

static void leave_inside(struct carry *c, bool at_once)
{
    if (c->inside.fd < 0)
        return;
    loop_remove(&c->publisher->events, &c->inside);
    inside_sockets_give(&c->publisher->sockets, c->inside.fd, at_once, clock_now_us());
    c->inside.fd = -1;
}

static void carry_free(struct carry *c, bool at_once)
{
    struct publisher *publisher = c->publisher;

    pump_done(&c->in);
    pump_done(&c->out);
    leave_inside(c, at_once);
    loop_close(&publisher->events, &c->outside);
    link_remove(&c->link);
    free(c);
    publisher->starved = false;
    rest(publisher);
}

/* Neither side mistakes this for an ordinary end. */
static void carry_reset(struct carry *c)
{
    const struct linger at_once = { .l_onoff = 1 };

    setsockopt(c->outside.fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once));
    carry_free(c, true);
}

/* Either side can go on.  Both directions are tried, because an event is reported only once. */
static void relay(void *context, uint32_t events)
{
    struct carry *c = context;
    enum pump_result in = pump_move(&c->in, events), out = pump_move(&c->out, events);
    bool more = in == PUMP_MORE || out == PUMP_MORE;
    bool done = c->in.done && c->out.done;

    if (in == PUMP_BROKEN || out == PUMP_BROKEN || ((events & EPOLLERR) && !more && !done))
        carry_reset(c);
    else if (done)
        carry_free(c, false);
    else if (more)
        (void)loop_change(&c->publisher->events, &c->outside, c->outside.events);
}

/* Bytes are sent at once, and bytes that a slow peer has not accepted stay in the sender's buffers,
 * which are limited, not in ours. */
static void set_up_socket(int fd)
{
    static const int one = 1, unsent = UNSENT_BYTES;

    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
    setsockopt(fd, IPPROTO_TCP, TCP_NOTSENT_LOWAT, &unsent, sizeof(unsent));
}

static void start_relay(struct carry *c)
{
    struct publisher *publisher = c->publisher;

    c->state = RELAYING;
    set_up_socket(c->inside.fd);
    set_up_socket(c->outside.fd);
    pump_init(&c->in, &publisher->in[c->rule], c->outside.fd, c->inside.fd);
    pump_init(&c->out, &publisher->out[c->rule], c->inside.fd, c->outside.fd);
    c->inside.callback = c->outside.callback = relay;
    if (loop_change(&publisher->events, &c->inside, PUMP_EVENTS) < 0 ||
        loop_add(&publisher->events, &c->outside, PUMP_EVENTS) < 0)
        carry_reset(c);
}

static void dial(struct carry *c);

static void dialled(void *context, uint32_t events)
{
    struct carry *c = context;
    int error = 0;
    socklen_t size = sizeof(error);

    (void)events;
    if (getsockopt(c->inside.fd, SOL_SOCKET, SO_ERROR, &error, &size) < 0)
        error = errno;
    if (!error) {
        start_relay(c);
        return;
    }
    leave_inside(c, true);
    if (c->v6) {
        carry_reset(c);
        return;
    }
    c->v6 = true; /* a server may listen on ::1 alone */
    dial(c);
}

static int connect_inside(const struct carry *c)
{
    const struct sockaddr_in v4 = { .sin_family = AF_INET,
                                    .sin_port = htons(c->port),
                                    .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    const struct sockaddr_in6 v6 = { .sin6_family = AF_INET6,
                                     .sin6_port = htons(c->port),
                                     .sin6_addr = in6addr_loopback };
    int r = c->v6 ? connect(c->inside.fd, (const struct sockaddr *)&v6, sizeof(v6))
                  : connect(c->inside.fd, (const struct sockaddr *)&v4, sizeof(v4));

    return r < 0 && errno != EINPROGRESS ? -1 : 0;
}

static void dial(struct carry *c)
{
    c->state = DIALLING;
    c->inside.fd = inside_sockets_take(&c->publisher->sockets, c->v6);
    c->inside.callback = dialled;
    /* A failed connect is an event of the socket, too. */
    if (c->inside.fd < 0 || (connect_inside(c) < 0 && errno != ECONNREFUSED) ||
        loop_add(&c->publisher->events, &c->inside, EPOLLOUT) < 0)
        carry_reset(c);
}

static void start(const struct publish_listener *listener, int fd)
{
    struct publisher *publisher = listener->publisher;
    struct carry *c = calloc(1, sizeof(*c));

    if (!c) {
        close(fd);
        return;
    }
    c->publisher = publisher;
    c->rule = listener->rule;
    c->port = listener->inside;
    c->since_us = clock_now_us();
    c->inside = loop_watch_of(-1, NULL, c);
    c->outside = loop_watch_of(fd, NULL, c);
    c->in.pipe[0] = c->in.pipe[1] = c->out.pipe[0] = c->out.pipe[1] = -1;
    list_prepend(&publisher->carries, &c->link);
    atomic_fetch_add(&publisher->page->rules[c->rule].connections, 1);
    dial(c);
}

static bool is_shortage(void)
{
    return errno == EMFILE || errno == ENFILE || errno == ENOMEM || errno == ENOBUFS;
}

void carry_accept(void *context, uint32_t events)
{
    const struct publish_listener *listener = context;
    struct publisher *publisher = listener->publisher;

    (void)events;
    for (int i = 0; i < ACCEPT_BATCH && publisher->sockets.n_free4 > 0; i++) {
        int fd = fd_accept(listener->watch.fd, SOCK_NONBLOCK);

        publisher->starved = fd < 0 && is_shortage();
        if (fd < 0)
            break;
        start(listener, fd);
    }
    rest(publisher);
}

void carry_tick(struct publisher *publisher, uint64_t now_us)
{
    publisher->starved = false;
    list_each(at, &publisher->carries) {
        struct carry *c = link_owner(at, struct carry, link);

        if (c->state == DIALLING && now_us - c->since_us > DIAL_US)
            carry_reset(c);
    }
    rest(publisher);
}

bool carry_is_idle(const struct publisher *publisher)
{
    return link_is_alone(&publisher->carries) && !publisher->starved;
}

static bool is_sending(const struct carry *c)
{
    return c->state != RELAYING || !c->out.done;
}

bool carry_all_sent(const struct publisher *publisher)
{
    list_each(at, &publisher->carries)
        if (is_sending(link_owner(at, struct carry, link)))
            return false;
    return true;
}

void carry_give_up(struct publisher *publisher)
{
    list_each(at, &publisher->carries)
        if (is_sending(link_owner(at, struct carry, link)))
            carry_reset(link_owner(at, struct carry, link));
}
