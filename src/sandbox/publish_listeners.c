#include "sandbox/publish_process.h"

#include <errno.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define BACKLOG 512
#define ATTEMPTS 16 /* to find a port that is free on both addresses */

union place {
    struct sockaddr any;
    struct sockaddr_in v4;
    struct sockaddr_in6 v6;
};

static socklen_t loopback(int family, uint16_t port, union place *ret)
{
    memset(ret, 0, sizeof(*ret));
    if (family == AF_INET) {
        ret->v4 = (struct sockaddr_in){ .sin_family = AF_INET,
                                        .sin_port = htons(port),
                                        .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
        return sizeof(ret->v4);
    }
    ret->v6 = (struct sockaddr_in6){ .sin6_family = AF_INET6,
                                     .sin6_port = htons(port),
                                     .sin6_addr = in6addr_loopback };
    return sizeof(ret->v6);
}

/* Port 0 becomes the one that the kernel chose.  The fd, or -1 with errno. */
static int listen_on(int family, uint16_t *port)
{
    static const int one = 1;
    scoped_fd int fd = socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    union place place;
    socklen_t size = loopback(family, *port, &place);

    /* A port whose connections have just ended is free. */
    if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one)) < 0 ||
        (family == AF_INET6 && setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &one, sizeof(one)) < 0) ||
        bind(fd, &place.any, size) < 0 || listen(fd, BACKLOG) < 0 ||
        getsockname(fd, &place.any, &size) < 0)
        return -1;
    *port = ntohs(family == AF_INET ? place.v4.sin_port : place.v6.sin6_port);
    return take_fd(fd);
}

/* A machine without IPv6 has no ::1. */
static bool lacks_address(void)
{
    return errno == EAFNOSUPPORT || errno == EADDRNOTAVAIL;
}

/* Both addresses have the same port.  Closes what it has opened when it fails. */
static int open_both(struct publish_rule *rule, int fds[2])
{
    uint16_t port = rule->port;

    fds[0] = fds[1] = -1;
    if (rule->v4 && (fds[0] = listen_on(AF_INET, &port)) < 0)
        return -1;
    if (rule->v6 && (fds[1] = listen_on(AF_INET6, &port)) < 0) {
        int saved = errno;

        if (rule->v4 && lacks_address()) {
            rule->v6 = false;
        } else {
            scope_close_fd(&fds[0]);
            errno = saved;
            return -1;
        }
    }
    rule->port = port;
    return 0;
}

static int refuse(const struct publish_rule *rule, sbr_error *err)
{
    char place[PUBLISH_TEXT_SIZE];

    publish_text(rule, place);
    if (errno == EADDRINUSE)
        return err_set(err, SBR_E_BUSY, "publish",
                       "another program listens on port %u of this machine already; publish "
                       "another port, or 0:%u for any that is free",
                       rule->port, rule->inside);
    if (errno == EACCES)
        return err_set(err, SBR_E_DENIED, "publish",
                       "port %u of this machine is for root only; publish one from 1024 on, such "
                       "as %u:%u",
                       rule->port, 8000u + rule->port % 1000, rule->inside);
    return err_set_errno(err, "publish", "cannot listen on %s", place);
}

static int open_rule(struct publish_rule *rule, int fds[2], sbr_error *err)
{
    for (unsigned int i = 0; i < ATTEMPTS; i++) {
        if (open_both(rule, fds) == 0)
            return 0;
        if (rule->port || errno != EADDRINUSE)
            break;
    }
    return refuse(rule, err);
}

int publish_listeners_open(struct publish_listeners *ret, const struct publish *wanted,
                           sbr_error *err)
{
    struct publish_listeners made = { .published = *wanted };

    for (uint32_t i = 0; i < wanted->n; i++) {
        int fds[2];

        if (open_rule(&made.published.rules[i], fds, err) < 0) {
            publish_listeners_close(&made);
            return err->code;
        }
        for (size_t k = 0; k < ARRAY_LEN(fds); k++) {
            if (fds[k] < 0)
                continue;
            made.items[made.n].fd = fds[k];
            made.items[made.n++].rule = i;
        }
    }
    *ret = made;
    return 0;
}

void publish_listeners_close(struct publish_listeners *listeners)
{
    while (listeners->n > 0)
        close(listeners->items[--listeners->n].fd);
}
