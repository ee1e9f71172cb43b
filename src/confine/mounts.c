/* The private root: built from nothing on a tmpfs; then the host's tree is detached.
 *
 *   (1) Sources on the host are opened by file descriptor, without following a link at their
 *       end, and devices are checked for their type and numbers: a /dev/null that is
 *       something else is refused.
 *   (2) Every mount is nosuid, and all but the device nodes are nodev; mounts from the host are
 *       private, so later mounts of the host do not appear inside, and read-only unless the
 *       plan says OP_WRITABLE.
 *   (3) After pivot_root the old tree is detached, so no path and no ".." leads back to it. */
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <linux/sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/inode.h"
#include "confine/mounts.h"
#include "confine/run_dir.h"

typedef int perform_fn(struct inside *in, const struct plan_op *op, sbr_error *err);

static int op_error(const struct plan_op *op, sbr_error *err)
{
    if (op->kind == OP_BIND)
        return err_set_errno(err, "mounts", "cannot bring in '%s' as '/%s'", op->from, op->to);
    return err_set_errno(err, "mounts", "cannot make %s '/%s'", plan_op_name(op->kind), op->to);
}

static int perform_dir(struct inside *in, const struct plan_op *op, sbr_error *err)
{
    (void)in;
    return mount_make_directories(op->to, op->mode) < 0 ? op_error(op, err) : 0;
}

static int perform_file(struct inside *in, const struct plan_op *op, sbr_error *err)
{
    (void)in;
    return (op->flags & OP_OVER ? mount_replace_file : mount_make_file)(op->to, op->mode, op->data,
                                                                        op->len) < 0
               ? op_error(op, err)
               : 0;
}

static int perform_symlink(struct inside *in, const struct plan_op *op, sbr_error *err)
{
    (void)in;
    return symlink(op->from, op->to) < 0 ? op_error(op, err) : 0;
}

static int bind_tree(struct inside *in, const struct plan_op *op, sbr_error *err)
{
    uint64_t attributes = op->flags & OP_WRITABLE ? ATTR_BASE : ATTR_BIND;
    scoped_fd int tree =
        op->flags & OP_PASSED ? mount_take_passed(in) : mount_clone(AT_FDCWD, op->from, attributes);
    struct stat st;

    if (tree < 0 && errno == ENOENT && op->flags & OP_OPTIONAL)
        return 0;
    if (tree < 0 || fstat(tree, &st) < 0)
        return op_error(op, err);
    if (inode_id_check(op->was, &st, op->from, err) < 0)
        return err->code;
    if (!S_ISDIR(st.st_mode) && !S_ISREG(st.st_mode))
        return err_set(err, SBR_E_INVALID, "mounts",
                       "'%s' is neither a file nor a directory and cannot be brought in", op->from);
    if (op->flags & OP_VIEW && S_ISDIR(st.st_mode))
        return view_bring(in, op, tree, err);
    if (mount_make_point(op, S_ISDIR(st.st_mode)) < 0 || mount_attach(tree, AT_FDCWD, op->to) < 0)
        return op_error(op, err);
    return op->flags & OP_OWN ? cow_open_copy(in, op, err) : 0;
}

/* A directory that is known to be one and has a path needs no bind mount below its view. */
static bool is_viewed(const struct inside *in, const struct plan_op *op)
{
    const uint32_t flags = OP_VIEW | OP_DIRECTORY;

    return (op->flags & (flags | OP_PASSED)) == flags && !plan_leaves_out(in->plan, "views") &&
           mount_make_point(op, true) == 0 && view_mount(op) == 0;
}

static int perform_bind(struct inside *in, const struct plan_op *op, sbr_error *err)
{
    if (is_viewed(in, op))
        return 0;
    return bind_tree(in, op, err);
}

/* Makes a file and copies the content of another one into it; 0 or -1. */
static int copy_content(int from, const char *to, uint32_t mode)
{
    scoped_fd int fd = mount_make_open_file(to, mode);
    ssize_t n = -1;

    while (fd >= 0 && ((n = sendfile(fd, from, NULL, 1u << 30)) > 0 || (n < 0 && errno == EINTR)))
        continue;
    return n < 0 ? -1 : 0;
}

static int perform_copy(struct inside *in, const struct plan_op *op, sbr_error *err)
{
    scoped_fd int from = open(op->from, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);

    (void)in;
    if (from < 0 && errno == ENOENT && op->flags & OP_OPTIONAL)
        return 0;
    return from < 0 || copy_content(from, op->to, op->mode) < 0 ? op_error(op, err) : 0;
}

static int perform_device(struct inside *in, const struct plan_op *op, sbr_error *err)
{
    /* Read-only protects the times and mode of the host's node; the device
     * behind it stays writable. */
    scoped_fd int tree =
        mount_clone(AT_FDCWD, op->from, MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NOEXEC);
    struct stat st;

    (void)in;
    if (tree < 0 || fstat(tree, &st) < 0)
        return op_error(op, err);
    if (!S_ISCHR(st.st_mode) || major(st.st_rdev) != op->device >> 32 ||
        minor(st.st_rdev) != (uint32_t)op->device)
        return err_set(err, SBR_E_DENIED, "mounts",
                       "the host's '%s' is not the device it should be", op->from);
    if (mount_make_point(op, false) < 0 || mount_attach(tree, AT_FDCWD, op->to) < 0)
        return op_error(op, err);
    return 0;
}

/* Init counts what it and its children read and wrote.  It may open its own file only while it is
 * dumpable, which the change of its user ended. */
static int open_own_io(int proc)
{
    int fd;

    prctl(PR_SET_DUMPABLE, 1, 0, 0, 0);
    fd = openat(proc, "self/io", O_RDONLY | O_CLOEXEC);
    prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
    return fd;
}

static int perform_proc(struct inside *in, const struct plan_op *op, sbr_error *err)
{
    static const char *const whole[] = { NULL };
    static const char *const processes[] = { "subset=pid", NULL };
    uint64_t read_only = plan_leaves_out(in->plan, "read-only-proc") ? 0 : MOUNT_ATTR_RDONLY;
    scoped_fd int proc = mount_new("proc", op->flags & OP_PID_ONLY ? processes : whole,
                                   ATTR_BASE | MOUNT_ATTR_NOEXEC | read_only);

    if (proc < 0 || mount_make_directories(op->to, 0555) < 0 ||
        mount_attach(proc, AT_FDCWD, op->to) < 0)
        return op_error(op, err);
    in->io_fd = open_own_io(proc);
    in->proc_fd = take_fd(proc);
    return 0;
}

/* Makes an empty mount once, file or directory, for OP_MASK to cover parts of procfs with.
 * Covering is then a single call each, which takes over the flags. */
static int perform_empty(struct inside *in, const struct plan_op *op, sbr_error *err)
{
    scoped_fd int tree = -1;

    (void)in;
    if (mount_make_point(op, op->flags & OP_DIRECTORY) < 0)
        return op_error(op, err);
    tree = mount_clone(AT_FDCWD, op->to, ATTR_BASE | MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOEXEC);
    if (tree < 0 || mount_attach(tree, AT_FDCWD, op->to) < 0)
        return op_error(op, err);
    return 0;
}

/* Covers a file of an untrusted tree.  Where init may not even look, nor may the program. */
static int cover_left_out(const struct plan_op *op, sbr_error *err)
{
    const uint64_t empty = ATTR_BASE | MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOEXEC;
    const unsigned int flags = MOVE_MOUNT_F_EMPTY_PATH | MOVE_MOUNT_T_EMPTY_PATH;
    scoped_fd int at = inode_resolve(AT_FDCWD, op->to, O_PATH | O_NOFOLLOW | O_CLOEXEC,
                                     RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS),
                  tree = -1;

    if (at < 0 && (errno == ENOENT || errno == ENOTDIR || errno == EACCES))
        return 0;
    if (at >= 0)
        tree = op->from ? mount_clone(AT_FDCWD, op->from, empty) : mount_clone(at, "", ATTR_BASE);
    if (tree < 0 || syscall(SYS_move_mount, tree, "", at, "", flags) < 0)
        return err_set_errno(err, "mounts", "cannot leave out '/%s'", op->to);
    return 0;
}

static int perform_mask(struct inside *in, const struct plan_op *op, sbr_error *err)
{
    (void)in;
    if (op->flags & OP_LEFT_OUT)
        return cover_left_out(op, err);
    if (mount(op->from, op->to, NULL, MS_BIND, NULL) < 0 &&
        !(errno == ENOENT && op->flags & OP_OPTIONAL))
        return op_error(op, err);
    return 0;
}

static int perform_devpts(struct inside *in, const struct plan_op *op, sbr_error *err)
{
    static const char *const options[] = { "newinstance", "ptmxmode=0666", "mode=0620", "max=16",
                                           NULL };
    scoped_fd int pts = mount_new("devpts", options, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NOEXEC);

    (void)in;
    if (pts < 0 || mount_make_directories(op->to, 0755) < 0 ||
        mount_attach(pts, AT_FDCWD, op->to) < 0)
        return op_error(op, err);
    return 0;
}

/* A directory that the program may write to.  All of them are parts of the root's tmpfs,
 * so one size and one number of files bound them together; the root itself becomes a
 * read-only mount of it. */
static int perform_scratch(struct inside *in, const struct plan_op *op, sbr_error *err)
{
    scoped_fd int tree = -1;

    (void)in;
    if (mount_make_directories(op->to, 0700) < 0 || chmod(op->to, op->mode) < 0)
        return op_error(op, err);
    tree = mount_clone(AT_FDCWD, op->to, ATTR_BASE);
    if (tree < 0 || mount_attach(tree, AT_FDCWD, op->to) < 0)
        return op_error(op, err);
    return 0;
}

/* A later step, after the cgroup is entered, writes these files, so they are charged to the run. */
static int perform_nothing(struct inside *in, const struct plan_op *op, sbr_error *err)
{
    (void)in;
    (void)op;
    (void)err;
    return 0;
}

static perform_fn *const performers[N_OPS] = {
    [OP_DIR] = perform_dir,         [OP_FILE] = perform_file,     [OP_SYMLINK] = perform_symlink,
    [OP_BIND] = perform_bind,       [OP_DEVICE] = perform_device, [OP_PROC] = perform_proc,
    [OP_MASK] = perform_mask,       [OP_DEVPTS] = perform_devpts, [OP_SCRATCH] = perform_scratch,
    [OP_PROGRAM] = perform_nothing, [OP_EMPTY] = perform_empty,   [OP_COW] = cow_perform,
    [OP_COPY] = perform_copy,
};

int mount_perform(struct inside *in, const struct plan_op *op, sbr_error *err)
{
    return performers[op->kind](in, op, err);
}

/* Pages of the tmpfs that the file of an operation takes. */
static uint64_t file_pages(const struct plan_op *op)
{
    uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
    struct stat st;

    if (op->kind == OP_FILE)
        return 1;
    if (op->kind != OP_COPY || stat(op->from, &st) < 0)
        return 0;
    return ((uint64_t)st.st_size + page - 1) / page;
}

/* What the root itself takes of the tmpfs, on top of the program's share: pages of its files, and
 * an inode for everything, plus those of parent directories. */
static uint64_t root_pages(const struct plan *plan)
{
    uint64_t n = 0;

    for (size_t i = 0; i < plan->n_ops; i++)
        n += file_pages(&plan->ops[i]);
    return n;
}

static uint64_t root_inodes(const struct plan *plan)
{
    uint64_t n = 1;

    for (size_t i = 0; i < plan->n_ops; i++) {
        const struct plan_op *op = &plan->ops[i];

        n += op->kind != OP_PROGRAM && op->kind != OP_MASK;
        for (const char *p = op->to; (op->kind == OP_BIND || op->kind == OP_COW) && *p; p++)
            n += *p == '/';
    }
    return n + cow_inodes(plan) + view_inodes(plan);
}

int mount_open_root(struct inside *in, sbr_error *err)
{
    char size[40], inodes[40];
    const char *const options[] = { size, inodes, "mode=0755", NULL };

    /* No mount made from here on may propagate to the host. */
    if (mount(NULL, "/", NULL, MS_PRIVATE, NULL) < 0)
        return err_set_errno(err, "mounts", "cannot make the root private");
    snprintf(size, sizeof(size), "size=%llu",
             (unsigned long long)(in->plan->scratch_bytes +
                                  root_pages(in->plan) * (uint64_t)sysconf(_SC_PAGESIZE)));
    snprintf(inodes, sizeof(inodes), "nr_inodes=%llu",
             (unsigned long long)(in->plan->scratch_inodes + root_inodes(in->plan)));
    in->root_fd = mount_new("tmpfs", options, ATTR_BASE);
    if (in->root_fd < 0 || mount_attach(in->root_fd, AT_FDCWD, "/") < 0 || fchdir(in->root_fd) < 0)
        return err_set_errno(err, "mounts", "cannot make a new root");
    return 0;
}

/* pivot_root stacks the old root on the new one; then it is detached from this namespace. */
int mount_leave_host(struct inside *in, sbr_error *err)
{
    if (syscall(SYS_pivot_root, ".", ".") < 0)
        return err_set_errno(err, "mounts", "cannot enter the new root");
    if (umount2(".", MNT_DETACH) < 0 || chdir("/") < 0)
        return err_set_errno(err, "mounts", "cannot let go of the host's tree");
    if (mount_change(in->root_fd, ATTR_BASE | MOUNT_ATTR_RDONLY) < 0)
        return err_set_errno(err, "mounts", "cannot make the root read-only");
    return 0;
}

static int seal(const struct plan *plan, sbr_error *err)
{
    for (size_t i = 0; i < plan->n_ops; i++) {
        const struct plan_op *op = &plan->ops[i];
        scoped_fd int fd = -1;

        if (!(op->flags & OP_SEALED))
            continue;
        fd = open(op->to, O_PATH | O_NOFOLLOW | O_CLOEXEC);
        if (fd < 0 || mount_change(fd, ATTR_BASE | MOUNT_ATTR_RDONLY) < 0)
            return err_set_errno(err, "mounts", "cannot make '/%s' read-only", op->to);
    }
    return 0;
}

/* Also what is mounted in a volume: no program can be started from it. */
static int forbid_programs(const struct plan *plan, sbr_error *err)
{
    for (size_t i = 0; i < plan->n_ops; i++) {
        const struct plan_op *op = &plan->ops[i];
        scoped_fd int fd = -1;

        if (!(op->flags & OP_NOEXEC))
            continue;
        fd = open(op->to, O_PATH | O_NOFOLLOW | O_CLOEXEC);
        if (fd < 0 && errno == ENOENT && op->flags & OP_OPTIONAL)
            continue;
        if (fd < 0 || mount_change_all(fd, MOUNT_ATTR_NOEXEC) < 0)
            return err_set_errno(err, "mounts", "cannot keep programs from '/%s'", op->to);
    }
    return 0;
}

/* Only here it is known whether a tree can be brought in as planned: the supervisor waits. */
static int tell_mounted(const struct inside *in, sbr_error *err)
{
    const struct init_news news = { NEWS_MOUNTED };

    if (fd_send(in->control_fd, &news, sizeof(news), NULL, 0) < 0)
        return err_set_errno(err, "mounts", "cannot tell the supervisor of the new root");
    return 0;
}

int mount_finish(struct inside *in, sbr_error *err)
{
    if (seal(in->plan, err) < 0 || forbid_programs(in->plan, err) < 0 || cow_cover(in, err) < 0 ||
        view_finish(in, err) < 0)
        return err->code;
    return mount_leave_host(in, err);
}

static int mounts_apply(struct inside *in, sbr_error *err)
{
    if (in->plan->run_dir)
        return run_dir_enter(in, err);
    /* Without a mount namespace this would take the host's root away. */
    if (!(in->plan->namespaces & CLONE_NEWNS))
        return err_set(err, SBR_E_BUG, "mounts", "there is no mount namespace to build a root in");
    umask(0); /* the plan's modes are exact */
    if (mount_open_root(in, err) < 0)
        return err->code;
    for (size_t i = 0; i < in->plan->n_ops; i++)
        if (mount_perform(in, &in->plan->ops[i], err) < 0)
            return err->code;
    if (mount_finish(in, err) < 0)
        return err->code;
    return plan_awaits_mounts(in->plan) ? tell_mounted(in, err) : 0;
}

static void mounts_probe(struct features *features)
{
    for (unsigned int i = 0; i < N_ROOT_NAMES; i++) {
        struct root_entry *entry = &features->root[i];
        char path[16];
        ssize_t n;

        snprintf(path, sizeof(path), "/%s", root_names[i]);
        n = readlink(path, entry->target, sizeof(entry->target) - 1);
        entry->target[n > 0 ? n : 0] = '\0';
        /* Only links into /usr keep their meaning in the new root. */
        if (!strncmp(entry->target, "usr/", 4))
            entry->form = ROOT_LINK;
        else
            entry->form = access(path, F_OK) == 0 ? ROOT_DIRECTORY : ROOT_ABSENT;
    }
}

const struct confiner mounts_confiner = { "mounts", mounts_probe, mounts_apply };

/* Enters the directory for an artifact through its writable mount; returns the rest
 * of the path, or NULL. */
static const char *enter_apart(const struct inside *in, const char *path)
{
    size_t len = in->apart ? strlen(in->apart) : 0;

    if (!len || strncmp(path, in->apart, len) != 0 || path[len] != '/') {
        errno = EINVAL;
        return NULL;
    }
    return fchdir(in->apart_fd) == 0 ? path + len + 1 : NULL;
}

/* Copies a file of an artifact from a file descriptor that came with the order. */
static int copy_passed(struct inside *in, const struct plan_op *op)
{
    scoped_fd int from = mount_take_passed(in);
    const char *path = from >= 0 ? enter_apart(in, op->to) : NULL;

    return path && copy_content(from, path, op->mode) == 0 ? chdir("/") : -1;
}

/* The artifact is complete; from here on nothing can write to it. */
static void close_apart(struct inside *in)
{
    if (in->apart)
        close(in->apart_fd);
    in->apart = NULL;
}

/* Writes a file of the program, over an untrusted tree if one is mounted at /work. */
static int put_program_file(struct inside *in, const struct plan_op *op, bool over_tree,
                            sbr_error *err)
{
    over_tree |= (op->flags & OP_OVER) != 0;
    if (op->flags & OP_PASSED
            ? copy_passed(in, op) == 0
            : (over_tree ? mount_replace_file : mount_make_file)(op->to, op->mode, op->data,
                                                                 op->len) == 0)
        return 0;
    if (errno == ENOSPC)
        return err_set(err, SBR_E_INVALID, "program",
                       "the program's files do not fit; raise --disk or --inodes, or show their "
                       "directory with --project");
    if (over_tree && errno == EISDIR)
        return err_set(err, SBR_E_INVALID, "program",
                       "the file '/%s' of the request has the name of a directory; rename it",
                       op->to);
    if (over_tree && (errno == ENOTDIR || errno == ELOOP))
        return err_set(err, SBR_E_INVALID, "program",
                       "the file '/%s' of the request would lie behind a link or a file that is "
                       "there; rename it",
                       op->to);
    return op_error(op, err);
}

/* Writes the program's files and enters its work directory. */
static int program_apply(struct inside *in, sbr_error *err)
{
    bool over_tree = plan_has_tree(in->plan, "work");
    char cwd[1100];

    for (size_t i = 0; i < in->plan->n_ops; i++)
        if (in->plan->ops[i].kind == OP_PROGRAM && !(in->plan->ops[i].flags & OP_DIRECTORY) &&
            put_program_file(in, &in->plan->ops[i], over_tree, err) < 0)
            return err->code;
    close_apart(in);
    umask(022);
    if (mount_enter_workdir(in->plan) < 0)
        return err_set_errno(err, "program", "cannot enter the work directory '%s'",
                             in->plan->workdir);
    /* The kernel names a directory outside the root "(unreachable)...". */
    if (!getcwd(cwd, sizeof(cwd)) || cwd[0] != '/')
        return err_set(err, SBR_E_DENIED, "program", "the work directory is outside the sandbox");
    return 0;
}

const struct confiner program_confiner = { "program", NULL, program_apply };
