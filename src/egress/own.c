#include "egress/own.h"

#include <errno.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <string.h>
#include <sys/socket.h>

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

static bool ask(int fd, const struct address *address, uint32_t number)
{
    bool v4 = address_is_v4(address);
    size_t size = v4 ? 4 : 16;
    struct question question = {
        .head = { .nlmsg_type = RTM_GETROUTE, .nlmsg_flags = NLM_F_REQUEST, .nlmsg_seq = number },
        .route = { .rtm_family = v4 ? AF_INET : AF_INET6, .rtm_dst_len = (uint8_t)(size * 8) },
        .attribute = { .rta_type = RTA_DST, .rta_len = (uint16_t)RTA_LENGTH(size) },
    };

    question.head.nlmsg_len = (uint32_t)(NLMSG_LENGTH(sizeof(question.route)) + RTA_LENGTH(size));
    memcpy(question.address, address->bytes + 16 - size, size);
    return send(fd, &question, question.head.nlmsg_len, 0) == (ssize_t)question.head.nlmsg_len;
}

/* An answer is there when the question has been sent.  One that belongs to an earlier question is passed over. */
static bool read_answer(int fd, uint32_t number, struct rtmsg *ret_route, int *ret_error)
{
    union {
        struct nlmsghdr head;
        char bytes[4096];
    } answer;
    const struct nlmsgerr *error = NLMSG_DATA(&answer.head);
    ssize_t n;

    do {
        n = recv(fd, &answer, sizeof(answer), MSG_DONTWAIT);
        if (n < (ssize_t)NLMSG_LENGTH(sizeof(*ret_route)))
            return false;
    } while (answer.head.nlmsg_seq != number);
    *ret_error = 0;
    if (answer.head.nlmsg_type == RTM_NEWROUTE)
        memcpy(ret_route, NLMSG_DATA(&answer.head), sizeof(*ret_route));
    else if (answer.head.nlmsg_type == NLMSG_ERROR && n >= (ssize_t)NLMSG_LENGTH(sizeof(*error)))
        *ret_error = -error->error;
    else
        return false;
    return true;
}

static bool leads_here(int fd, const struct address *address)
{
    static uint32_t number;
    struct rtmsg route = { .rtm_type = RTN_LOCAL };
    int error = 0;

    number++;
    if (!ask(fd, address, number) || !read_answer(fd, number, &route, &error))
        return true;
    if (error)
        return error != ENETUNREACH && error != EHOSTUNREACH; /* no way there is no way here */
    return route.rtm_type != RTN_UNICAST;
}

/* An address that wraps one of ours comes back here in the end. */
bool own_is(int fd, const struct address *address)
{
    struct address inner;

    return leads_here(fd, address) ||
           (address_inner(address, &inner) != ADDRESS_PLAIN && leads_here(fd, &inner));
}
