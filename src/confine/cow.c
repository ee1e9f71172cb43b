
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "confine/mounts.h"

#define COW_DIR ".cow"
#define COW_EMPTY COW_DIR "/none"
#define COW_PATH 40
#define COW_OPTION (COW_PATH + 16)

#define INODES_OF_ALL 2 /* the directory itself and its cover                                */
#define INODES_OF_ONE 8 /* its own, lower, upper, work, two in work, and the kernel's probes */

/* The caller may fall back to another method on SBR_E_UNSUPPORTED. */
static int refused(const struct plan_op *op, const char *what, sbr_error *err)
{
    err_set_errno(err, "cow", "'%.200s' cannot be brought in copy-on-write: %s", op->from, what);
    return err_set_retry(err, ERR_WITH_OTHER_COW);
}

static int cannot_make(const struct plan_op *op, sbr_error *err)
{
    return err_set_errno(err, "mounts", "cannot make room above '%.200s'", op->from);
}

uint64_t cow_inodes(const struct plan *plan)
{
    uint64_t n = 0;

    for (size_t i = 0; i < plan->n_ops; i++)
        n += plan->ops[i].kind == OP_COW;
    return n ? INODES_OF_ALL + n * INODES_OF_ONE : 0;
}

/* Makes `.cow` as a mount of its own, which stays writable when the root becomes read-only. */
static int open_dir(const struct inside *in)
{
    scoped_fd int tree = -1;

    if (in->n_uppers)
        return 0;
    if (mkdir(COW_DIR, 0700) < 0)
        return -1;
    tree = mount_clone(AT_FDCWD, COW_DIR, ATTR_BASE);
    if (tree < 0 || mount_attach(tree, AT_FDCWD, COW_DIR) < 0)
        return -1;
    return mkdir(COW_EMPTY, 0555);
}

/* Attaches the lower tree, which must be a directory, at `at`. */
static int open_lower(struct inside *in, const struct plan_op *op, const char *at, struct stat *st,
                      sbr_error *err)
{
    scoped_fd int tree = op->flags & OP_PASSED ? mount_take_passed(in)
                                               : mount_clone_top(AT_FDCWD, op->from, ATTR_BIND);

    /* Another file system is mounted in it; the files below that mount must stay hidden. */
    if (tree < 0 && errno == EINVAL)
        return refused(op, "another file system is mounted in it", err);
    if (tree < 0 || fstat(tree, st) < 0)
        return err_set_errno(err, "mounts", "cannot bring in '%.200s' as '/%s'", op->from, op->to);
    if (!S_ISDIR(st->st_mode))
        return err_set(err, SBR_E_INVALID, "mounts",
                       "'%.200s' is no directory and cannot be brought in copy-on-write; bring in "
                       "the directory that it is in, or the file as ro",
                       op->from);
    if (inode_id_check(op->was, st, op->from, err) < 0)
        return err->code;
    if (mkdir(at, 0700) < 0 || mount_attach(tree, AT_FDCWD, at) < 0)
        return cannot_make(op, err);
    return 0;
}

/* Attaches our directory on the host's disk at `at`. */
static int open_disk(struct inside *in, const struct plan_op *op, const char *at, sbr_error *err)
{
    scoped_fd int tree = op->flags & OP_PASSED ? mount_take_passed(in)
                                               : mount_clone_top(AT_FDCWD, op->upper, ATTR_BASE);

    if (tree < 0 || mkdir(at, 0700) < 0 || mount_attach(tree, AT_FDCWD, at) < 0)
        return cannot_make(op, err);
    return 0;
}

/* Overlayfs marks in user xattrs that a directory hides the one below it.  It also mounts without
 * them, but then making a removed directory again fails later. */
static int has_xattrs(int fd)
{
    static const char name[] = "user.sandbox_run";

    return fsetxattr(fd, name, "", 0, 0) < 0 ? -1 : fremovexattr(fd, name);
}

/* Makes directories `upper` and `work` in `base` and keeps `upper` open. */
static int open_upper(struct inside *in, const struct plan_op *op, const char *base,
                      const struct stat *lower, sbr_error *err)
{
    char upper[COW_PATH], work[COW_PATH];
    scoped_fd int fd = -1;

    snprintf(upper, sizeof(upper), "%s/upper", base);
    snprintf(work, sizeof(work), "%s/work", base);
    if ((mkdir(upper, 0700) < 0 && errno != EEXIST) || (mkdir(work, 0700) < 0 && errno != EEXIST))
        return cannot_make(op, err);
    fd = open(upper, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    /* `upper` becomes the top of the tree, and init writes the request's files into it. */
    if (fd < 0 || fchmod(fd, (lower->st_mode & 0777) | 0700) < 0)
        return cannot_make(op, err);
    if (has_xattrs(fd) < 0)
        return refused(op, "there are no user xattrs above it", err);
    in->uppers[in->n_uppers++] = take_fd(fd);
    return 0;
}

static int mount_overlay(const struct plan_op *op, const char *dir, const char *base,
                         sbr_error *err)
{
    char lower[COW_OPTION], upper[COW_OPTION], work[COW_OPTION];
    const char *const options[] = { lower, upper, work, "userxattr", "xino=on", NULL };
    scoped_fd int overlay = -1;

    snprintf(lower, sizeof(lower), "lowerdir=%s/lower", dir);
    snprintf(upper, sizeof(upper), "upperdir=%s/upper", base);
    snprintf(work, sizeof(work), "workdir=%s/work", base);
    overlay = mount_new("overlay", options, ATTR_BASE);
    if (overlay < 0)
        return refused(op, "no overlay can be mounted over it", err);
    if (mount_make_point(op, true) < 0 || mount_attach(overlay, AT_FDCWD, op->to) < 0)
        return err_set_errno(err, "mounts", "cannot bring in '%.200s' as '/%s'", op->from, op->to);
    return 0;
}

/* The overlay has the tree; no path of the new root may lead to it.  Every unmount waits until no
 * CPU looks at the mount any more, so the tree goes to a place among the host's files, which init
 * unmounts all at once when it leaves them. */
static int let_go(const char *lower)
{
    if (syscall(SYS_move_mount, AT_FDCWD, lower, AT_FDCWD, "/proc", 0) == 0)
        return 0;
    return umount2(lower, MNT_DETACH);
}

int cow_perform(struct inside *in, const struct plan_op *op, sbr_error *err)
{
    char dir[COW_PATH / 2], lower[COW_PATH], disk[COW_PATH / 2 + 8];
    const char *base = op->upper ? disk : dir;
    struct stat st;

    snprintf(dir, sizeof(dir), COW_DIR "/%zu", in->n_uppers);
    snprintf(lower, sizeof(lower), "%s/lower", dir);
    snprintf(disk, sizeof(disk), "%s/disk", dir);
    if (in->n_uppers == PLAN_MAX_COW)
        return err_set(err, SBR_E_BUG, "mounts", "there are more trees than a plan can have");
    if (open_dir(in) < 0 || mkdir(dir, 0700) < 0)
        return cannot_make(op, err);
    if (open_lower(in, op, lower, &st, err) < 0 ||
        (op->upper && open_disk(in, op, disk, err) < 0) || open_upper(in, op, base, &st, err) < 0 ||
        mount_overlay(op, dir, base, err) < 0)
        return err->code;
    return let_go(lower) < 0 ? err_set_errno(err, "mounts", "cannot let go of '%.200s'", op->from)
                             : 0;
}

int cow_open_copy(struct inside *in, const struct plan_op *op, sbr_error *err)
{
    scoped_fd int fd = open(op->to, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

    if (fd < 0 || in->n_copies == PLAN_MAX_COW)
        return err_set_errno(err, "mounts", "cannot open the copy at '/%s'", op->to);
    in->copies[in->n_copies++] = take_fd(fd);
    return 0;
}

int cow_cover(struct inside *in, sbr_error *err)
{
    scoped_fd int tree = -1;

    if (!in->n_uppers || plan_leaves_out(in->plan, "cow-cover"))
        return 0;
    tree = mount_clone(AT_FDCWD, COW_EMPTY, ATTR_BIND | MOUNT_ATTR_NOEXEC);
    if (tree < 0 || mount_attach(tree, AT_FDCWD, COW_DIR) < 0)
        return err_set_errno(err, "mounts", "cannot cover what lies above the trees");
    return 0;
}
