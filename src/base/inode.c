#include "base/inode.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/scope.h"

#ifndef SYS_fchmodat2
#define SYS_fchmodat2 452 /* Linux 6.6, the same everywhere */
#endif

#define MODE_BITS 07777

bool inode_same(const struct stat *a, const struct stat *b)
{
    return a->st_dev == b->st_dev && a->st_ino == b->st_ino &&
           (a->st_mode & S_IFMT) == (b->st_mode & S_IFMT);
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

int inode_open(int at, const char *name, int flags, struct stat *st)
{
    scoped_fd int fd = openat(at, name, flags | O_NOFOLLOW | O_CLOEXEC);
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
    /* What cannot be changed is opened as it is, or not.  Set-id bits stay, or the mode does: where they may not be set
     * they could not be put back. */
    (void)inode_chmod(path, (st->st_mode & MODE_BITS) | bits);
    fd = inode_open(at, name, flags, &widened);
    saved = errno;
    if (fd < 0)
        (void)inode_chmod(path, st->st_mode & MODE_BITS);
    errno = saved;
    return fd;
}
