#include "sandbox/ids.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

/* Not in /run/sandbox-run, which systemd removes with the engine's service. */
#define USUAL_FILE "/run/sandbox-run.ids"

/* True when we own the file and it has none of the `forbidden` permissions. */
static bool is_ours(int fd, mode_t kind, mode_t forbidden)
{
    struct stat st;

    return fstat(fd, &st) == 0 && (st.st_mode & S_IFMT) == kind && st.st_uid == geteuid() &&
           !(st.st_mode & forbidden);
}

/* A process that can open the file can take every lock in it. */
static int open_file(int dir_fd, const char *path)
{
    scoped_fd int fd =
        openat(dir_fd, path, O_RDWR | O_CREAT | O_NOFOLLOW | O_NOCTTY | O_CLOEXEC, 0600);

    if (fd >= 0 && is_ours(fd, S_IFREG, S_IRWXG | S_IRWXO))
        return take_fd(fd);
    if (fd >= 0)
        errno = EPERM;
    return -1;
}

/* Where every user may make names, the directory may be another user's. */
static int open_in(const char *dir)
{
    scoped_fd int fd = open(dir, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

    if (fd < 0)
        return -1;
    if (!is_ours(fd, S_IFDIR, S_IWGRP | S_IWOTH)) {
        errno = EPERM;
        return -1;
    }
    return open_file(fd, "ids");
}

/* For a container whose other file systems may be read-only. */
static int open_shared_memory(void)
{
    char dir[40];

    snprintf(dir, sizeof(dir), "/dev/shm/sandbox-run-%u", (unsigned int)geteuid());
    return mkdir(dir, 0700) == 0 || errno == EEXIST ? open_in(dir) : -1;
}

/* Where nothing is writable: a name that needs no file.  Other users of the network namespace could
 * take it first, which prevents runs but grants no access. */
static int open_name(void)
{
    return socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
}

int id_locks_open(struct id_lock *ret, sbr_error *err)
{
    const char *chosen = getenv(ID_LOCKS_VARIABLE);

    *ret = (struct id_lock){ -1, false };
    if (chosen && *chosen) {
        ret->fd = open_in(chosen);
        if (ret->fd < 0)
            return err_set_errno(err, "ids", ID_LOCKS_VARIABLE ": cannot lock in '%.200s'", chosen);
        return 0;
    }
    ret->fd = open_file(AT_FDCWD, USUAL_FILE);
    if (ret->fd < 0)
        ret->fd = open_shared_memory();
    if (ret->fd >= 0)
        return 0;
    *ret = (struct id_lock){ open_name(), true };
    return ret->fd < 0 ? err_set_errno(err, "ids", "cannot hold a user id") : 0;
}

static int hold_name(int fd, uint32_t id)
{
    struct sockaddr_un name = { .sun_family = AF_UNIX };
    int len = snprintf(name.sun_path + 1, sizeof(name.sun_path) - 1, "sandbox-run/id/%u", id);

    return bind(fd, (struct sockaddr *)&name,
                (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)len));
}

int id_locks_hold(const struct id_lock *lock, uint32_t id)
{
    struct flock byte = {
        .l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = (off_t)id, .l_len = 1
    };

    if ((lock->is_name ? hold_name(lock->fd, id) : fcntl(lock->fd, F_OFD_SETLK, &byte)) == 0)
        return 1;
    return errno == EAGAIN || errno == EACCES || errno == EADDRINUSE ? 0 : -1;
}
