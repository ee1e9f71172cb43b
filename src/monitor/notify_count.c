/* Bounds the number of objects whose memory no cgroup is charged for.
 *
 * The deciding arguments are in registers, so the kernel uses exactly what was checked here. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#include "base/fd.h"
#include "monitor/seccomp_notify.h"

/* Netlink sockets at a time, each with a queue of unread answers (net.core.rmem_default).  Programs
 * have one or two.  Calls that were allowed and have not made their socket yet when we count come
 * on top: at most one per thread. */
#define NETLINKS_MOST 16

/* Filters in the life of a run, of at most 4096 instructions each, in the kernel memory into which
 * all programs of the host compile filters.  Never counted down: nothing reports their end. */
#define FILTERS_MOST 128

/* The kernel's own name: the type without its flags. */
#define SOCK_TYPE_MASK 0xf

/* Internet sockets: least memory of a connection, and how many may be made between two counts. */
#define STREAM_BYTES (64u << 10)
#define SOCKETS_A_LOOK 32
#define SOCKETS_LEAST 256

static const struct notify_answer go_on = { .go_on = true }, too_many = { .error = ENOMEM };

/* Reads a file on the network namespace of a process: what follows `word`, or NULL. */
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

/* The number of netlink sockets; negative when unknown.  A line is "NAME SIZE SOCKETS ...". */
static int netlinks_alive(pid_t pid)
{
    char text[8192], *end;
    const char *at = find_in(pid, "protocols", "\nNETLINK ", text);

    if (!at)
        return -1;
    strtol(at, &end, 10);
    return (int)strtol(end, NULL, 10);
}

/* Sockets of all families, connected or not; negative when unknown. */
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

/* v2 charges the cgroup for all queued data, v1 for datagrams. */
static bool is_charged(const struct plan *plan, int type)
{
    return plan->cgroup_controllers & 1u << CG_MEMORY &&
           (plan->cgroup_kind == CGROUP_V2 || (type & SOCK_TYPE_MASK) == SOCK_DGRAM);
}

/* At most as many as fill the memory limit with the least memory of a connection. */
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
