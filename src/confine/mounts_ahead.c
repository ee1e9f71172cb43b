/* The private root of sandboxes that are made ahead, in two parts: the factory builds once what is
 * read-only and the same for all; each shell adds what is writable or belongs to its own
 * namespaces.  A program cannot take apart its copy of the factory's mounts, because the kernel
 * locks mounts that come from a more privileged namespace.
 *
 *   (1) Nothing that a program can write to is shared: every scratch directory is on a new tmpfs.
 *   (2) The factory's procfs stays below each shell's, because the kernel allows a new procfs only
 *       where another is fully visible.  No process inside may remove the mount above it, and it
 *       shows only the factory's processes.
 *   (3) The directories of an image are writable, each with an upper layer in the scratch space of
 *       its run, so shells share none of them: the factory stays among the host's files, and each
 *       shell builds its whole root as a cold run does. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "confine/mounts.h"

#define SCRATCH                                                                                    \
    "tmp" /* where a shell's tmpfs is mounted until its parts are attached at their own paths */
#define MAX_PARTS 8
#define MAX_INODES (2 * MAX_PARTS) /* taken by the parts and their parents */

static int ahead_error(const struct plan_op *op, sbr_error *err)
{
    return err_set_errno(err, "mounts", "cannot make %s '/%s'", plan_op_name(op->kind), op->to);
}

static int factory_proc(struct inside *in, const struct plan_op *op, sbr_error *err)
{
    static const char *const whole[] = { NULL };
    scoped_fd int proc = mount_new("proc", whole, ATTR_BASE | MOUNT_ATTR_NOEXEC);

    if (proc < 0 || mount_make_directories(op->to, 0555) < 0 ||
        mount_attach(proc, AT_FDCWD, op->to) < 0)
        return ahead_error(op, err);
    in->proc_fd = take_fd(proc);
    return 0;
}

/* For the ids of shells; no path leads to it. */
static int factory_of_image(struct inside *in, sbr_error *err)
{
    static const char *const whole[] = { NULL };

    in->proc_fd = mount_new("proc", whole, ATTR_BASE | MOUNT_ATTR_NOEXEC);
    return in->proc_fd < 0 ? err_set_errno(err, "mounts", "cannot make a procfs") : 0;
}

static int factory_perform(struct inside *in, const struct plan_op *op, sbr_error *err)
{
    switch (op->kind) {
    case OP_PROC:
        return factory_proc(in, op, err);
    case OP_DEVPTS:
    case OP_SCRATCH:
        return mount_make_directories(op->to, 0755) < 0 ? ahead_error(op, err) : 0;
    case OP_MASK:
    case OP_PROGRAM:
        return 0;
    case OP_COW:
        return err_set(err, SBR_E_BUG, "mounts", "a blueprint has no copy-on-write tree");
    default:
        return mount_perform(in, op, err);
    }
}

static int factory_apply(struct inside *in, sbr_error *err)
{
    if (plan_is_of_image(in->plan))
        return factory_of_image(in, err);
    umask(0);
    if (mount_open_root(in, err) < 0)
        return err->code;
    for (size_t i = 0; i < in->plan->n_ops; i++)
        if (factory_perform(in, &in->plan->ops[i], err) < 0)
            return err->code;
    umask(022); /* for the zygote */
    return view_finish(in, err) < 0 ? err->code : mount_leave_host(in, err);
}

/* A tmpfs of the size that the blueprint gives. */
static int new_tmpfs(uint64_t bytes, uint64_t inodes)
{
    char size[40], number[40];
    const char *const options[] = { size, number, "mode=0755", NULL };

    snprintf(size, sizeof(size), "size=%llu", (unsigned long long)bytes);
    snprintf(number, sizeof(number), "nr_inodes=%llu", (unsigned long long)inodes);
    return mount_new("tmpfs", options, ATTR_BASE);
}

/* A part has the same path in the tmpfs as in the root, so what is collected is found there. */
static int shell_part(const struct plan_op *op, int *ret, sbr_error *err)
{
    char path[256];

    if (snprintf(path, sizeof(path), SCRATCH "/%s", op->to) >= (int)sizeof(path)) {
        errno = ENAMETOOLONG;
        return ahead_error(op, err);
    }
    if (mount_make_directories(path, 0700) < 0 || chmod(path, op->mode) < 0 ||
        (*ret = mount_clone(AT_FDCWD, path, ATTR_BASE)) < 0)
        return ahead_error(op, err);
    return 0;
}

static bool is_part(const struct plan_op *op)
{
    return op->kind == OP_SCRATCH && !(op->flags & OP_APART);
}

/* One tmpfs for all that the program may write to, so one size and one number of files bound it. */
static int shell_scratch(struct inside *in, sbr_error *err)
{
    const struct plan *plan = in->plan;
    int parts[MAX_PARTS], r = 0;
    size_t n = 0, used = 0;

    in->root_fd = new_tmpfs(plan->scratch_bytes, plan->scratch_inodes + MAX_INODES);
    if (in->root_fd < 0 || chdir("/") < 0 || mount_attach(in->root_fd, AT_FDCWD, SCRATCH) < 0)
        return err_set_errno(err, "mounts", "cannot make the scratch space");
    for (size_t i = 0; r == 0 && i < plan->n_ops && n < MAX_PARTS; i++)
        if (is_part(&plan->ops[i]) && (r = shell_part(&plan->ops[i], &parts[n], err)) == 0)
            n++;
    if (r == 0 && umount2(SCRATCH, MNT_DETACH) < 0)
        r = err_set_errno(err, "mounts", "cannot hide the scratch space");
    for (size_t i = 0; i < plan->n_ops && used < n; i++) {
        if (!is_part(&plan->ops[i]))
            continue;
        if (r == 0 && mount_attach(parts[used], AT_FDCWD, plan->ops[i].to) < 0)
            r = ahead_error(&plan->ops[i], err);
        close(parts[used++]);
    }
    return r;
}

/* The program sees the artifact read-only, like the layer of a cold run.  Init has no
 * capability left when the artifact comes, so it keeps a second mount of the same file
 * system outside the tree. */
static int shell_apart(struct inside *in, const struct plan_op *op, sbr_error *err)
{
    const uint64_t attributes =
        plan_leaves_out(in->plan, "read-only-artifact") ? ATTR_BASE : ATTR_BIND;
    scoped_fd int tree = new_tmpfs(PLAN_APART_BYTES, in->plan->scratch_inodes);

    if (in->apart)
        return err_set(err, SBR_E_BUG, "mounts", "a blueprint has one place for an artifact");
    if (tree < 0 || mount_make_directories(op->to, 0755) < 0 ||
        mount_attach(tree, AT_FDCWD, op->to) < 0)
        return ahead_error(op, err);
    in->apart_fd = mount_clone(AT_FDCWD, op->to, ATTR_BASE);
    if (in->apart_fd < 0 || mount_change(tree, attributes) < 0)
        return ahead_error(op, err);
    in->apart = op->to;
    return 0;
}

static int shell_perform(struct inside *in, const struct plan_op *op, sbr_error *err)
{
    switch (op->kind) {
    case OP_SCRATCH:
        return is_part(op) ? 0 : shell_apart(in, op, err);
    case OP_PROC:
    case OP_MASK:
    case OP_DEVPTS:
        return mount_perform(in, op, err);
    default:
        return 0;
    }
}

static int shell_of_image(struct inside *in, sbr_error *err)
{
    if (mount_open_root(in, err) < 0)
        return err->code;
    for (size_t i = 0; i < in->plan->n_ops; i++) {
        const struct plan_op *op = &in->plan->ops[i];
        bool is_apart = op->kind == OP_SCRATCH && op->flags & OP_APART;

        if ((is_apart ? shell_apart : mount_perform)(in, op, err) < 0)
            return err->code;
    }
    return mount_finish(in, err);
}

static int shell_of_host(struct inside *in, sbr_error *err)
{
    in->report->shares_inodes = in->shares_inodes; /* as the factory found */
    if (shell_scratch(in, err) < 0)
        return err->code;
    for (size_t i = 0; i < in->plan->n_ops; i++)
        if (shell_perform(in, &in->plan->ops[i], err) < 0)
            return err->code;
    return 0;
}

static int shell_apply(struct inside *in, sbr_error *err)
{
    int r;

    umask(0);
    r = (plan_is_of_image(in->plan) ? shell_of_image : shell_of_host)(in, err);
    umask(022); /* for a driver */
    return r;
}

const struct confiner factory_mounts_confiner = { "mounts", NULL, factory_apply };
const struct confiner shell_mounts_confiner = { "mounts", NULL, shell_apply };
