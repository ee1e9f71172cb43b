#include "base/tree_remove.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/scope.h"

bool tree_is_dots(const char *name)
{
    return name[0] == '.' && (!name[1] || (name[1] == '.' && !name[2]));
}

/* Gives us access to a directory whatever its mode; fails for what is no directory. */
static int unlock_dir(int dir_fd, const char *name)
{
    const int flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
    scoped_fd int fd = openat(dir_fd, name, flags);

    if (fd < 0 && errno == EACCES && fchmodat(dir_fd, name, 0700, AT_SYMLINK_NOFOLLOW) == 0)
        fd = openat(dir_fd, name, flags);
    if (fd < 0 || fchmod(fd, 0700) < 0)
        return -1;
    return take_fd(fd);
}

static DIR *open_to_empty(int dir_fd, const char *name)
{
    scoped_fd int fd = unlock_dir(dir_fd, name);
    DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;

    if (dir)
        (void)take_fd(fd);
    return dir;
}

/* Removes the files of a directory and moves its directories up to the top: no path gets long, and
 * no recursion deep, whatever was built.  Returns how many names went. */
static size_t flatten(int top, const char *name, unsigned int *moved)
{
    scoped_dir DIR *dir = open_to_empty(top, name);
    const struct dirent *entry;
    size_t done = 0;

    while (dir && (entry = readdir(dir))) {
        struct stat st;
        char up[24];

        if (tree_is_dots(entry->d_name))
            continue;
        if (unlinkat(dirfd(dir), entry->d_name, 0) < 0 &&
            unlinkat(dirfd(dir), entry->d_name, AT_REMOVEDIR) < 0) {
            scoped_fd int moving = unlock_dir(dirfd(dir), entry->d_name); /* or it cannot move */

            do
                snprintf(up, sizeof(up), "moved-%u", (*moved)++);
            while (fstatat(top, up, &st, AT_SYMLINK_NOFOLLOW) == 0);
            if (moving < 0 || renameat(dirfd(dir), entry->d_name, top, up) < 0)
                continue;
        }
        done++;
    }
    return done + (unlinkat(top, name, AT_REMOVEDIR) == 0);
}

static size_t flatten_all(DIR *top, unsigned int *moved)
{
    const struct dirent *entry;
    size_t done = 0;

    rewinddir(top);
    while ((entry = readdir(top)))
        if (!tree_is_dots(entry->d_name))
            done += unlinkat(dirfd(top), entry->d_name, 0) == 0
                        ? 1
                        : flatten(dirfd(top), entry->d_name, moved);
    return done;
}

int tree_remove(int dir_fd, const char *name)
{
    scoped_dir DIR *top = NULL;
    unsigned int moved = 0;

    if (unlinkat(dir_fd, name, 0) == 0 || errno == ENOENT)
        return 0;
    top = open_to_empty(dir_fd, name);
    while (top && flatten_all(top, &moved) > 0)
        continue;
    return unlinkat(dir_fd, name, AT_REMOVEDIR) == 0 || errno == ENOENT ? 0 : -1;
}
