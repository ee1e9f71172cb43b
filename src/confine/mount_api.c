/* Thin wrappers over fsopen, fsmount, open_tree, mount_setattr and move_mount (Linux 5.12). */
#include <errno.h>
#include <fcntl.h>
#include <linux/mount.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/fd.h"
#include "confine/mounts.h"

#ifndef AT_RECURSIVE
#define AT_RECURSIVE 0x8000
#endif

static int set_attributes(int fd, unsigned int flags, uint64_t attributes)
{
    struct mount_attr attr = { .attr_set = attributes, .propagation = MS_PRIVATE };

    return (int)syscall(SYS_mount_setattr, fd, "", AT_EMPTY_PATH | flags, &attr, sizeof(attr));
}

static int clone_tree(int dir_fd, const char *path, uint64_t attributes, unsigned int below)
{
    scoped_fd int fd = (int)syscall(SYS_open_tree, dir_fd, path,
                                    OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | below |
                                        AT_SYMLINK_NOFOLLOW | (*path ? 0 : AT_EMPTY_PATH));

    if (fd < 0 || set_attributes(fd, below, attributes) < 0)
        return -1;
    return take_fd(fd);
}

int mount_clone(int dir_fd, const char *path, uint64_t attributes)
{
    return clone_tree(dir_fd, path, attributes, AT_RECURSIVE);
}

int mount_clone_top(int dir_fd, const char *path, uint64_t attributes)
{
    return clone_tree(dir_fd, path, attributes, 0);
}

int mount_map_owners(int tree_fd, int namespace_fd, bool below)
{
    struct mount_attr attr = { .attr_set = MOUNT_ATTR_IDMAP, .userns_fd = (uint64_t)namespace_fd };

    return (int)syscall(SYS_mount_setattr, tree_fd, "", AT_EMPTY_PATH | (below ? AT_RECURSIVE : 0),
                        &attr, sizeof(attr));
}

int mount_new(const char *type, const char *const *options, uint64_t attributes)
{
    scoped_fd int fs = (int)syscall(SYS_fsopen, type, FSOPEN_CLOEXEC);

    if (fs < 0)
        return -1;
    for (; *options; options++) {
        char key[32];
        const char *equals = strchr(*options, '=');
        size_t len = equals ? (size_t)(equals - *options) : strlen(*options);
        unsigned int command = equals ? FSCONFIG_SET_STRING : FSCONFIG_SET_FLAG;

        if (len >= sizeof(key)) {
            errno = EINVAL;
            return -1;
        }
        memcpy(key, *options, len);
        key[len] = '\0';
        if (syscall(SYS_fsconfig, fs, command, key, equals ? equals + 1 : NULL, 0) < 0)
            return -1;
    }
    if (syscall(SYS_fsconfig, fs, FSCONFIG_CMD_CREATE, NULL, NULL, 0) < 0)
        return -1;
    return (int)syscall(SYS_fsmount, fs, FSMOUNT_CLOEXEC, attributes);
}

int mount_attach(int tree_fd, int dir_fd, const char *path)
{
    return (int)syscall(SYS_move_mount, tree_fd, "", dir_fd, path, MOVE_MOUNT_F_EMPTY_PATH);
}

int mount_change(int mount_fd, uint64_t attributes)
{
    return set_attributes(mount_fd, 0, attributes);
}

int mount_change_all(int mount_fd, uint64_t attributes)
{
    return set_attributes(mount_fd, AT_RECURSIVE, attributes);
}

/* Only init can reach the tree until the program starts, so a plain walk cannot be raced. */
int mount_make_directories(const char *path, uint32_t mode)
{
    char copy[1100];
    size_t len = strlen(path);

    if (mkdir(path, mode) == 0 || errno == EEXIST)
        return 0;
    if (errno != ENOENT || len >= sizeof(copy))
        return -1;
    memcpy(copy, path, len + 1);
    for (char *slash = strchr(copy, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        if (mkdir(copy, 0755) < 0 && errno != EEXIST)
            return -1;
        *slash = '/';
    }
    return mkdir(path, mode) < 0 && errno != EEXIST ? -1 : 0;
}

static int open_new_file(const char *path, uint32_t mode)
{
    return open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode);
}

int mount_make_open_file(const char *path, uint32_t mode)
{
    int fd = open_new_file(path, mode);
    const char *slash = strrchr(path, '/');

    if (fd < 0 && errno == ENOENT && slash) {
        char parent[1100];
        size_t parent_len = (size_t)(slash - path);

        if (parent_len >= sizeof(parent)) {
            errno = ENAMETOOLONG;
            return -1;
        }
        memcpy(parent, path, parent_len);
        parent[parent_len] = '\0';
        if (mount_make_directories(parent, 0755) < 0)
            return -1;
        fd = open_new_file(path, mode);
    }
    return fd;
}

int mount_make_file(const char *path, uint32_t mode, const void *data, size_t len)
{
    scoped_fd int fd = mount_make_open_file(path, mode);

    return fd < 0 ? -1 : fd_write_all(fd, data, len);
}

/* Opens a directory in a tree that may hold links; makes it when it does not exist. */
static int enter_directory(int at, const char *name)
{
    int fd = openat(at, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

    if (fd >= 0 || errno != ENOENT)
        return fd;
    if (mkdirat(at, name, 0755) < 0)
        return -1;
    return openat(at, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

static int replace_at(int at, const char *name, uint32_t mode)
{
    const int flags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC;
    int fd = openat(at, name, flags, mode);

    if (fd >= 0 || errno != EEXIST || unlinkat(at, name, 0) < 0)
        return fd;
    return openat(at, name, flags, mode);
}

/* Opens the directory that a path lies in, and makes it; *path becomes its last name. */
static int enter_parents(const char **path)
{
    scoped_fd int at = open(".", O_PATH | O_DIRECTORY | O_CLOEXEC);
    const char *slash;
    char part[256];

    for (; at >= 0 && (slash = strchr(*path, '/')); *path = slash + 1) {
        size_t n = (size_t)(slash - *path);
        int next;

        if (n >= sizeof(part)) {
            errno = ENAMETOOLONG;
            return -1;
        }
        memcpy(part, *path, n);
        part[n] = '\0';
        next = enter_directory(at, part);
        close(at);
        at = next;
    }
    return take_fd(at);
}

int mount_replace_file(const char *path, uint32_t mode, const void *data, size_t len)
{
    scoped_fd int at = enter_parents(&path), fd = -1;

    if (at < 0)
        return -1;
    fd = replace_at(at, path, mode);
    return fd < 0 ? -1 : fd_write_all(fd, data, len);
}

/* A mount covers a file that is there already, but is never made through a link. */
static int make_over(const char *path, bool directory)
{
    const int flags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC;
    scoped_fd int at = enter_parents(&path), fd = -1;
    struct stat st;

    if (at < 0)
        return -1;
    fd = directory ? enter_directory(at, path) : openat(at, path, flags, 0444);
    if (fd >= 0)
        return 0;
    if (directory || errno != EEXIST || fstatat(at, path, &st, AT_SYMLINK_NOFOLLOW) < 0)
        return -1;
    errno = S_ISLNK(st.st_mode) ? ELOOP : EISDIR;
    return S_ISREG(st.st_mode) ? 0 : -1;
}

int mount_make_point(const struct plan_op *op, bool directory)
{
    if (op->flags & OP_OVER)
        return make_over(op->to, directory);
    return directory ? mount_make_directories(op->to, 0755) : mount_make_file(op->to, 0444, "", 0);
}

int mount_enter_workdir(const struct plan *plan)
{
    int r = chdir(plan->workdir);

    for (size_t i = 0; r < 0 && errno == ENOENT && i < plan->n_ops; i++)
        if (plan->ops[i].kind == OP_PROGRAM && plan->ops[i].flags & OP_DIRECTORY)
            return mount_make_point(&plan->ops[i], true) < 0 ? -1 : chdir(plan->workdir);
    return r;
}

int mount_take_passed(struct inside *in)
{
    if (in->next_tree == in->n_trees) {
        errno = EBADF;
        return -1;
    }
    return in->trees[in->next_tree++];
}
