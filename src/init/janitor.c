/* Theory.  The supervisor keeps one end of a socket pair; the janitor reads the other.  When the
 * supervisor ends by whatever means, the janitor reads end-of-file, ends init (which the kernel
 * turns into the end of everything inside), waits until it is dead, and removes the leaves.  After
 * a normal run the leaves are gone already and it has nothing to do.
 *
 * It also sweeps: leaves of supervisors that are dead together with their janitors. */
#include "init/janitor.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/scope.h"
#include "sandbox/cgroup.h"
#include "sandbox/protocol.h"

/* Reads until the supervisor is gone; returns the pidfd of init when one was sent, or -1. */
static int await_end(void)
{
    int init = -1;

    for (;;) {
        char byte;
        int fds[FD_MAX_PASSED];
        size_t n_fds;
        ssize_t n = fd_receive(JANITOR_SOCKET, &byte, 1, fds, &n_fds);

        if (n <= 0)
            return init;
        if (n_fds)
            init = fds[0];
    }
}

static void end_init(int pidfd)
{
    struct pollfd death = { .fd = pidfd, .events = POLLIN };

    if (pidfd < 0)
        return;
    syscall(SYS_pidfd_send_signal, pidfd, SIGKILL, NULL, 0);
    while (poll(&death, 1, -1) < 0 && errno == EINTR)
        continue;
}

/* EBUSY while the last processes are on their way out; ten seconds are far more than that takes. */
static void remove_leaf(int parent_fd, const char *name)
{
    for (int attempt = 0; attempt < 10000; attempt++) {
        if (unlinkat(parent_fd, name, AT_REMOVEDIR) == 0 || errno != EBUSY)
            return;
        poll(NULL, 0, 1);
    }
}

/* Removes empty leaves whose supervisor, named by its pid, is no more. */
static void sweep(int parent_fd)
{
    int copy = fcntl(parent_fd, F_DUPFD_CLOEXEC, 0);
    scoped_dir DIR *dir = copy >= 0 ? fdopendir(copy) : NULL;
    const struct dirent *entry;

    while (dir && (entry = readdir(dir))) {
        long pid;

        if (strncmp(entry->d_name, CGROUP_PREFIX, strlen(CGROUP_PREFIX)) != 0)
            continue;
        pid = strtol(entry->d_name + strlen(CGROUP_PREFIX), NULL, 10);
        if (pid > 0 && kill((pid_t)pid, 0) < 0 && errno == ESRCH)
            unlinkat(parent_fd, entry->d_name, AT_REMOVEDIR);
    }
}

int janitor_main(const char *leaf_name)
{
    int parents_end = JANITOR_PARENTS, init;

    setsid(); /* a Ctrl-C or a hang-up for the supervisor's group is not for us */
    while (fcntl(parents_end, F_GETFD) >= 0)
        parents_end++;
    for (int fd = JANITOR_PARENTS; fd < parents_end; fd++)
        sweep(fd);
    init = await_end();
    end_init(init);
    for (int fd = JANITOR_PARENTS; fd < parents_end; fd++)
        remove_leaf(fd, leaf_name);
    return 0;
}
