#include "toolchain/project_file.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/inode.h"
#include "base/scope.h"
#include "toolchain/project_excludes.h"

int project_file_open_dir(int dir_fd, const char *path)
{
    return inode_open_beneath(dir_fd, *path ? path : ".", O_RDONLY | O_DIRECTORY | O_NONBLOCK,
                              RESOLVE_NO_MAGICLINKS);
}

int project_file_begin(const char *dir, const sbr_request *req, const char *stage,
                       struct project_tree *ret, sbr_error *err)
{
    *ret = (struct project_tree){ .fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC),
                                  .stage = stage,
                                  .most = PROJECT_FILE_BYTES,
                                  .bytes = PROJECT_FILE_BYTES,
                                  .entries = PROJECT_FILE_ENTRIES };
    if (ret->fd < 0)
        return err_set_errno(err, stage, "cannot open '%.200s'", dir);
    return project_excludes_open(ret->fd, req, &ret->rules, err);
}

void project_file_end(struct project_tree *tree)
{
    if (tree->fd >= 0)
        close(tree->fd);
    exclude_done(&tree->rules);
    tree->fd = -1;
}

static bool is_absence(int error)
{
    return error == ENOENT || error == ENOTDIR;
}

static int refuse(const struct project_tree *tree, const char *path, sbr_error *err)
{
    mode_t type = project_file_type(tree, path);

    if (errno == ELOOP || type == S_IFLNK)
        return err_set(err, SBR_E_INVALID, tree->stage,
                       "'%.200s' is a symbolic link, or behind one, and links of a project are not "
                       "followed here; put the file itself in its place",
                       path);
    if (errno == EINVAL || errno == ENXIO)
        return err_set(err, SBR_E_INVALID, tree->stage,
                       "'%.200s' is no regular file; make it one", path);
    return err_set_errno(err, tree->stage, "cannot read '%.200s'", path);
}

static int count(struct project_tree *tree, size_t entries, sbr_error *err)
{
    if (entries > tree->entries)
        return err_set(err, SBR_E_INVALID, tree->stage,
                       "there are too many files to look at; leave some out, or take a part");
    tree->entries -= entries;
    return 0;
}

int project_file_read(struct project_tree *tree, const char *path, struct project_text *ret,
                      sbr_error *err)
{
    /* Asked before it is opened: what is left out is not even refused. */
    if (project_file_type(tree, path) && project_excludes_hides(&tree->rules, tree->fd, path))
        return 0;
    return project_file_read_named(tree, path, ret, err);
}

int project_file_read_named(struct project_tree *tree, const char *path, struct project_text *ret,
                            sbr_error *err)
{
    struct stat st;
    scoped_fd int fd = inode_open_regular(tree->fd, path, &st);

    if (fd < 0 && is_absence(errno) && project_file_type(tree, path) != S_IFLNK)
        return 0;
    if (fd < 0)
        return refuse(tree, path, err);
    if (count(tree, 1, err) < 0)
        return err->code;
    if ((uint64_t)st.st_size > tree->bytes)
        return err_set(err, SBR_E_INVALID, tree->stage,
                       "'%.200s' and what was read before it have more than %d MiB; take less",
                       path, (int)(tree->most >> 20));
    if (fd_read_text(fd, tree->bytes, &ret->data, &ret->len, err) < 0)
        return err->code;
    tree->bytes -= ret->len;
    ret->executable = st.st_mode & 0111;
    return 1;
}

int project_file_list(struct project_tree *tree, const char *path, struct listing *ret,
                      sbr_error *err)
{
    scoped_fd int fd = project_file_open_dir(tree->fd, path);

    *ret = (struct listing){ 0 };
    if (fd < 0 && is_absence(errno) && project_file_type(tree, path) != S_IFLNK)
        return 0;
    if (fd < 0)
        return refuse(tree, path, err);
    if (listing_read_most(fd, tree->entries, ret) < 0)
        return errno == E2BIG ? count(tree, SIZE_MAX, err)
                              : err_set_errno(err, tree->stage, "cannot list '%.200s'", path);
    return count(tree, ret->n, err) < 0 ? err->code : 1;
}

mode_t project_file_type(const struct project_tree *tree, const char *path)
{
    int saved = errno;
    scoped_fd int fd = inode_open_beneath(tree->fd, path, O_PATH, RESOLVE_NO_MAGICLINKS);
    struct stat st;
    mode_t type = fd >= 0 && fstat(fd, &st) == 0 ? st.st_mode & S_IFMT : 0;

    if (fd < 0 && errno == ELOOP)
        type = S_IFLNK;
    errno = saved;
    return type;
}
