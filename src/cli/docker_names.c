#include "cli/docker_names.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/listing.h"
#include "base/lock_file.h"
#include "base/scope.h"
#include "changes/state_dir.h"

#define DIRECTORY "docker"
#define RECORD_MAX 400
#define STAT_FIELD 22 /* of /proc/PID/stat: when the process started, in ticks since the boot */

/* 0: there is no such process. */
static unsigned long long start_of(pid_t pid)
{
    char path[40], text[1024], *at;
    ssize_t n;

    snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
    n = fd_read_small(AT_FDCWD, path, text, sizeof(text) - 1);
    text[n > 0 ? n : 0] = '\0';
    at = strrchr(text, ')'); /* the end of the second field, which may hold anything */
    for (int field = 2; at && field < STAT_FIELD; field++)
        at = strchr(at + 1, ' ');
    return at ? strtoull(at, NULL, 10) : 0;
}

/* The lock is inherited by what this process executes, and ends with it. */
int docker_names_take(const char *name, const char *image, sbr_error *err)
{
    struct state_dir dir;
    char record[RECORD_MAX];
    int fd = -1, r, n;

    if (state_open(DIRECTORY, true, &dir, err) < 0)
        return err->code;
    r = lock_file_open(dir.fd, name, &fd);
    state_close(&dir);
    if (r == LOCK_FILE_BUSY)
        return err_set(err, SBR_E_BUSY, "docker",
                       "a run has the name '%s' already; `docker ps` lists them", name);
    n = snprintf(record, sizeof(record), "%d %llu %llu %.199s", (int)getpid(), start_of(getpid()),
                 (unsigned long long)(clock_read_us(CLOCK_REALTIME) / 1000000), image);
    if (r < 0 || ftruncate(fd, 0) < 0 || fd_write_all(fd, record, (size_t)n) < 0 ||
        fcntl(fd, F_SETFD, 0) < 0)
        return err_set_errno(err, "docker", "cannot note the name '%s'", name);
    return 0;
}

/* PID START STARTED IMAGE. */
static bool parse_record(char *text, struct docker_named *ret)
{
    char *image;
    long pid = strtol(text, &text, 10);

    ret->pid = (pid_t)pid;
    ret->start = strtoull(text, &text, 10);
    ret->started = strtoull(text, &image, 10);
    if (pid <= 0 || pid > INT_MAX || image == text || *image != ' ')
        return false;
    snprintf(ret->image, sizeof(ret->image), "%s", image + 1);
    return true;
}

/* True for a run that lives. */
static bool read_record(int dir_fd, const char *name, struct docker_named *ret)
{
    scoped_fd int fd = openat(dir_fd, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    char text[RECORD_MAX] = "";

    *ret = (struct docker_named){ .name = name };
    return fd >= 0 && lock_file_is_held(fd) && fd_read_full(fd, text, sizeof(text) - 1) > 0 &&
           parse_record(text, ret);
}

static void forget(int dir_fd, const char *name)
{
    int fd = -1;

    if (lock_file_open(dir_fd, name, &fd) != LOCK_FILE_HELD)
        return;
    (void)unlinkat(dir_fd, name, 0);
    close(fd);
}

int docker_names_list(void (*each)(void *context, const struct docker_named *one), void *context,
                      sbr_error *err)
{
    scoped_listing struct listing names = { 0 };
    struct state_dir dir;
    int r = state_open(DIRECTORY, false, &dir, err);

    if (r <= 0)
        return r;
    if (listing_read_at(dir.fd, ".", &names) < 0)
        r = state_fail("read", dir.path, err);
    for (size_t i = 0; r >= 0 && i < names.n; i++) {
        struct docker_named one;

        if (read_record(dir.fd, names.names[i], &one))
            each(context, &one);
        else
            forget(dir.fd, names.names[i]);
    }
    state_close(&dir);
    return r < 0 ? r : 0;
}

/* The process that took the name; -1: it is gone.  What it started may hold its lock for longer,
 * and its number may mean another process by now: that one started at another time.  The time is
 * read after the pidfd was opened, so it is that of the pidfd's process. */
static int open_process(const struct docker_named *one)
{
    scoped_fd int pidfd = (int)syscall(SYS_pidfd_open, one->pid, 0);

    return pidfd >= 0 && one->start && start_of(one->pid) == one->start ? take_fd(pidfd) : -1;
}

/* -1: no run that lives has the name. */
static int open_named(const char *name, sbr_error *err)
{
    struct docker_named one;
    struct state_dir dir;
    scoped_fd int pidfd = -1;
    int r = strchr(name, '/') ? 0 : state_open(DIRECTORY, false, &dir, err);

    if (r <= 0)
        return -1;
    if (read_record(dir.fd, name, &one))
        pidfd = open_process(&one);
    state_close(&dir);
    return take_fd(pidfd);
}

int docker_names_signal(const char *name, int number, unsigned int wait_ms, sbr_error *err)
{
    scoped_fd int pidfd = open_named(name, err);
    struct pollfd ended = { .fd = pidfd, .events = POLLIN };

    if (pidfd < 0 || syscall(SYS_pidfd_send_signal, pidfd, number, NULL, 0) < 0)
        return err_set(err, SBR_E_NOT_FOUND, "docker",
                       "no run has the name '%.80s'; `docker ps` lists them", name);
    if (wait_ms && poll(&ended, 1, (int)wait_ms) == 0)
        return err_set(err, SBR_E_BUSY, "docker", "the run '%.80s' does not end", name);
    return 0;
}
