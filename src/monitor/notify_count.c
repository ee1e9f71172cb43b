/* What no control group is charged for is bounded by its number.
 *
 * The arguments that decide are in registers, so the kernel goes on with what was looked at here. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#include "base/fd.h"
#include "monitor/seccomp_notify.h"

/* Netlink sockets at a time, each with a queue of answers that nobody reads (net.core.rmem_default).  Programs have one
 * or two.  Those who were let go on and have not got theirs yet when the sockets are counted come on top: as many as
 * there are threads. */
#define NETLINKS_MOST 16

/* Filters in the life of a run, each of 4096 instructions at most, in the memory that all programs of the host compile
 * theirs into.  They are not counted as they go: nobody says when. */
#define FILTERS_MOST 128

/* The kernel's own name for it: the type without its flags. */
#define SOCK_TYPE_MASK 0xf

/* Sockets of the internet: what a connection keeps at least, and how many may be made between two looks. */
#define STREAM_BYTES (64u << 10)
#define SOCKETS_A_LOOK 32
#define SOCKETS_LEAST 256

static const struct notify_answer go_on = { .go_on = true }, too_many = { .error = ENOMEM };

/* A file about the network namespace of a process: what follows a word, or NULL. */
static const char *find_in(pid_t pid, const char *file, const char *word, char text[8192])
{
    char path[48];
    const char *at;

    snprintf(path, sizeof(path), "/proc/%d/net/%s", (int)pid, file);
    if (fd_read_small(AT_FDCWD, path, text, 8192) <= 0)
        return NULL;
    at = strstr(text, word);
    return at ? at + strlen(word) : NULL;
}

/* How many netlink sockets there are; negative when nobody says.  A line is "NAME SIZE SOCKETS ...". */
static int netlinks_alive(pid_t pid)
{
    char text[8192], *end;
    const char *at = find_in(pid, "protocols", "\nNETLINK ", text);

    if (!at)
        return -1;
    strtol(at, &end, 10);
    return (int)strtol(end, NULL, 10);
}

/* Of all kinds, also those that are not connected yet; negative when nobody says. */
static long sockets_alive(pid_t pid)
{
    char text[8192];
    const char *at = find_in(pid, "sockstat", "sockets: used ", text);

    return at ? strtol(at, NULL, 10) : -1;
}

static struct notify_answer count_netlink(struct seccomp_notify *n)
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

/* The group of v2 is charged for what waits, that of v1 for datagrams. */
static bool is_charged(const struct plan *plan, int type)
{
    return plan->cgroup_controllers & 1u << CG_MEMORY &&
           (plan->cgroup_kind == CGROUP_V2 || (type & SOCK_TYPE_MASK) == SOCK_DGRAM);
}

/* As many as would fill the memory limit with what connections keep at least. */
static struct notify_answer count_internet(struct seccomp_notify *n, int type)
{
    uint64_t most = n->plan->limits.value[SBR_MEMORY_BYTES] / STREAM_BYTES;

    if (is_charged(n->plan, type))
        return go_on;
    if (n->sockets == 0) {
        long alive = sockets_alive(n->init);

        if (alive < 0 || (uint64_t)alive >= (most > SOCKETS_LEAST ? most : SOCKETS_LEAST))
            return too_many;
        n->sockets = SOCKETS_A_LOOK;
    }
    n->sockets--;
    return go_on;
}

static struct notify_answer count_filter(struct seccomp_notify *n)
{
    if (n->filters >= FILTERS_MOST)
        return too_many;
    n->filters++;
    return go_on;
}

struct notify_answer notify_count(struct seccomp_notify *n, const struct seccomp_notif *notif)
{
    switch (notif->data.nr) {
    case SYS_socket:
        return (int)notif->data.args[0] == AF_NETLINK ? count_netlink(n)
                                                      : count_internet(n, (int)notif->data.args[1]);
    case SYS_seccomp:
    case SYS_prctl:
        return count_filter(n);
    default:
        return too_many;
    }
}
