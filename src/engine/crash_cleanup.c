/* The engine may be killed like any process.  The kernel then ends its factories (their control
 * sockets close) and with them all sandboxes, but leaves cgroups and the socket's name.  A small
 * process waits for the engine's end, which closes the last write end of a pipe, and removes both.
 *
 * Unlike the janitor of a single run it is forked only once, so it may cost a millisecond, and
 * shares nothing. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "engine/engine_internal.h"

#define NAME "sandbox-cleanup"
#define ATTEMPTS 2000
#define MOMENT_NS 5000000

struct left {
    char prefix[40]; /* of the engine's cgroups */
    const struct cgroup_features *cgroup;
    char socket[128];
    struct stat identity; /* of the socket: another engine may have made one of the same name */
};

/* Returns how many are still busy. */
static unsigned int remove_groups(const char *parent, const char *prefix)
{
    scoped_dir DIR *dir = opendir(parent);
    const struct dirent *entry;
    unsigned int n = 0;

    while (dir && (entry = readdir(dir)))
        if (!strncmp(entry->d_name, prefix, strlen(prefix)) &&
            unlinkat(dirfd(dir), entry->d_name, AT_REMOVEDIR) < 0 && errno == EBUSY)
            n++;
    return n;
}

/* Dead processes need a moment to leave their cgroups. */
static void remove_all_groups(const struct left *left)
{
    const struct timespec moment = { .tv_nsec = MOMENT_NS };

    for (int attempt = 0; attempt < ATTEMPTS; attempt++) {
        unsigned int busy = 0;

        for (unsigned int i = 0; i < N_CG; i++)
            if (left->cgroup->parent[i][0])
                busy += remove_groups(left->cgroup->parent[i], left->prefix);
        if (!busy)
            return;
        nanosleep(&moment, NULL); /* nothing reports when a cgroup is empty */
    }
}

static void remove_socket(const struct left *left)
{
    struct stat now;

    if (lstat(left->socket, &now) == 0 && now.st_dev == left->identity.st_dev &&
        now.st_ino == left->identity.st_ino)
        (void)unlink(left->socket);
}

/* Keeps nothing of the engine's: others would wait for fds that only this process holds. */
static void close_others(int fd)
{
    if (fd > 0)
        syscall(SYS_close_range, 0, fd - 1, 0);
    syscall(SYS_close_range, fd + 1, ~0U, 0);
}

static void watch_over(const struct left *left, int fd)
{
    sigset_t all;
    char word;
    ssize_t n;

    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, NULL);
    (void)setsid();
    (void)prctl(PR_SET_NAME, NAME, 0, 0, 0);
    close_others(fd);
    do
        n = read(fd, &word, sizeof(word));
    while (n < 0 && errno == EINTR);
    if (n == 0) { /* no byte: the engine was killed */
        remove_socket(left);
        remove_all_groups(left);
    }
}

int crash_cleanup_start(struct engine *engine, const char *socket, sbr_error *err)
{
    struct left left = { .cgroup = &engine->runtime.features.cgroup };
    int ends[2];

    snprintf(left.prefix, sizeof(left.prefix), CGROUP_PREFIX "%d.", (int)getpid());
    snprintf(left.socket, sizeof(left.socket), "%s", socket);
    if (lstat(socket, &left.identity) < 0 || pipe2(ends, O_CLOEXEC) < 0)
        return err_set_errno(err, "engine", "cannot start the crash cleanup");
    engine->crash_cleanup = fork();
    if (engine->crash_cleanup == 0) {
        watch_over(&left, ends[0]);
        _exit(0); /* lint-ok: _exit: a process of its own */
    }
    close(ends[0]);
    if (engine->crash_cleanup < 0) {
        close(ends[1]);
        return err_set_errno(err, "engine", "cannot start the crash cleanup");
    }
    engine->crash_cleanup_fd = ends[1];
    return 0;
}

void crash_cleanup_stop(struct engine *engine)
{
    ssize_t ignored;

    if (engine->crash_cleanup_fd < 0)
        return;
    ignored = write(engine->crash_cleanup_fd, "q", 1);
    (void)ignored;
    scope_close_fd(&engine->crash_cleanup_fd);
    engine->crash_cleanup_fd = -1;
    while (waitpid(engine->crash_cleanup, NULL, 0) < 0 && errno == EINTR)
        continue;
}
