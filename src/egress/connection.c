#include "egress/egress_internal.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "egress/dial.h"
#include "egress/dns_upstream.h"
#include "egress/target.h"

#define ACCEPT_BATCH 32
#define UNSENT_BYTES (256 << 10)
#define ORIGINAL_DST                                                                               \
    80 /* SO_ORIGINAL_DST and IP6T_SO_ORIGINAL_DST, whose headers conflict with those of libc */

enum connection_state { FINDING, DIALLING, RELAYING };

struct connection {
    struct egress *egress;
    struct link link;
    enum connection_state state;
    struct target target;
    struct dial dial;
    struct loop_watch inside, outside;
    struct pump out, in;
};

static void connection_free(struct connection *c)
{
    struct egress *egress = c->egress;

    target_forget(&c->target);
    dial_stop(&c->dial);
    loop_close(&egress->events, &c->inside);
    loop_close(&egress->events, &c->outside);
    pump_done(&c->out);
    pump_done(&c->in);
    link_remove(&c->link);
    free(c);
    egress->n_open--;
    egress->starved = false;
    listeners_rest(egress);
}

/* Neither side mistakes this for an ordinary end. */
static void connection_reset(struct connection *c)
{
    const struct linger at_once = { .l_onoff = 1 };

    setsockopt(c->inside.fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once));
    if (c->outside.fd >= 0)
        setsockopt(c->outside.fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once));
    connection_free(c);
}

void connection_reset_all(struct egress *egress)
{
    list_each(at, &egress->connections)
        connection_reset(link_owner(at, struct connection, link));
}

void connection_limit_reached(struct egress *egress, enum direction direction, const char *target)
{
    account_spent(egress, direction, target);
    connection_reset_all(egress);
    flow_close_all(egress);
}

/* Bytes are sent at once, and bytes that a slow peer has not accepted stay in the sender's buffers,
 * which are limited, not in ours. */
static void set_up_socket(int fd)
{
    static const int one = 1, unsent = UNSENT_BYTES;

    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
    setsockopt(fd, IPPROTO_TCP, TCP_NOTSENT_LOWAT, &unsent, sizeof(unsent));
}

/* Either side can go on.  Both directions are tried, because an event is reported only once. */
static void relay(void *context, uint32_t events)
{
    struct connection *c = context;
    enum pump_result out = pump_move(&c->out, events);
    enum pump_result in = out == PUMP_FULL ? PUMP_WAITS : pump_move(&c->in, events);
    bool more = out == PUMP_MORE || in == PUMP_MORE;
    bool done = c->out.done && c->in.done;
    bool broken = out == PUMP_BROKEN || in == PUMP_BROKEN;
    char text[TARGET_TEXT];

    /* An error that neither reading nor writing has met. */
    broken |= (events & EPOLLERR) && !more && !done;
    if (out == PUMP_FULL || in == PUMP_FULL)
        connection_limit_reached(c->egress, out == PUMP_FULL ? DIRECTION_OUT : DIRECTION_IN,
                                 target_text(&c->target, text));
    else if (broken)
        connection_reset(c);
    else if (done)
        connection_free(c);
    else if (more)
        (void)loop_change(&c->egress->events, &c->outside, c->outside.events);
}

static void start_relay(struct connection *c)
{
    struct egress *egress = c->egress;

    c->state = RELAYING;
    set_up_socket(c->inside.fd);
    set_up_socket(c->outside.fd);
    if (!hand_on_give(&c->target, &c->inside.fd)) {
        connection_reset(c);
        return;
    }
    pump_init(&c->out, &egress->meters[DIRECTION_OUT], c->inside.fd, c->outside.fd);
    pump_init(&c->in, &egress->meters[DIRECTION_IN], c->outside.fd, c->inside.fd);
    c->inside.callback = c->outside.callback = relay;
    if (loop_add(&egress->events, &c->inside, PUMP_EVENTS) < 0)
        connection_reset(c);
    else
        /* In the next turn: at the byte limit a relay ends all connections; a tick walks them. */
        (void)loop_change(&egress->events, &c->outside, c->outside.events);
}

static void dialled(void *context, struct loop_watch *winner)
{
    struct connection *c = context;

    if (!winner) {
        if (c->target.by_proxy && c->target.n)
            target_deny_proxy(&c->target, "does not answer");
        connection_reset(c);
        return;
    }
    loop_move(&c->egress->events, winner, &c->outside);
    start_relay(c);
}

static void found(void *context)
{
    struct connection *c = context;

    c->state = DIALLING;
    c->dial = (struct dial){ .events = &c->egress->events,
                             .due_us = &c->egress->due_us,
                             .addresses = c->target.addresses,
                             .n = c->target.n,
                             .port = c->target.port,
                             .done = dialled,
                             .context = c };
    dial_start(&c->dial, clock_now_us());
}

void connection_tick(struct egress *egress, uint64_t now_us)
{
    egress->starved = false;
    listeners_rest(egress);
    list_each(at, &egress->connections) {
        struct connection *c = link_owner(at, struct connection, link);

        if (c->state == DIALLING)
            dial_tick(&c->dial, now_us);
        else if (c->target.waits && c->target.until_us <= now_us)
            target_give_up(&c->target);
    }
}

void connection_answer(struct egress *egress, const char *once)
{
    list_each(at, &egress->connections) {
        struct target *target = &link_owner(at, struct connection, link)->target;

        if (!target->waits)
            continue;
        target->once |= once && !strcmp(target->wanted, once);
        target_again(target);
    }
}

void connection_refuse_held(struct egress *egress)
{
    list_each(at, &egress->connections) {
        struct target *target = &link_owner(at, struct connection, link)->target;

        if (target->waits)
            target_give_up(target);
    }
}

static bool is_sending(const struct connection *c)
{
    return !c->target.waits && (c->state != RELAYING || !c->out.done);
}

bool connection_all_sent(const struct egress *egress)
{
    list_each(at, &egress->connections)
        if (is_sending(link_owner(at, struct connection, link)))
            return false;
    return true;
}

void connection_give_up(struct egress *egress)
{
    list_each(at, &egress->connections)
        if (is_sending(link_owner(at, struct connection, link)))
            connection_reset(link_owner(at, struct connection, link));
}

/* The address that the program asked for. */
static bool asked_for(const struct listener *listener, int fd, struct endpoint *ret)
{
    struct sockaddr_storage name;
    socklen_t size = sizeof(name);

    if (getsockname(fd, (struct sockaddr *)&name, &size) < 0 ||
        !address_from_socket((struct sockaddr *)&name, &ret->address, &ret->port))
        return false;
    if (listener->egress->way != WAY_REDIRECT || listener->kind != SOCKET_TCP)
        return true;
    size = sizeof(name);
    if (getsockopt(fd, address_is_v4(&ret->address) ? IPPROTO_IP : IPPROTO_IPV6, ORIGINAL_DST,
                   &name, &size) < 0)
        return false;
    return address_from_socket((struct sockaddr *)&name, &ret->address, &ret->port);
}

static void connection_start(const struct listener *listener, int fd, const struct endpoint *asked)
{
    struct egress *egress = listener->egress;
    struct connection *c = calloc(1, sizeof(*c));

    if (!c) {
        close(fd);
        return;
    }
    c->egress = egress;
    c->inside = (struct loop_watch){ .fd = fd, .context = c };
    c->outside = (struct loop_watch){ .fd = -1, .context = c };
    c->out.pipe[0] = c->out.pipe[1] = c->in.pipe[0] = c->in.pipe[1] = -1;
    c->target = (struct target){ .egress = egress,
                                 .asked = *asked,
                                 .host_loopback = listener->kind == SOCKET_FORWARD,
                                 .is_stream = true,
                                 .found = found,
                                 .context = c };
    list_prepend(&egress->connections, &c->link);
    egress->n_open++;
    target_find(&c->target);
}

static void start(const struct listener *listener, int fd)
{
    struct endpoint asked;

    if (!asked_for(listener, fd, &asked))
        close(fd);
    else if (listener->kind == SOCKET_TCP && dns_stream_is_for(&asked))
        dns_stream_start(listener->egress, fd);
    else
        connection_start(listener, fd, &asked);
}

static bool is_shortage(void)
{
    return errno == EMFILE || errno == ENFILE || errno == ENOMEM || errno == ENOBUFS;
}

void connection_accept(void *context, uint32_t events)
{
    const struct listener *listener = context;
    struct egress *egress = listener->egress;

    (void)events;
    for (int i = 0; i < ACCEPT_BATCH && egress->n_open < EGRESS_MAX_OPEN; i++) {
        int fd = fd_accept(listener->watch.fd, SOCK_NONBLOCK);

        egress->starved = fd < 0 && is_shortage();
        if (fd < 0)
            break;
        start(listener, fd);
    }
    listeners_rest(egress);
}
