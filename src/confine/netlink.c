#include "confine/netlink.h"

#include <errno.h>
#include <linux/netlink.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* Reads one acknowledgement per message; the first refusal counts.  The kernel answers once, under
 * its own number, for a batch that it refuses as a whole. */
static int take_answers(int fd, unsigned int last)
{
    char answers[8192] __attribute__((aligned(NLMSG_ALIGNTO)));

    for (;;) {
        ssize_t n = recv(fd, answers, sizeof(answers), 0);
        const char *at = answers;

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return -1;
        while (n >= (ssize_t)(NLMSG_HDRLEN + sizeof(int))) {
            struct nlmsghdr header;
            int error;

            memcpy(&header, at, sizeof(header));
            memcpy(&error, at + NLMSG_HDRLEN, sizeof(error));
            if (header.nlmsg_type == NLMSG_ERROR && error) {
                errno = -error;
                return -1;
            }
            if (header.nlmsg_seq == last)
                return 0;
            at += NLMSG_ALIGN(header.nlmsg_len);
            n -= (ssize_t)NLMSG_ALIGN(header.nlmsg_len);
        }
    }
}

int netlink_send(enum netlink_script script)
{
    const struct netlink_messages *messages = &netlink_scripts[script];
    scoped_fd int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, messages->family);
    struct sockaddr_nl kernel = { .nl_family = AF_NETLINK };

    if (fd < 0 || sendto(fd, messages->data, messages->len, 0, (struct sockaddr *)&kernel,
                         sizeof(kernel)) != (ssize_t)messages->len)
        return -1;
    return take_answers(fd, messages->last);
}
