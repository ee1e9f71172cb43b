#include "egress/egress_internal.h"

#include <errno.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <string.h>
#include <sys/socket.h>

/* A route without a router that is wider than this is a line to a peer that routes further (a
 * tunnel, a modem): the hosts behind it are no neighbours.  Of 128 bits, as IPv4 is stored. */
#define LEAST_LINK4 (96 + 8)
#define LEAST_LINK6 16

int own_open(int *ret_fd, sbr_error *err)
{
    int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);

    if (fd < 0)
        return err_set_errno(err, "egress", "cannot ask for routes");
    *ret_fd = fd;
    return 0;
}

struct question {
    struct nlmsghdr head;
    struct rtmsg route;
    struct rtattr attribute;
    uint8_t address[16];
};

static bool ask(int fd, const struct address *address, unsigned int flags, uint32_t number)
{
    bool v4 = address_is_v4(address);
    size_t size = v4 ? 4 : 16;
    struct question question = {
        .head = { .nlmsg_type = RTM_GETROUTE, .nlmsg_flags = NLM_F_REQUEST, .nlmsg_seq = number },
        .route = { .rtm_family = v4 ? AF_INET : AF_INET6,
                   .rtm_dst_len = (uint8_t)(size * 8),
                   .rtm_flags = flags },
        .attribute = { .rta_type = RTA_DST, .rta_len = (uint16_t)RTA_LENGTH(size) },
    };

    question.head.nlmsg_len = (uint32_t)(NLMSG_LENGTH(sizeof(question.route)) + RTA_LENGTH(size));
    memcpy(question.address, address->bytes + 16 - size, size);
    return send(fd, &question, question.head.nlmsg_len, 0) == (ssize_t)question.head.nlmsg_len;
}

struct route {
    int error; /* of the lookup: nothing below is known */
    uint8_t type;
    uint8_t prefix; /* as the route's family counts */
    bool by_router;
};

static bool names_router(const struct nlmsghdr *head)
{
    const struct rtattr *one =
        (const struct rtattr *)((const char *)NLMSG_DATA(head) + NLMSG_ALIGN(sizeof(struct rtmsg)));
    size_t left = head->nlmsg_len - NLMSG_LENGTH(sizeof(struct rtmsg));

    while (left >= sizeof(*one) && one->rta_len >= sizeof(*one) && one->rta_len <= left) {
        size_t size = RTA_ALIGN(one->rta_len);

        if (one->rta_type == RTA_GATEWAY || one->rta_type == RTA_VIA)
            return true;
        if (size >= left)
            break;
        left -= size;
        one = (const struct rtattr *)((const char *)one + size);
    }
    return false;
}

/* The answer is there once the question has been sent.  Answers to earlier
 * questions are skipped. */
static bool read_answer(int fd, uint32_t number, struct route *ret)
{
    union {
        struct nlmsghdr head;
        char bytes[4096];
    } answer;
    const struct nlmsgerr *error = NLMSG_DATA(&answer.head);
    const struct rtmsg *route = NLMSG_DATA(&answer.head);
    ssize_t n;

    do {
        n = recv(fd, &answer, sizeof(answer), MSG_DONTWAIT);
        if (n < (ssize_t)NLMSG_LENGTH(sizeof(*route)) || answer.head.nlmsg_len > (size_t)n ||
            answer.head.nlmsg_len < NLMSG_LENGTH(sizeof(*route)))
            return false;
    } while (answer.head.nlmsg_seq != number);
    *ret = (struct route){ .error = 0 };
    if (answer.head.nlmsg_type == RTM_NEWROUTE)
        *ret = (struct route){ .type = route->rtm_type,
                               .prefix = route->rtm_dst_len,
                               .by_router = names_router(&answer.head) };
    else if (answer.head.nlmsg_type == NLMSG_ERROR && n >= (ssize_t)NLMSG_LENGTH(sizeof(*error)))
        ret->error = -error->error;
    else
        return false;
    return true;
}

static bool find_route(int fd, const struct address *address, unsigned int flags, struct route *ret)
{
    static uint32_t number;

    number++;
    return ask(fd, address, flags, number) && read_answer(fd, number, ret);
}

/* The prefix of the route that holds the address without a router; 0: it is no network of ours. */
static uint8_t link_prefix(int fd, const struct address *address)
{
    bool v4 = address_is_v4(address);
    struct route route;
    unsigned int prefix;

    if (!find_route(fd, address, RTM_F_FIB_MATCH, &route) || route.error)
        return 128; /* closed to all but a rule for exactly this address */
    prefix = route.prefix + (v4 ? 96u : 0u);
    return (uint8_t)(prefix >= (v4 ? LEAST_LINK4 : LEAST_LINK6) ? prefix : 0);
}

static void look(int fd, const struct address *address, bool *ret_own, uint8_t *ret_link)
{
    struct route route;
    bool known = find_route(fd, address, 0, &route);

    if (known && route.error) /* an unreachable address is not this host's */
        *ret_own |= route.error != ENETUNREACH && route.error != EHOSTUNREACH;
    else if (!known || route.type != RTN_UNICAST)
        *ret_own = true;
    else if (!route.by_router)
        *ret_link = link_prefix(fd, address);
}

/* An address that wraps one of this host's leads back here. */
struct whereabouts own_find(int fd, const struct address *address)
{
    struct whereabouts ret = { 0 };
    struct address inner;

    look(fd, address, &ret.own, &ret.link[0]);
    if (address_inner(address, &inner) != ADDRESS_PLAIN)
        look(fd, &inner, &ret.own, &ret.link[1]);
    return ret;
}
