#include "sandbox/peer.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "plan/plan.h"

#ifndef SO_PEERPIDFD
#define SO_PEERPIDFD 77 /* Linux 6.5 */
#endif

#define PID_TEXT 24

/* The two namespaces that a program in a sandbox never shares with its caller. */
static const char *const compared[] = { "user", "pid" };

_Static_assert(ARRAY_LEN(compared) == ARRAY_LEN(((struct peer_home *)0)->namespaces),
               "room for each");

#ifdef SBR_TEST_HOOKS
static bool is_left_out(void)
{
    return plan_list_has(getenv("SANDBOX_RUN_TEST_WITHOUT"), "peer-namespace");
}
#else
static bool is_left_out(void)
{
    return false;
}
#endif

/* `who` is a name in /proc.  Reads the links only: following them would open the namespaces. */
static bool look(const char *who, struct peer_home *ret)
{
    for (size_t i = 0; i < ARRAY_LEN(compared); i++) {
        char path[64], *text = ret->namespaces[i];
        ssize_t n;

        snprintf(path, sizeof(path), "/proc/%s/ns/%s", who, compared[i]);
        n = readlink(path, text, PEER_NAMESPACE_SIZE - 1);
        if (n <= 0 || n == PEER_NAMESPACE_SIZE - 1)
            return false;
        text[n] = '\0';
    }
    return true;
}

/* In the /proc of another pid namespace our pids would name other processes. */
void peer_look_home(struct peer_home *ret)
{
    char own[PID_TEXT], *end;
    ssize_t n = readlink("/proc/self", own, sizeof(own) - 1);

    *ret = (struct peer_home){ 0 };
    if (n <= 0)
        return;
    own[n] = '\0';
    ret->known = strtol(own, &end, 10) == getpid() && !*end && look("self", ret);
}

static bool is_same(const struct peer_home *a, const struct peer_home *b)
{
    for (size_t i = 0; i < ARRAY_LEN(compared); i++)
        if (strcmp(a->namespaces[i], b->namespaces[i]) != 0)
            return false;
    return true;
}

/* A pidfd of the peer itself, safe against pid reuse.  Before Linux 6.5 the pid finds its current
 * owner: if the peer has ended and a process of ours has its pid, we cannot distinguish them.  That
 * is harmless, because the engine builds the same for every client (job/warm_check.h). */
int peer_open(int fd, pid_t pid)
{
    int pidfd = -1;
    socklen_t len = sizeof(pidfd);

    if (getsockopt(fd, SOL_SOCKET, SO_PEERPIDFD, &pidfd, &len) == 0)
        return pidfd;
    if (errno != ENOPROTOOPT)
        return -1;
    return (int)syscall(SYS_pidfd_open, pid, 0);
}

/* The pidfd proves that the pid still belonged to the peer when `look` read it. */
static bool lives_at(int fd, pid_t pid, const struct peer_home *home)
{
    scoped_fd int pidfd = peer_open(fd, pid);
    struct peer_home found = { 0 };
    char who[PID_TEXT];

    snprintf(who, sizeof(who), "%d", (int)pid);
    return pidfd >= 0 && look(who, &found) && is_same(&found, home) &&
           syscall(SYS_pidfd_send_signal, pidfd, 0, NULL, 0) == 0;
}

pid_t peer_pid(int fd)
{
    struct ucred peer = { 0 };
    socklen_t len = sizeof(peer);

    return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &len) == 0 ? peer.pid : 0;
}

/* A process of a pid namespace that is not below ours has pid 0 here. */
bool peer_is_neighbour(int fd, const struct peer_home *home, struct ucred *ret)
{
    struct ucred peer;
    socklen_t len = sizeof(peer);

    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &len) < 0 || len != sizeof(peer) ||
        peer.uid != geteuid())
        return false;
    if (!is_left_out() && (!home->known || peer.pid <= 0 || !lives_at(fd, peer.pid, home)))
        return false;
    if (ret)
        *ret = peer;
    return true;
}
