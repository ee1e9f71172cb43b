#include "base/lock_file.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>

#include "base/inode.h"

#define ATTEMPTS 8

static int lock(int fd, int how)
{
    int r;

    do
        r = flock(fd, how);
    while (r < 0 && errno == EINTR);
    return r;
}

int lock_file_try(int fd)
{
    if (lock(fd, LOCK_EX | LOCK_NB) == 0)
        return LOCK_FILE_HELD;
    return errno == EWOULDBLOCK ? LOCK_FILE_BUSY : -1;
}

int lock_file_wait(int fd)
{
    return lock(fd, LOCK_EX);
}

bool lock_file_is_held(int fd)
{
    return lock(fd, LOCK_SH | LOCK_NB) < 0 && errno == EWOULDBLOCK;
}

int lock_file_open(int dir_fd, const char *name, int *ret_fd)
{
    for (int attempt = 0; attempt < ATTEMPTS; attempt++) {
        scoped_fd int fd =
            openat(dir_fd, name, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600);
        struct stat ours, there;
        int r = fd < 0 ? -1 : lock_file_try(fd);

        if (r != LOCK_FILE_HELD)
            return r;
        if (fstat(fd, &ours) == 0 && fstatat(dir_fd, name, &there, AT_SYMLINK_NOFOLLOW) == 0 &&
            inode_same(&ours, &there)) {
            *ret_fd = take_fd(fd);
            return LOCK_FILE_HELD;
        }
    }
    return LOCK_FILE_BUSY;
}
