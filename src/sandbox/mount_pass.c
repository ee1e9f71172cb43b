
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/way.h"
#include "confine/mounts.h"
#include "sandbox/ids.h"
#include "sandbox/mount_below.h"

struct passing {
    struct idmap map;
    int *fds;
    size_t *n;
};

static int bring_error(const struct plan_op *op, sbr_error *err)
{
    return err_set_errno(err, "mounts", "cannot bring in '%.200s' as '/%s'", op->from, op->to);
}

/* SBR_E_UNSUPPORTED, because another kind of copy-on-write needs no mapped owners. */
static int owners_error(const struct plan_op *op, sbr_error *err)
{
    err_set_errno(err, "cow", "the owners of files in '%.200s' cannot be mapped", op->from);
    return err_set_retry(err, ERR_WITH_OTHER_COW);
}

static int add(struct passing *passing, int fd, sbr_error *err)
{
    if (*passing->n == FD_MAX_PASSED) {
        close(fd);
        return err_set(err, SBR_E_INVALID, "mounts", "at most %d trees can be brought in",
                       FD_MAX_PASSED);
    }
    passing->fds[(*passing->n)++] = fd;
    return 0;
}

/* Writes reach the host, so they must have an owner that the host knows. */
static int map_writable(struct passing *passing, const struct plan_op *op, int tree, sbr_error *err)
{
    if (!(op->flags & OP_WRITABLE) || idmap_tree(&passing->map, tree, true) == 0)
        return 0;
    if (!(op->flags & OP_OWN)) {
        err_set_errno(err, "mounts",
                      "'%.200s' cannot be written to as its owner: its file system maps no owners; "
                      "bring it in as cow, or call as an ordinary user",
                      op->from);
        err->code = SBR_E_UNSUPPORTED;
        return err->code;
    }
    return idmap_chown(passing->map.ids, tree) < 0 ? owners_error(op, err) : 0;
}

/* Walked by file descriptors: another user who owns a directory on the way could lead root to any
 * other by a link. */
static int clone_source(const char *path, uint64_t attributes, bool below)
{
    scoped_fd int fd = way_open(path, O_PATH);

    if (fd < 0)
        return -1;
    return below ? mount_clone(fd, "", attributes) : mount_clone_top(fd, "", attributes);
}

static int pass_bind(struct passing *passing, const struct plan_op *op, sbr_error *err)
{
    uint64_t attributes = op->flags & OP_WRITABLE ? ATTR_BASE : ATTR_BIND;
    scoped_fd int tree = clone_source(op->from, attributes, true);

    if (tree < 0)
        return bring_error(op, err);
    if (map_writable(passing, op, tree, err) < 0)
        return err->code;
    return add(passing, take_fd(tree), err);
}

/* The run's user owns what overlayfs writes to. */
static int pass_upper(struct passing *passing, const struct plan_op *op, sbr_error *err)
{
    static const char *const names[] = { ".", "upper", "work" };
    const struct ids *ids = passing->map.ids;
    scoped_fd int tree = mount_clone_top(AT_FDCWD, op->upper, ATTR_BASE);

    for (size_t i = 0; tree >= 0 && i < ARRAY_LEN(names); i++)
        if (fchownat(tree, names[i], ids->host_uid, ids->host_gid, AT_SYMLINK_NOFOLLOW) < 0 &&
            errno != ENOENT)
            return owners_error(op, err);
    if (tree < 0)
        return bring_error(op, err);
    return add(passing, take_fd(tree), err);
}

/* The kernel refuses an ordinary user the same: the program must not see what a mount covers. */
static int mounted_error(const struct plan_op *op, sbr_error *err)
{
    err_set(err, SBR_E_UNSUPPORTED, "cow",
            "'%.200s' cannot be brought in copy-on-write: another file system is mounted in it",
            op->from);
    return err_set_retry(err, ERR_WITH_OTHER_COW);
}

static int pass_cow(struct passing *passing, const struct plan_op *op, sbr_error *err)
{
    scoped_fd int tree = clone_source(op->from, ATTR_BIND, false);

    if (tree < 0)
        return bring_error(op, err);
    if (!(op->flags & OP_IMAGE) && mount_is_below(op->from))
        return mounted_error(op, err);
    if (idmap_tree(&passing->map, tree, false) < 0)
        return owners_error(op, err);
    if (add(passing, take_fd(tree), err) < 0)
        return err->code;
    return op->upper ? pass_upper(passing, op, err) : 0;
}

/* For root that may not mount: init opens the copy itself. */
static int give_copy(const struct plan_op *op, const struct ids *ids, sbr_error *err)
{
    scoped_fd int tree = open(op->from, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

    if (tree < 0)
        return bring_error(op, err);
    return idmap_chown(ids, tree) < 0 ? owners_error(op, err) : 0;
}

int mount_pass(const struct plan *plan, const struct ids *ids, int fds[FD_MAX_PASSED],
               size_t *ret_n, sbr_error *err)
{
    struct passing passing = { .fds = fds, .n = ret_n };
    int r = 0;

    *ret_n = 0;
    idmap_init(&passing.map, ids);
    for (size_t i = 0; r == 0 && i < plan->n_ops; i++) {
        const struct plan_op *op = &plan->ops[i];

        if (op->flags & OP_PASSED)
            r = op->kind == OP_COW ? pass_cow(&passing, op, err) : pass_bind(&passing, op, err);
        else if (op->flags & OP_OWN && ids->lock_fd >= 0)
            r = give_copy(op, ids, err);
    }
    idmap_done(&passing.map);
    return r;
}
