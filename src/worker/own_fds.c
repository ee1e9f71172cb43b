/* Copies of a process share its open files: what one run would write to a pipe of the runtime,
 * another would read.  So each copy makes all of them anew under the same numbers, before it runs
 * anything of a program's: pipes with what is in them, event counters, the lists of epoll, and
 * files that are only read.  A zygote that has an open file of any other kind makes no copies. */
#include "worker/worker.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/fd.h"
#include "wire/zygote.h"

#define MAX_OWN 64
#define MAX_WATCHED 32
#define MAX_IN_PIPE 64
#define MAX_PATH 256
#define NULL_DEVICE "/dev/null"

enum own_kind { OWN_NULL_DEVICE, OWN_EVENT, OWN_PIPE, OWN_PIPE_END, OWN_EPOLL, OWN_FILE };

struct own_fd {
    int fd;
    enum own_kind kind;
    int flags;          /* of the open file: O_NONBLOCK and the like */
    int cloexec;        /* O_CLOEXEC or 0 */
    ino_t inode;        /* of a pipe or a file */
    dev_t device;       /* of a file */
    off_t at;           /* where the next read of a file begins */
    int other;          /* OWN_PIPE, where one reads: the end where one writes */
    unsigned int count; /* of an event counter; bytes in a pipe */
    char bytes[MAX_IN_PIPE];
    char path[MAX_PATH]; /* of a file */
    struct epoll_event watched[MAX_WATCHED];
    int watched_fd[MAX_WATCHED];
};

static struct own_fd own[MAX_OWN]; /* by number */
static size_t n_own;

static struct own_fd *find(int fd)
{
    for (size_t i = 0; i < n_own; i++)
        if (own[i].fd == fd)
            return &own[i];
    return NULL;
}

static int note_event(struct own_fd *one, const char *info)
{
    static const char title[] = "eventfd-count:", semaphore[] = "eventfd-semaphore: 1";
    const char *at = strstr(info, title);

    if (!at || strstr(info, semaphore))
        return -1;
    one->count = (unsigned int)strtoul(at + strlen(title), NULL, 16);
    return 0;
}

static int note_epoll(struct own_fd *one, const char *info)
{
    static const char title[] = "tfd:";

    for (const char *at = info; (at = strstr(at, title)); at += strlen(title)) {
        unsigned long long data;
        unsigned int events;
        int fd;

        if (one->count == MAX_WATCHED ||
            /* NOLINTNEXTLINE(cert-err34-c): as the kernel writes it */
            sscanf(at, "tfd: %d events: %x data: %llx", &fd, &events, &data) != 3)
            return -1;
        one->watched_fd[one->count] = fd;
        one->watched[one->count++] = (struct epoll_event){ .events = events, .data.u64 = data };
    }
    return 0;
}

static int note_with_info(struct own_fd *one)
{
    char path[40], info[4096];

    snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", one->fd);
    if (fd_read_small(AT_FDCWD, path, info, sizeof(info)) < 0)
        return -1;
    return one->kind == OWN_EVENT ? note_event(one, info) : note_epoll(one, info);
}

/* A pipe's two ends have one inode; its description is at the end where one reads. */
static int note_pipe(struct own_fd *one)
{
    struct stat st;

    if (fstat(one->fd, &st) < 0)
        return -1;
    one->inode = st.st_ino;
    one->other = -1;
    if ((one->flags & O_ACCMODE) == O_WRONLY)
        one->kind = OWN_PIPE_END;
    return 0;
}

/* Opens the file anew: by its path, which leads to the same file in every sandbox of the zygote's
 * blueprint, because they have copies of its mounts.  fd or -1. */
static int open_file(const struct own_fd *one)
{
    scoped_fd int fd =
        open(one->path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | (one->flags & O_NONBLOCK));
    struct stat st;

    if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || st.st_ino != one->inode ||
        st.st_dev != one->device || lseek(fd, one->at, SEEK_SET) < 0)
        return -1;
    return take_fd(fd);
}

/* A file that can be written to is shared state, however it is opened. */
static int note_file(struct own_fd *one, const char *target)
{
    scoped_fd int again = -1;
    struct stat st;

    if (fstat(one->fd, &st) < 0 || (one->flags & O_ACCMODE) != O_RDONLY)
        return -1;
    one->kind = OWN_FILE;
    one->inode = st.st_ino;
    one->device = st.st_dev;
    one->at = lseek(one->fd, 0, SEEK_CUR);
    snprintf(one->path, sizeof(one->path), "%s", target);
    again = open_file(one);
    return again < 0 ? -1 : 0;
}

static int note_kind(struct own_fd *one)
{
    char path[40], target[MAX_PATH];
    ssize_t n;

    snprintf(path, sizeof(path), "/proc/self/fd/%d", one->fd);
    n = readlink(path, target, sizeof(target));
    if (n < 0 || n == (ssize_t)sizeof(target))
        return -1;
    target[n] = '\0';
    if (target[0] == '/' && strcmp(target, NULL_DEVICE) != 0)
        return note_file(one, target);
    if (!strcmp(target, NULL_DEVICE)) {
        one->kind = OWN_NULL_DEVICE;
        return 0;
    }
    if (!strncmp(target, "pipe:", strlen("pipe:"))) {
        one->kind = OWN_PIPE;
        return note_pipe(one);
    }
    if (!strcmp(target, "anon_inode:[eventfd]"))
        one->kind = OWN_EVENT;
    else if (!strcmp(target, "anon_inode:[eventpoll]"))
        one->kind = OWN_EPOLL;
    else
        return -1;
    return note_with_info(one);
}

static int note_one(int fd)
{
    struct own_fd *one = &own[n_own];
    int of_fd = fcntl(fd, F_GETFD);

    if (n_own == MAX_OWN || of_fd < 0)
        return -1;
    *one = (struct own_fd){ .fd = fd, .cloexec = of_fd & FD_CLOEXEC ? O_CLOEXEC : 0 };
    one->flags = fcntl(fd, F_GETFL);
    n_own++;
    return one->flags < 0 ? -1 : note_kind(one);
}

/* Takes what is in a pipe and puts it back. */
static int note_contents(struct own_fd *one)
{
    int n = 0;

    if (ioctl(one->fd, FIONREAD, &n) < 0 || n > MAX_IN_PIPE)
        return -1;
    one->count = (unsigned int)n;
    if (n > 0 && read(one->fd, one->bytes, (size_t)n) != n)
        return -1;
    return fd_write_all(one->other, one->bytes, (size_t)n);
}

static int note_pairs(void)
{
    size_t n_ends = 0, n_pipes = 0;

    for (size_t i = 0; i < n_own; i++) {
        n_ends += own[i].kind == OWN_PIPE_END;
        if (own[i].kind != OWN_PIPE)
            continue;
        n_pipes++;
        for (size_t k = 0; k < n_own; k++)
            if (own[k].kind == OWN_PIPE_END && own[k].inode == own[i].inode)
                own[i].other = own[k].fd;
        if (own[i].other < 0 || note_contents(&own[i]) < 0)
            return -1;
    }
    return n_ends == n_pipes ? 0 : -1;
}

static bool all_watched_are_own(void)
{
    for (size_t i = 0; i < n_own; i++)
        for (size_t k = 0; own[i].kind == OWN_EPOLL && k < own[i].count; k++)
            if (!find(own[i].watched_fd[k]))
                return false;
    return true;
}

static int by_number(const void *a, const void *b)
{
    return ((const struct own_fd *)a)->fd - ((const struct own_fd *)b)->fd;
}

int own_fds_note(void)
{
    scoped_dir DIR *entries = opendir("/proc/self/fd");
    const struct dirent *entry;

    n_own = 0;
    while (entries && (entry = readdir(entries))) {
        const int fd = (int)strtol(entry->d_name, NULL, 10);

        if (fd >= N_ZYGOTE_FDS && fd != dirfd(entries) && note_one(fd) < 0)
            return -1;
    }
    qsort(own, n_own, sizeof(*own), by_number);
    return entries && note_pairs() == 0 && all_watched_are_own() ? 0 : -1;
}

/* Puts `fd` in the place of the old one, also when that failed to be made. */
static int put(int fd, const struct own_fd *one)
{
    const int r = fd < 0 ? -1 : dup3(fd, one->fd, one->cloexec);

    scope_close_fd(&fd);
    return r < 0 ? -1 : 0;
}

static int renew_pipe(const struct own_fd *one)
{
    const struct own_fd *other = find(one->other);
    int ends[2];

    if (pipe2(ends, O_CLOEXEC) < 0)
        return -1;
    if (fcntl(ends[0], F_SETFL, one->flags) < 0 || fcntl(ends[1], F_SETFL, other->flags) < 0 ||
        fd_write_all(ends[1], one->bytes, one->count) < 0) {
        close(ends[0]);
        close(ends[1]);
        return -1;
    }
    /* Both, whatever happens to the first: no end stays open. */
    return put(ends[0], one) | put(ends[1], other);
}

static int renew_one(const struct own_fd *one)
{
    switch (one->kind) {
    case OWN_NULL_DEVICE:
        return put(open(NULL_DEVICE, (one->flags & (O_ACCMODE | O_NONBLOCK)) | O_CLOEXEC), one);
    case OWN_EVENT:
        return put(eventfd(one->count, EFD_CLOEXEC | (one->flags & O_NONBLOCK)), one);
    case OWN_PIPE:
        return renew_pipe(one);
    case OWN_EPOLL:
        return put(epoll_create1(EPOLL_CLOEXEC), one);
    case OWN_FILE:
        return put(open_file(one), one);
    case OWN_PIPE_END: /* with the other end */
        break;
    }
    return 0;
}

static int watch_again(const struct own_fd *one)
{
    for (size_t i = 0; one->kind == OWN_EPOLL && i < one->count; i++) {
        struct epoll_event event = one->watched[i];

        if (epoll_ctl(one->fd, EPOLL_CTL_ADD, one->watched_fd[i], &event) < 0)
            return -1;
    }
    return 0;
}

int own_fds_renew(void)
{
    for (size_t i = 0; i < n_own; i++)
        if (renew_one(&own[i]) < 0)
            return -1;
    for (size_t i = 0; i < n_own; i++)
        if (watch_again(&own[i]) < 0)
            return -1;
    return 0;
}

int own_fds_close_others(unsigned int first)
{
    for (size_t i = 0; i < n_own; i++) {
        const unsigned int next = (unsigned int)own[i].fd;

        if (next < first)
            continue;
        if (next > first && syscall(SYS_close_range, first, next - 1, 0) < 0)
            return -1;
        first = next + 1;
    }
    return (int)syscall(SYS_close_range, first, ~0U, 0);
}
