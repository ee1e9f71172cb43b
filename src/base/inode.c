#include "base/inode.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef SYS_openat2
#define SYS_openat2 437
#endif
#ifndef SYS_fchmodat2
#define SYS_fchmodat2 452 /* Linux 6.6, the same everywhere */
#endif

#define MODE_BITS 07777

bool inode_same(const struct stat *a, const struct stat *b)
{
    return a->st_dev == b->st_dev && a->st_ino == b->st_ino &&
           (a->st_mode & S_IFMT) == (b->st_mode & S_IFMT);
}

struct inode_id inode_id_of(const struct stat *st)
{
    return (struct inode_id){ .device = st->st_dev, .inode = st->st_ino };
}

int inode_id_check(struct inode_id id, const struct stat *st, const char *path, sbr_error *err)
{
    if (!id.inode || (id.device == st->st_dev && id.inode == st->st_ino))
        return 0;
    return err_set(err, SBR_E_DENIED, "mounts",
                   "'%.200s' became another file or directory while it was brought in; see who "
                   "changes the way to it, and run it again",
                   path);
}

int inode_chmod(int fd, mode_t mode)
{
    char path[32];

    if (syscall(SYS_fchmodat2, fd, "", mode, AT_EMPTY_PATH) == 0)
        return 0;
    if (errno != ENOSYS)
        return -1;
    /* Leads to the inode itself, not to a name of it. */
    snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    return fchmodat(AT_FDCWD, path, mode, 0);
}

int inode_resolve(int at, const char *path, int flags, uint64_t resolve)
{
    const struct open_how how = { .flags = (unsigned int)flags, .resolve = resolve };
    int fd = -1;

    for (int tries = 0; tries < 16; tries++) {
        fd = (int)syscall(SYS_openat2, at, path, &how, sizeof(how));
        if (fd >= 0 || errno != EAGAIN)
            break;
    }
    if (fd < 0 && errno == EPERM)
        errno = ENOSYS;
    return fd;
}

/* Before Linux 5.6: one component after the other. */
static int open_by_steps(int dir_fd, const char *path, int flags)
{
    scoped_fd int at = -1;
    char name[256];

    for (;;) {
        size_t len = strcspn(path, "/");
        int fd, from = at < 0 ? dir_fd : at;

        if (len == 0 || len >= sizeof(name) || (len == 2 && !strncmp(path, "..", len))) {
            errno = len >= sizeof(name) ? ENAMETOOLONG : ENOENT;
            return -1;
        }
        if (!path[len])
            return openat(from, path, flags);
        memcpy(name, path, len);
        name[len] = '\0';
        fd = openat(from, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        if (fd < 0)
            return -1;
        if (at >= 0)
            close(at);
        at = fd;
        path += len + 1;
    }
}

int inode_open_beneath(int at, const char *path, int flags, uint64_t more)
{
    int fd, all = flags | O_NOFOLLOW | O_CLOEXEC;

    fd = inode_resolve(at, path, all, RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | more);
    return fd < 0 && errno == ENOSYS ? open_by_steps(at, path, all) : fd;
}

int inode_open_regular(int at, const char *path, struct stat *ret)
{
    scoped_fd int fd =
        inode_open_beneath(at, path, O_RDONLY | O_NOCTTY | O_NONBLOCK, RESOLVE_NO_MAGICLINKS);

    if (fd < 0 || fstat(fd, ret) < 0)
        return -1;
    if (!S_ISREG(ret->st_mode)) {
        errno = EINVAL;
        return -1;
    }
    return take_fd(fd);
}

/* Takes the descriptor over. */
static int check_same(int opened, struct stat *st)
{
    scoped_fd int fd = opened;
    struct stat now;

    if (fd < 0 || fstat(fd, &now) < 0)
        return -1;
    if (!inode_same(st, &now)) {
        errno = ESTALE;
        return -1;
    }
    *st = now;
    return take_fd(fd);
}

int inode_open(int at, const char *name, int flags, struct stat *st)
{
    return check_same(openat(at, name, flags | O_NOFOLLOW | O_CLOEXEC), st);
}

int inode_open_unmounted(int at, const char *name, int flags, struct stat *st)
{
    int fd = inode_resolve(at, name, flags | O_NOFOLLOW | O_CLOEXEC,
                           RESOLVE_NO_XDEV | RESOLVE_NO_SYMLINKS);

    return fd < 0 && errno == ENOSYS ? inode_open(at, name, flags, st) : check_same(fd, st);
}

int inode_open_locked(int at, const char *name, int flags, mode_t bits, struct stat *st)
{
    scoped_fd int path = inode_open(at, name, O_PATH, st);
    struct stat widened = *st;
    int fd, saved;

    if (path < 0)
        return -1;
    if (S_ISLNK(st->st_mode)) {
        errno = ELOOP;
        return -1;
    }
    /* A mode that cannot be changed stays.  Set-id bits are kept or the change fails: a filter that
     * refuses to set them would refuse to restore them. */
    (void)inode_chmod(path, (st->st_mode & MODE_BITS) | bits);
    fd = inode_open(at, name, flags, &widened);
    saved = errno;
    if (fd < 0)
        (void)inode_chmod(path, st->st_mode & MODE_BITS);
    errno = saved;
    return fd;
}
