
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "confine/mounts.h"

/* An overlay without an upper directory needs two lower ones.  The second is the mount point
 * itself, which is empty and gets covered.  The first is the tree, so the top of a view has its
 * owner, mode and times. */
#define VIEW_TREE ".view"
#define VIEW_OPTION 2300 /* a path of the plan with each byte escaped */

uint64_t view_inodes(const struct plan *plan)
{
    for (size_t i = 0; i < plan->n_ops; i++)
        if (plan->ops[i].flags & OP_VIEW)
            return 1;
    return 0;
}

/* Colons separate the paths in the option; a backslash escapes the next byte. */
static int put_lower(char option[VIEW_OPTION], const char *path)
{
    static const char first[] = "lowerdir=" VIEW_TREE ":";
    char *to = option + sizeof(first) - 1, *end = option + VIEW_OPTION - 2;

    memcpy(option, first, sizeof(first));
    for (; *path; path++) {
        if (to >= end) {
            errno = ENAMETOOLONG;
            return -1;
        }
        if (*path == ':' || *path == '\\')
            *to++ = '\\';
        *to++ = *path;
    }
    *to = '\0';
    return 0;
}

/* The tree needs a path while the overlay is mounted. */
static int open_tree_path(struct inside *in, int tree_fd)
{
    if (!in->has_view && mkdir(VIEW_TREE, 0700) < 0)
        return -1;
    in->has_view = true;
    return mount_attach(tree_fd, AT_FDCWD, VIEW_TREE);
}

static int cover(const struct plan_op *op)
{
    char lower[VIEW_OPTION];
    /* Without xino, files keep inode numbers that fit the 53 or 32 bits of some programs. */
    const char *const options[] = { lower, "xino=off", NULL };
    scoped_fd int view = -1;

    if (put_lower(lower, op->to) < 0)
        return -1;
    view = mount_new("overlay", options, ATTR_BIND);
    if (view < 0 || mount_attach(view, AT_FDCWD, op->to) < 0)
        return -1;
    return umount2(VIEW_TREE, MNT_DETACH);
}

/* One system call instead of nine.  The option is text with commas and colons, so this is only for
 * paths that have neither. */
int view_mount(const struct plan_op *op)
{
    char options[VIEW_OPTION];
    int n = snprintf(options, sizeof(options), "lowerdir=%s:%s,xino=off", op->from, op->to);

    if (strpbrk(op->from, ",:\\") || strpbrk(op->to, ",:\\") || n >= (int)sizeof(options)) {
        errno = EINVAL;
        return -1;
    }
    return mount("overlay", op->to, "overlay", MS_RDONLY | MS_NOSUID | MS_NODEV, options);
}

int view_bring(struct inside *in, const struct plan_op *op, int tree_fd, sbr_error *err)
{
    bool left_out = plan_leaves_out(in->plan, "views");

    if (mount_make_point(op, true) < 0)
        return err_set_errno(err, "mounts", "cannot make '/%s'", op->to);
    if (!left_out && open_tree_path(in, tree_fd) == 0 && cover(op) == 0)
        return 0;
    if (op->flags & OP_VIEW_ONLY && !left_out) {
        err_set_errno(err, "view", "no overlay can be mounted over '%.200s'", op->from);
        return err_set_retry(err, ERR_WITHOUT_VIEW);
    }
    in->shares_inodes = true;
    in->report->shares_inodes = 1;
    if (mount_attach(tree_fd, AT_FDCWD, op->to) < 0)
        return err_set_errno(err, "mounts", "cannot bring in '%.200s' as '/%s'", op->from, op->to);
    return 0;
}

int view_finish(const struct inside *in, sbr_error *err)
{
    if (!in->has_view || rmdir(VIEW_TREE) == 0)
        return 0;
    return err_set_errno(err, "mounts", "cannot remove what views needed");
}
