#include "egress/egress_internal.h"

#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "egress/asker.h"
#include "egress/dns_upstream.h"
#include "egress/target.h"

#ifndef IPV6_ORIGDSTADDR
#define IPV6_ORIGDSTADDR 74
#endif
#define IDLE_US 60000000
#define BATCH 64
#define MAX_PENDING 8
#define MAX_PENDING_BYTES (1 << 20) /* of all flows */
#define RESOLVER_PORT 53

struct pending {
    void *data;
    size_t len;
};

struct flow {
    struct egress *egress;
    struct link link;
    struct endpoint from; /* the program's socket */
    struct target target;
    struct loop_watch outside; /* no fd: the addresses are not known yet */
    uint64_t used_us;
    struct pending pending[MAX_PENDING];
    unsigned int n_pending;
};

/* A datagram, with space for headers in front of it. */
static uint8_t room[PACKET_HEADROOM + PACKET_MAX_PAYLOAD];
static uint8_t *const payload = room + PACKET_HEADROOM;

static void send_inside(const struct egress *egress, const struct endpoint *to, const void *packet,
                        size_t len)
{
    struct sockaddr_storage name;
    socklen_t size = address_to_socket(&to->address, 0, &name); /* the port is in the packet */

    sendto(address_is_v4(&to->address) ? egress->raw4_fd : egress->raw6_fd, packet, len,
           MSG_DONTWAIT, (struct sockaddr *)&name, size);
}

static void say_unreachable(const struct flow *flow, const void *data, size_t len)
{
    uint8_t packet[PACKET_UNREACHABLE_SIZE];
    size_t size = packet_unreachable(packet, &flow->from, &flow->target.asked, data, len);

    send_inside(flow->egress, &flow->from, packet, size);
}

static void drop_pending(struct flow *flow)
{
    for (unsigned int i = 0; i < flow->n_pending; i++) {
        flow->egress->pending_bytes -= flow->pending[i].len;
        free(flow->pending[i].data);
    }
    flow->n_pending = 0;
}

static void flow_free(struct flow *flow)
{
    target_forget(&flow->target);
    /* NOLINTNEXTLINE(clang-analyzer-unix.Malloc): a flow that was freed is in no list */
    loop_close(&flow->egress->events, &flow->outside);
    drop_pending(flow);
    link_remove(&flow->link);
    flow->egress->n_flows--;
    free(flow);
}

void flow_close_all(struct egress *egress)
{
    list_each(at, &egress->flows)
        flow_free(link_owner(at, struct flow, link));
}

/* False when the flow is gone: it exceeds the byte limit, which ended all flows. */
static bool count(struct flow *flow, enum direction direction, size_t len)
{
    char text[TARGET_TEXT];

    if (account_room(flow->egress, direction) >= len) {
        account_bytes(flow->egress, direction, len);
        return true;
    }
    say_unreachable(flow, "", 0);
    connection_limit_reached(flow->egress, direction, target_text(&flow->target, text));
    return false;
}

static bool send_outside(struct flow *flow, const void *data, size_t len)
{
    if (!count(flow, DIRECTION_OUT, len))
        return false;
    /* The first attempt may report the fate of an earlier datagram. */
    if (send(flow->outside.fd, data, len, MSG_DONTWAIT | MSG_NOSIGNAL) < 0 &&
        errno == ECONNREFUSED) {
        say_unreachable(flow, "", 0);
        send(flow->outside.fd, data, len, MSG_DONTWAIT | MSG_NOSIGNAL);
    }
    return true;
}

static void answered(void *context, uint32_t events)
{
    struct flow *flow = context;

    (void)events;
    flow->used_us = clock_now_us();
    for (int i = 0; i < BATCH; i++) {
        ssize_t n = recv(flow->outside.fd, payload, PACKET_MAX_PAYLOAD, MSG_DONTWAIT);
        uint8_t *packet;
        size_t len;

        if (n < 0 && errno == ECONNREFUSED)
            say_unreachable(flow, "", 0);
        if (n < 0)
            return;
        if (!count(flow, DIRECTION_IN, (size_t)n))
            return;
        packet = packet_wrap(payload, (size_t)n, &flow->target.asked, &flow->from, &len);
        if (packet)
            send_inside(flow->egress, &flow->from, packet, len);
    }
}

/* Uses the first address that connects: a datagram does not show whether a host answers. */
static bool open_outside(struct flow *flow)
{
    for (unsigned int i = 0; i < flow->target.n; i++) {
        struct sockaddr_storage to;
        socklen_t size =
            address_to_socket(&flow->target.addresses[i], flow->target.asked.port, &to);

        flow->outside.fd = socket(to.ss_family, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
        if (flow->outside.fd < 0)
            return false;
        if (connect(flow->outside.fd, (struct sockaddr *)&to, size) == 0 &&
            loop_add(&flow->egress->events, &flow->outside, EPOLLIN) == 0)
            return true;
        loop_close(&flow->egress->events, &flow->outside);
    }
    return false;
}

static void found(void *context)
{
    struct flow *flow = context;

    if (!open_outside(flow)) {
        for (unsigned int i = 0; i < flow->n_pending; i++)
            say_unreachable(flow, flow->pending[i].data, flow->pending[i].len);
        flow_free(flow);
        return;
    }
    for (unsigned int i = 0; i < flow->n_pending; i++)
        if (!send_outside(flow, flow->pending[i].data, flow->pending[i].len))
            return;
    drop_pending(flow);
}

/* A datagram that does not fit is lost, as datagrams may be. */
static void keep_pending(struct flow *flow, size_t len)
{
    struct pending *one = &flow->pending[flow->n_pending];

    if (flow->n_pending == MAX_PENDING || flow->egress->pending_bytes + len > MAX_PENDING_BYTES)
        return;
    one->data = malloc(len + 1);
    if (!one->data)
        return;
    memcpy(one->data, payload, len);
    one->len = len;
    flow->n_pending++;
    flow->egress->pending_bytes += len;
}

/* Never called for a freed flow: that was unlinked through `at`, which the
 * analyser does not follow. */
static bool is_of(const struct flow *flow, const struct endpoint *from,
                  const struct endpoint *asked)
{
    /* NOLINTNEXTLINE(clang-analyzer-unix.Malloc): as above */
    return flow->from.port == from->port && flow->target.asked.port == asked->port &&
           address_equal(&flow->target.asked.address, &asked->address) &&
           address_equal(&flow->from.address, &from->address);
}

static struct flow *flow_find(const struct egress *egress, const struct endpoint *from,
                              const struct endpoint *asked)
{
    list_each(at, &egress->flows)
        if (is_of(link_owner(at, struct flow, link), from, asked))
            return link_owner(at, struct flow, link);
    return NULL;
}

static void flow_start(struct egress *egress, const struct endpoint *from,
                       const struct endpoint *asked, size_t len)
{
    struct flow *flow;

    if (egress->n_flows == EGRESS_MAX_OPEN)
        flow_free(link_owner(egress->flows.prev, struct flow, link));
    flow = calloc(1, sizeof(*flow));
    if (!flow)
        return;
    flow->egress = egress;
    flow->from = *from;
    flow->target =
        (struct target){ .egress = egress, .asked = *asked, .found = found, .context = flow };
    flow->outside = (struct loop_watch){ .fd = -1, .callback = answered, .context = flow };
    flow->used_us = clock_now_us();
    list_prepend(&egress->flows, &flow->link);
    egress->n_flows++;
    keep_pending(flow, len);
    target_find(&flow->target);
}

static void query(struct egress *egress, const struct endpoint *from, size_t len)
{
    const struct dns_asker asker = asker_keep(0, from);

    dns_query(&egress->dns, &asker, payload, len);
}

void flow_answer(struct egress *egress, const struct endpoint *to, const uint8_t *message,
                 size_t len)
{
    uint8_t answer[PACKET_HEADROOM + DNS_MAX_MESSAGE];
    struct endpoint resolver = { .port = RESOLVER_PORT };
    uint8_t *packet;

    if (len > DNS_MAX_MESSAGE || !address_parse(EGRESS_RESOLVER4, &resolver.address))
        return;
    memcpy(answer + PACKET_HEADROOM, message, len);
    packet = packet_wrap(answer + PACKET_HEADROOM, len, &resolver, to, &len);
    if (packet)
        send_inside(egress, to, packet, len);
}

static void pass_on(struct egress *egress, const struct endpoint *from,
                    const struct endpoint *asked, size_t len)
{
    struct flow *flow;

    if (dns_stream_is_for(asked)) {
        query(egress, from, len);
        return;
    }
    flow = flow_find(egress, from, asked);
    if (!flow) {
        flow_start(egress, from, asked, len);
        return;
    }
    link_remove(&flow->link);
    list_prepend(&egress->flows, &flow->link);
    flow->used_us = clock_now_us();
    if (flow->outside.fd < 0)
        keep_pending(flow, len);
    else
        send_outside(flow, payload, len);
}

/* The address that the program asked for comes with the datagram. */
static bool original_target(struct msghdr *message, struct endpoint *ret)
{
    for (struct cmsghdr *c = CMSG_FIRSTHDR(message); c; c = CMSG_NXTHDR(message, c)) {
        struct sockaddr_storage name = { 0 };
        size_t len = c->cmsg_len - CMSG_LEN(0);

        if (!(c->cmsg_level == IPPROTO_IP && c->cmsg_type == IP_ORIGDSTADDR) &&
            !(c->cmsg_level == IPPROTO_IPV6 && c->cmsg_type == IPV6_ORIGDSTADDR))
            continue;
        memcpy(&name, CMSG_DATA(c), len < sizeof(name) ? len : sizeof(name));
        return address_from_socket((struct sockaddr *)&name, &ret->address, &ret->port);
    }
    return false;
}

static ssize_t receive(int fd, struct endpoint *ret_from, struct endpoint *ret_asked)
{
    union {
        struct cmsghdr align;
        char space[256];
    } control;
    struct sockaddr_storage name;
    struct iovec part = { .iov_base = payload, .iov_len = PACKET_MAX_PAYLOAD };
    struct msghdr message = { .msg_name = &name,
                              .msg_namelen = sizeof(name),
                              .msg_iov = &part,
                              .msg_iovlen = 1,
                              .msg_control = control.space,
                              .msg_controllen = sizeof(control.space) };
    ssize_t n = recvmsg(fd, &message, MSG_DONTWAIT);

    if (n >= 0 &&
        (!original_target(&message, ret_asked) ||
         !address_from_socket((struct sockaddr *)&name, &ret_from->address, &ret_from->port)))
        ret_asked->port = 0; /* no valid destination */
    return n;
}

void flow_receive(void *context, uint32_t events)
{
    const struct listener *listener = context;

    (void)events;
    for (int i = 0; i < BATCH; i++) {
        struct endpoint from, asked;
        ssize_t n = receive(listener->watch.fd, &from, &asked);

        if (n < 0)
            return;
        if (asked.port != 0)
            pass_on(listener->egress, &from, &asked, (size_t)n);
    }
}

void flow_tick(struct egress *egress, uint64_t now_us)
{
    list_each(at, &egress->flows) {
        struct flow *flow = link_owner(at, struct flow, link);

        if (now_us - flow->used_us > IDLE_US)
            flow_free(flow);
    }
}

bool flow_all_sent(const struct egress *egress)
{
    list_each(at, &egress->flows)
        if (link_owner(at, struct flow, link)->n_pending > 0)
            return false;
    return true;
}
