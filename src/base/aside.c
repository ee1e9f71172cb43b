#include "base/aside.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

/* A name that nobody else uses: another call may save to the same directory. */
static int draw(char name[ASIDE_SIZE])
{
    char id[ENCODING_ID_SIZE];

    if (encoding_random_id(id) < 0)
        return -1;
    snprintf(name, ASIDE_SIZE, ASIDE_PREFIX "%s", id);
    return 0;
}

int aside_open(int dir_fd, mode_t mode, struct aside *ret)
{
    *ret = ASIDE_NONE;
    ret->fd = openat(dir_fd, ".", O_RDWR | O_TMPFILE | O_CLOEXEC, mode);
    /* The second is what kernels say that take it for a directory which is to be written. */
    if (ret->fd >= 0 || (errno != EOPNOTSUPP && errno != EISDIR && errno != EINVAL))
        return ret->fd < 0 ? -1 : 0;
    if (draw(ret->name) < 0)
        return -1;
    ret->fd = openat(dir_fd, ret->name,
                     O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC | O_NOCTTY, mode);
    if (ret->fd < 0)
        ret->name[0] = '\0';
    return ret->fd < 0 ? -1 : 0;
}

/* 0; -1 with errno: EEXIST when the name is taken. */
static int link_as(int fd, int dir_fd, const char *name)
{
    char path[40];

    snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    return linkat(AT_FDCWD, path, dir_fd, name, AT_SYMLINK_FOLLOW);
}

/* Only a name takes the place of another: for the time of one call the whole file has its own. */
static int replace(struct aside *aside, int dir_fd, const char *name)
{
    if (!aside->name[0]) {
        if (link_as(aside->fd, dir_fd, name) == 0)
            return 0;
        if (errno != EEXIST || draw(aside->name) < 0)
            return -1;
        if (link_as(aside->fd, dir_fd, aside->name) < 0) {
            aside->name[0] = '\0';
            return -1;
        }
    }
    if (renameat(dir_fd, aside->name, dir_fd, name) < 0)
        return -1;
    aside->name[0] = '\0';
    return 0;
}

int aside_name(struct aside *aside, int dir_fd, const char *name)
{
    int r = replace(aside, dir_fd, name), saved = errno;

    aside_drop(aside, dir_fd);
    errno = saved;
    return r;
}

int aside_name_link(const char *text, int dir_fd, const char *name)
{
    char own[ASIDE_SIZE];
    int saved;

    if (symlinkat(text, dir_fd, name) == 0)
        return 0;
    if (errno != EEXIST || draw(own) < 0 || symlinkat(text, dir_fd, own) < 0)
        return -1;
    if (renameat(dir_fd, own, dir_fd, name) == 0)
        return 0;
    saved = errno;
    (void)unlinkat(dir_fd, own, 0);
    errno = saved;
    return -1;
}

void aside_drop(struct aside *aside, int dir_fd)
{
    if (aside->name[0])
        (void)unlinkat(dir_fd, aside->name, 0);
    scope_close_fd(&aside->fd);
    *aside = ASIDE_NONE;
}
