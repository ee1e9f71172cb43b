#include "toolchain/tool_root.h"

#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/inode.h"
#include "base/scope.h"

int tool_root_open(const struct tool_root *root, const char *path, int flags)
{
    flags |= flags & O_PATH ? O_CLOEXEC : O_CLOEXEC | O_NONBLOCK; /* openat2 takes no other */
    if (!root)
        return open(path, flags);
    return inode_resolve(root->fd, path, flags, RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS);
}

bool tool_root_stat(const struct tool_root *root, const char *path, struct stat *ret)
{
    scoped_fd int fd = -1;

    if (!root)
        return stat(path, ret) == 0;
    fd = tool_root_open(root, path, O_PATH);
    return fd >= 0 && fstat(fd, ret) == 0;
}

DIR *tool_root_open_dir(const struct tool_root *root, const char *path)
{
    int fd = tool_root_open(root, path, O_RDONLY | O_DIRECTORY);
    DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;

    if (!dir && fd >= 0)
        close(fd);
    return dir;
}

/* The kernel knows the path of what is open, below that of the root. */
static bool read_path(int fd, char path[PATH_MAX])
{
    char link[40];
    ssize_t len;

    snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
    len = readlink(link, path, PATH_MAX - 1);
    path[len > 0 ? len : 0] = '\0';
    return len > 0 && len < PATH_MAX - 1;
}

bool tool_root_resolve(const struct tool_root *root, const char *path, char real[PATH_MAX])
{
    scoped_fd int fd = -1;
    char top[PATH_MAX];
    size_t len;

    if (!root)
        return realpath(path, real) != NULL;
    fd = tool_root_open(root, path, O_PATH);
    if (fd < 0 || !read_path(root->fd, top) || !read_path(fd, real))
        return false;
    len = strlen(top);
    if (strncmp(real, top, len) != 0 || (real[len] != '/' && real[len] != '\0'))
        return false;
    memmove(real, real + len, strlen(real + len) + 1);
    if (!real[0])
        memcpy(real, "/", 2);
    return true;
}

bool tool_root_is_program(const struct tool_root *root, const char *path, struct stat *ret)
{
    if (!tool_root_stat(root, path, ret) || !S_ISREG(ret->st_mode))
        return false;
    if (root)
        return (ret->st_mode & 0111) != 0;
    return (ret->st_mode & S_IXOTH) != 0 || access(path, X_OK) == 0;
}
