#include "sandbox/id_locks.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/scope.h"

/* Not in /run/sandbox-run, which systemd removes with the engine's service. */
#define USUAL_FILE "/run/sandbox-run.ids"

/* Ours, and open to nobody else as far as `forbidden` says. */
static bool is_ours(int fd, mode_t kind, mode_t forbidden)
{
    struct stat st;

    return fstat(fd, &st) == 0 && (st.st_mode & S_IFMT) == kind && st.st_uid == geteuid() &&
           !(st.st_mode & forbidden);
}

/* Who can open it can take every lock in it. */
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

/* Where everybody may make names, the directory may be somebody else's. */
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

/* In a container of which the rest may be read-only. */
static int open_elsewhere(void)
{
    static const char *const places[] = { "/tmp", "/dev/shm" };
    char dir[40];
    int fd = -1;

    for (size_t i = 0; fd < 0 && i < ARRAY_LEN(places); i++) {
        snprintf(dir, sizeof(dir), "%s/sandbox-run-%u", places[i], (unsigned int)geteuid());
        if (mkdir(dir, 0700) == 0 || errno == EEXIST)
            fd = open_in(dir);
    }
    return fd;
}

int id_locks_open(sbr_error *err)
{
    const char *chosen = getenv(ID_LOCKS_VARIABLE);
    int fd;

    if (chosen && *chosen) {
        fd = open_in(chosen);
        if (fd < 0)
            return err_set_errno(err, "ids", ID_LOCKS_VARIABLE ": cannot lock in '%.200s'", chosen);
        return fd;
    }
    fd = open_file(AT_FDCWD, USUAL_FILE);
    if (fd < 0)
        fd = open_elsewhere();
    if (fd < 0)
        return err_set_errno(err, "ids",
                             "there is no file to lock user ids in, neither " USUAL_FILE
                             " nor one in /tmp or "
                             "/dev/shm; " ID_LOCKS_VARIABLE " can name a directory of root's own");
    return fd;
}

int id_locks_hold(int fd, uint32_t id)
{
    struct flock lock = {
        .l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = (off_t)id, .l_len = 1
    };

    return fcntl(fd, F_OFD_SETLK, &lock);
}
