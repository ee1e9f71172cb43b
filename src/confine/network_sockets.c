/* Sockets of the sandbox's network namespace that sandbox-run-egress and sandbox-run-publish use:
 * init makes them while it still may, sends them over a link, and closes its own before the program
 * exists. */
#include "confine/netlink.h"

#include <errno.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/fd.h"
#include "wire/publishing.h"

#ifndef IPV6_TRANSPARENT
#define IPV6_TRANSPARENT 75
#endif
#ifndef IPV6_RECVORIGDSTADDR
#define IPV6_RECVORIGDSTADDR 74
#endif
#define BACKLOG 1024

_Static_assert(EGRESS_MESSAGE_FDS <= FD_MAX_PASSED && PUBLISH_MESSAGE_FDS <= FD_MAX_PASSED,
               "a message carries what it may name");

static int set_one(int fd, int level, int option)
{
    static const int one = 1;

    return setsockopt(fd, level, option, &one, sizeof(one));
}

/* The mark makes the rules let its answers through. */
static int open_marked(int family, int type, int protocol)
{
    static const unsigned int mark = EGRESS_MARK;
    int fd = socket(family, type | SOCK_CLOEXEC | SOCK_NONBLOCK, protocol);

    if (fd >= 0 && setsockopt(fd, SOL_SOCKET, SO_MARK, &mark, sizeof(mark)) < 0) {
        close(fd);
        return -1;
    }
    return fd;
}

/* The socket receives packets for other addresses and may answer from those addresses. */
static int make_transparent(int fd, int family, bool datagrams)
{
    if (family == AF_INET)
        return set_one(fd, IPPROTO_IP, IP_TRANSPARENT) < 0 ||
                       (datagrams && set_one(fd, IPPROTO_IP, IP_RECVORIGDSTADDR) < 0)
                   ? -1
                   : 0;
    return set_one(fd, IPPROTO_IPV6, IPV6_V6ONLY) < 0 ||
                   set_one(fd, IPPROTO_IPV6, IPV6_TRANSPARENT) < 0 ||
                   (datagrams && set_one(fd, IPPROTO_IPV6, IPV6_RECVORIGDSTADDR) < 0)
               ? -1
               : 0;
}

static int bind_to(int fd, int family, bool loopback, uint16_t port)
{
    struct sockaddr_in v4 = { .sin_family = AF_INET,
                              .sin_port = htons(port),
                              .sin_addr.s_addr = htonl(loopback ? INADDR_LOOPBACK : INADDR_ANY) };
    struct sockaddr_in6 v6 = { .sin6_family = AF_INET6,
                               .sin6_port = htons(port),
                               .sin6_addr = loopback ? in6addr_loopback : in6addr_any };

    return family == AF_INET ? bind(fd, (struct sockaddr *)&v4, sizeof(v4))
                             : bind(fd, (struct sockaddr *)&v6, sizeof(v6));
}

/* Datagrams of all listeners together that may wait for egress: a burst of some thousand small
 * ones, while egress waits for a CPU.  The kernel gives twice as much, for its own use, and never
 * more than its net.core.rmem_max. */
#define DATAGRAM_BYTES (2 << 20)
#define DATAGRAM_PRESET (104 << 10) /* half of the kernel's default */

struct batch {
    int link_fd;
    int datagram_bytes; /* for each listener */
    struct egress_message message;
    int fds[EGRESS_MESSAGE_FDS];
};

static int flush(struct batch *batch, bool last)
{
    int r;

    batch->message.last = last;
    r = fd_send(batch->link_fd, &batch->message, sizeof(batch->message), batch->fds,
                batch->message.n);
    while (batch->message.n > 0)
        close(batch->fds[--batch->message.n]);
    return r;
}

/* Takes over the file descriptor. */
static int add(struct batch *batch, enum egress_socket kind, int fd)
{
    if (batch->message.n == EGRESS_MESSAGE_FDS && flush(batch, false) < 0) {
        close(fd);
        return -1;
    }
    batch->message.kinds[batch->message.n] = kind;
    batch->fds[batch->message.n++] = fd;
    return 0;
}

static int add_bound(struct batch *batch, enum egress_socket kind, int family, uint16_t port)
{
    bool datagrams = kind == SOCKET_UDP, loopback = kind == SOCKET_FORWARD;
    int fd = open_marked(family, datagrams ? SOCK_DGRAM : SOCK_STREAM, 0);

    if (fd < 0)
        return -1;
    if (datagrams && batch->datagram_bytes > DATAGRAM_PRESET) /* with less, bursts lose more */
        (void)setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &batch->datagram_bytes, sizeof(int));
    /* With a listener per port, a forwarded loopback port has a second one on its own address. */
    if ((!datagrams && set_one(fd, SOL_SOCKET, SO_REUSEPORT) < 0) ||
        make_transparent(fd, family, datagrams) < 0 || bind_to(fd, family, loopback, port) < 0 ||
        (!datagrams && listen(fd, BACKLOG) < 0)) {
        int saved = errno;

        close(fd);
        errno = saved;
        return -1;
    }
    return add(batch, kind, fd);
}

static int add_both(struct batch *batch, enum egress_socket kind, uint16_t port, bool v6)
{
    if (add_bound(batch, kind, AF_INET, port) < 0)
        return -1;
    return v6 ? add_bound(batch, kind, AF_INET6, port) : 0;
}

static int add_raw(struct batch *batch, int family)
{
    int fd = open_marked(family, SOCK_RAW, IPPROTO_RAW);

    return fd < 0 ? -1 : add(batch, family == AF_INET ? SOCKET_RAW4 : SOCKET_RAW6, fd);
}

/* Where netfilter redirects nothing, each port needs listeners of its own; port 53
 * belongs to the resolver. */
static int add_ports(struct batch *batch, const struct network_sockets *wanted)
{
    for (size_t i = 0; i < wanted->plan->n_ports; i++) {
        uint16_t port = wanted->plan->ports[i];

        if ((wanted->way == WAY_PORTS && add_both(batch, SOCKET_TCP, port, wanted->v6) < 0) ||
            add_both(batch, SOCKET_UDP, port, wanted->v6) < 0)
            return -1;
    }
    return 0;
}

static int add_all(struct batch *batch, const struct network_sockets *wanted)
{
    const struct plan *plan = wanted->plan;

    if (wanted->way != WAY_PORTS && add_both(batch, SOCKET_TCP, EGRESS_PORT, wanted->v6) < 0)
        return -1;
    if (wanted->way == WAY_TPROXY && add_both(batch, SOCKET_UDP, EGRESS_PORT, wanted->v6) < 0)
        return -1;
    if (wanted->way != WAY_TPROXY && add_ports(batch, wanted) < 0)
        return -1;
    for (size_t i = 0; i < plan->n_forward_ports; i++)
        if (add_both(batch, SOCKET_FORWARD, plan->forward_ports[i], wanted->v6) < 0)
            return -1;
    return add_raw(batch, AF_INET) < 0 || (wanted->v6 && add_raw(batch, AF_INET6) < 0) ? -1 : 0;
}

int network_send_sockets(int link_fd, const struct network_sockets *wanted)
{
    size_t listeners = wanted->way == WAY_TPROXY ? 1 : wanted->plan->n_ports + 1;
    struct batch batch = { .link_fd = link_fd,
                           .message.way = wanted->way,
                           .datagram_bytes = (int)(DATAGRAM_BYTES / listeners) };

    if (add_all(&batch, wanted) == 0)
        return flush(&batch, true);
    while (batch.message.n > 0)
        close(batch.fds[--batch.message.n]);
    return -1;
}

static int send_unconnected(int link_fd, int family, unsigned int wanted, bool last)
{
    struct publish_message message = { .v6 = family == AF_INET6 };
    int fds[PUBLISH_MESSAGE_FDS], r = 0;

    for (unsigned int left = wanted; r == 0 && left > 0; left -= message.n) {
        unsigned int n = left < PUBLISH_MESSAGE_FDS ? left : PUBLISH_MESSAGE_FDS;

        for (message.n = 0; message.n < n; message.n++) {
            fds[message.n] = open_marked(family, SOCK_STREAM, 0);
            if (fds[message.n] < 0)
                break;
        }
        message.last = last && left == n;
        r = message.n < n ? -1 : fd_send(link_fd, &message, sizeof(message), fds, message.n);
        for (unsigned int i = 0; i < message.n; i++)
            close(fds[i]);
    }
    return r;
}

int network_send_unconnected(int link_fd)
{
    int probe = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);
    bool v6 = probe >= 0; /* a machine may have no IPv6 */

    if (v6)
        close(probe);
    if (send_unconnected(link_fd, AF_INET, PUBLISH_SOCKETS4, !v6) < 0)
        return -1;
    return v6 ? send_unconnected(link_fd, AF_INET6, PUBLISH_SOCKETS6, true) : 0;
}
