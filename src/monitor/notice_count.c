/* What no control group is charged for is bounded by its number.
 *
 * The arguments that decide are in registers, so the kernel goes on with what was looked at here. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>

#include "base/fd.h"
#include "monitor/notices.h"

/* Netlink sockets at a time, each with a queue of answers that nobody reads (net.core.rmem_default).  Programs have one
 * or two.  Those who were let go on and have not got theirs yet when the sockets are counted come on top: as many as
 * there are threads. */
#define NETLINKS_MOST 16

/* Filters in the life of a run, each of 4096 instructions at most, in the memory that all programs of the host compile
 * theirs into.  They are not counted as they go: nobody says when. */
#define FILTERS_MOST 128

static const struct notice_answer go_on = { .go_on = true }, too_many = { .error = ENOMEM };

/* How many netlink sockets there are in the network namespace of a process; negative when nobody says.  A line is
 * "NAME SIZE SOCKETS ...". */
static int netlinks_alive(pid_t pid)
{
    char path[48], text[8192];
    const char *line;

    snprintf(path, sizeof(path), "/proc/%d/net/protocols", (int)pid);
    if (fd_read_small(AT_FDCWD, path, text, sizeof(text)) <= 0)
        return -1;
    line = strstr(text, "\nNETLINK ");
    if (!line)
        return -1;
    line += strlen("\nNETLINK ");
    strtol(line, (char **)&line, 10);
    return (int)strtol(line, NULL, 10);
}

static struct notice_answer count_netlink(struct notices *n)
{
    if (n->netlinks >= NETLINKS_MOST) {
        int alive = netlinks_alive(n->init);

        n->netlinks = alive < 0 ? NETLINKS_MOST : (unsigned int)alive;
    }
    if (n->netlinks >= NETLINKS_MOST)
        return too_many;
    n->netlinks++;
    return go_on;
}

static struct notice_answer count_filter(struct notices *n)
{
    if (n->filters >= FILTERS_MOST)
        return too_many;
    n->filters++;
    return go_on;
}

struct notice_answer notice_count(struct notices *n, const struct seccomp_notif *notif)
{
    switch (notif->data.nr) {
    case SYS_socket:
        return count_netlink(n);
    case SYS_seccomp:
    case SYS_prctl:
        return count_filter(n);
    default:
        return too_many;
    }
}
