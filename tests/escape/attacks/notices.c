/* What is refused and told: as much of it as one can ask for, and ways to be believed what is not
 * so. */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <netinet/in.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "attack.h"

static long refused_mounts(long n)
{
    long refused = 0;

    for (long i = 0; i < n; i++)
        refused += mount("none", "/", "tmpfs", 0, NULL) < 0 && errno == EPERM;
    return refused;
}

/* The same thing again and again. */
static int flood(int argc, char **argv)
{
    long n = number(argv[0]), refused = refused_mounts(n);

    (void)argc;
    return refused == n ? not_because("EPERM %ld", refused) : got("%ld of %ld", refused, n);
}

/* Always another thing. */
static int flood_of_kinds(int argc, char **argv)
{
    long n = number(argv[0]), refused = 0;

    (void)argc;
    for (long i = 0; i < n; i++)
        refused += personality(0x1000000UL + (unsigned long)i) < 0 && errno == EPERM;
    return refused == n ? not_because("EPERM %ld", refused) : got("%ld of %ld", refused, n);
}

/* Many at once, each dying at a moment of its own. */
static int crowd(int argc, char **argv)
{
    long n = number(argv[0]), ended = 0;

    (void)argc;
    for (long i = 0; i < n; i++) {
        pid_t pid = fork();

        if (pid < 0)
            return got("no process left");
        if (pid == 0) {
            alarm(1);
            (void)refused_mounts(i % 7 == 0 ? 1000000 : 200);
            _exit(0);
        }
    }
    while (wait(NULL) > 0)
        ended++;
    return ended == n ? not_because("EPERM %ld", ended) : got("%ld of %ld ended", ended, n);
}

/* An address that is a local one when it is looked at, and the internet's when it is used. */
static union {
    struct sockaddr any;
    struct sockaddr_in in;
    struct sockaddr_un local;
    _Atomic sa_family_t family;
} changing;
static atomic_bool over;

static void *change(void *context)
{
    (void)context;
    while (!over) {
        changing.family = AF_UNIX;
        sched_yield();
        changing.family = AF_INET;
    }
    return NULL;
}

static int race(int argc, char **argv)
{
    long tries = number(argv[1]), unreachable = 0, other = 0;
    pthread_t thread;

    (void)argc;
    changing.in.sin_port = htons((uint16_t)number(argv[0]));
    changing.in.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    changing.family = AF_UNIX;
    if (pthread_create(&thread, NULL, change, NULL) != 0)
        return not_because("EAGAIN no thread");
    for (long i = 0; i < tries; i++) {
        int fd = socket(AF_INET, SOCK_STREAM, 0);

        if (fd < 0 || connect(fd, &changing.any, sizeof(changing.in)) == 0)
            return got("a socket, connected");
        unreachable += errno == ENETUNREACH;
        other += errno != ENETUNREACH;
        close(fd);
    }
    over = true;
    pthread_join(thread, NULL);
    return not_because("ENETUNREACH %ld, otherwise %ld", unreachable, other);
}

/* Says so, then asks without end. */
static int ask_forever(int argc, char **argv)
{
    (void)argc;
    (void)argv;
    printf("asking\n");
    fflush(stdout);
    while (refused_mounts(1000) == 1000)
        continue;
    return got("another answer");
}

/* The listener of the filter that we live under: from whoever might hold it, or one of our own. */
static int take_listener(int argc, char **argv)
{
    static struct sock_filter allow = BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_USER_NOTIF);
    struct sock_fprog program = { 1, &allow };
    int first = (int)syscall(SYS_pidfd_open, 1, 0);

    (void)argc;
    (void)argv;
    for (int fd = 0; fd < 64; fd++) {
        __u64 id = 0;

        if (first >= 0 && syscall(SYS_pidfd_getfd, first, fd, 0) >= 0)
            return got("descriptor %d of init", fd);
        /* EBADF and ENOTTY are from others; ENOENT is a listener's answer. */
        if (syscall(SYS_ioctl, fd, SECCOMP_IOCTL_NOTIF_ID_VALID, &id) == 0 || errno == ENOENT)
            return got("a listener as descriptor %d", fd);
    }
    return outcome(syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER,
                           &program),
                   "a listener of one's own");
}

/* Runs the rest of the words under a filter that has a listener already: there is room for one
 * only. */
static int under_listener(int argc, char **argv)
{
    static struct sock_filter allow = BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    struct sock_fprog program = { 1, &allow };
    int fd;

    (void)argc;
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
        return not("no-new-privs");
    fd = (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER,
                      &program);
    if (fd < 0 || fcntl(fd, F_SETFD, 0) < 0)
        return not("listener");
    execvp(argv[0], argv);
    return not("execvp");
}

const struct attack notice_attacks[] = {
    { "refused-flood", flood, 1 },           { "refused-kinds", flood_of_kinds, 1 },
    { "refused-crowd", crowd, 1 },           { "address-race", race, 2 },
    { "ask-forever", ask_forever, 0 },       { "take-listener", take_listener, 0 },
    { "under-listener", under_listener, 1 }, { NULL, NULL, 0 },
};
