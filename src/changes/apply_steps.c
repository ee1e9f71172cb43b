/* Theory.  Everything that can fail for lack of space is done aside first.  What is left are single
 * system calls on names, in an order in which each can work:
 *
 *   (1) directories are made before what is in them, and files renamed into their places;
 *   (2) removals come after, the deepest first: a file that was renamed is never nowhere;
 *   (3) then files take the places of directories, which are empty now;
 *   (4) modes of directories last, the deepest first: they may lock us out.
 *
 * A file and a directory change places in one call where the file system can; elsewhere there is an
 * instant in which neither is there, and the undo has the original by then. */
#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/record.h"
#include "changes/apply.h"
#include "changes/apply_plan.h"
#include "changes/beneath.h"
#include "changes/node.h"

#define FEW 64

/* Where a step happens. */
struct target {
    int dir; /* of the path   */
    const char *name;
    int temp_dir; /* of the temporary; -1: none */
    char temp[TEMP_NAME_SIZE];
};

/* The final mode of a directory. */
struct final_mode {
    unsigned int root;
    const char *path;
    const struct step *step; /* NULL: it was opened for us */
    mode_t mode;
};

static void target_done(struct target *target)
{
    scope_close_fd(&target->dir);
    scope_close_fd(&target->temp_dir);
}

static int open_temp_dir(const struct apply_plan *e, const struct step *step)
{
    scoped_free char *path = strndup(step->path, step->temp_len);

    if (!path)
        return -1;
    return node_open(e->roots[step->root].fd, *path ? path : ".", O_PATH | O_DIRECTORY);
}

static bool same_time(struct timespec a, struct timespec b)
{
    return a.tv_sec == b.tv_sec && a.tv_nsec == b.tv_nsec;
}

/* Nothing changed since the checks.  A directory only has to be the same one: we change it
 * ourselves. */
static bool is_as_seen(const struct step *step, const struct target *target)
{
    const struct stat *was = &step->there;
    struct stat now;

    if (fstatat(target->dir, target->name, &now, AT_SYMLINK_NOFOLLOW) < 0)
        return errno == ENOENT && !was->st_mode;
    if (now.st_ino != was->st_ino || (now.st_mode & S_IFMT) != (was->st_mode & S_IFMT))
        return false;
    /* Not ctime: our own links to the file change it. */
    return S_ISDIR(now.st_mode) ||
           (now.st_size == was->st_size && same_time(now.st_mtim, was->st_mtim));
}

static int open_target(struct apply_plan *e, const struct step *step, struct target *target,
                       sbr_error *err)
{
    target->temp_dir = -1;
    target->dir = beneath_parent(e->roots[step->root].fd, step->path, &target->name);
    if (target->dir >= 0 && step->has_temp)
        target->temp_dir = open_temp_dir(e, step);
    apply_plan_temp_name(e, step, target->temp);
    if (target->dir < 0 || (step->has_temp && target->temp_dir < 0)) {
        apply_plan_fail(step, "change", err);
        target_done(target);
        return err->code;
    }
    if (!(e->flags & APPLY_NO_CHECK) && !is_as_seen(step, target)) {
        target_done(target);
        return err_set(err, SBR_E_BUSY, "apply",
                       "'%.150s' changed while this was at work; see whether it still should be, "
                       "and repeat",
                       step->path);
    }
    return 0;
}

static int rename_with(const struct target *target, unsigned int flags)
{
    record_crash_point();
    return (int)syscall(SYS_renameat2, target->temp_dir, target->temp, target->dir, target->name,
                        flags);
}

static int rename_plain(const struct target *target)
{
    record_crash_point();
    return renameat(target->temp_dir, target->temp, target->dir, target->name);
}

/* Only where nothing is; without that flag, the look before has to do. */
static int put_new(const struct target *target)
{
    int r = rename_with(target, RENAME_NOREPLACE);

    return r < 0 && (errno == EINVAL || errno == ENOSYS) ? rename_plain(target) : r;
}

/* One of the two is a directory, which is empty. */
static int put_other_kind(const struct target *target, bool was_dir)
{
    const int flag = was_dir ? AT_REMOVEDIR : 0;

    if (rename_with(target, RENAME_EXCHANGE) == 0) {
        record_crash_point();
        if (unlinkat(target->temp_dir, target->temp, flag) == 0)
            return 0;
        return rename_with(target, RENAME_EXCHANGE) < 0 ? -1 : (errno = ENOTEMPTY, -1);
    }
    if (errno != EINVAL && errno != ENOSYS)
        return -1;
    record_crash_point();
    return unlinkat(target->dir, target->name, flag) < 0 ? -1 : rename_plain(target);
}

static int move_content(struct apply_plan *e, const struct step *step, const struct target *target)
{
    const char *name;
    scoped_fd int from = beneath_parent(e->roots[step->root].content_fd, step->content, &name);

    record_crash_point();
    return from < 0 ? -1 : renameat(from, name, target->dir, target->name);
}

/* It has its owner before its name: a kill leaves no directory without its owner. */
static int make_dir(const struct step *step, const struct target *target)
{
    struct target aside = *target;

    aside.temp_dir = target->dir;
    record_crash_point();
    if (mkdirat(target->dir, target->temp, (step->want.mode & 0777) | 0700) < 0 && errno != EEXIST)
        return -1;
    record_crash_point();
    return apply_plan_own(step, target->dir, target->temp) < 0 ? -1 : put_new(&aside);
}

/* Of that very inode: where others may give names, a name is not enough. */
static int set_mode(int dir_fd, const char *name, const struct stat *same, mode_t mode)
{
    scoped_fd int fd = openat(dir_fd, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
    char path[40];
    struct stat st;

    if (fd < 0 || fstat(fd, &st) < 0)
        return -1;
    if (st.st_ino != same->st_ino || st.st_dev != same->st_dev || S_ISLNK(st.st_mode)) {
        errno = EBUSY;
        return -1;
    }
    snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    record_crash_point();
    return chmod(path, mode);
}

static int change_mode(const struct step *step, const struct target *target)
{
    if (step->want.kind == NODE_LINK || (step->there.st_mode & 07777) == apply_plan_mode(step, 0))
        return 0;
    return set_mode(target->dir, target->name, &step->there, apply_plan_mode(step, 0));
}

static int put(struct apply_plan *e, struct step *step, const struct target *target)
{
    bool was_dir = S_ISDIR(step->there.st_mode), was = step->there.st_mode;

    if (step->mode_only)
        return change_mode(step, target);
    if (step->moves)
        return move_content(e, step, target);
    if (step->want.kind == NODE_DIR && !was)
        return make_dir(step, target);
    if (was && was_dir != (step->want.kind == NODE_DIR))
        return put_other_kind(target, was_dir);
    return was ? rename_plain(target) : put_new(target);
}

static int take_away(struct apply_plan *e, struct step *step, const struct target *target)
{
    (void)e;
    record_crash_point();
    return unlinkat(target->dir, target->name, S_ISDIR(step->there.st_mode) ? AT_REMOVEDIR : 0);
}

static int act(struct apply_plan *e, struct step *step,
               int (*action)(struct apply_plan *, struct step *, const struct target *),
               sbr_error *err)
{
    struct target target;
    int r;

    if (open_target(e, step, &target, err) < 0)
        return err->code;
    r = action(e, step, &target);
    if (r < 0 && errno == ENOENT && step->want.kind == NODE_NONE)
        r = 0;
    if (r < 0)
        apply_plan_fail(step, step->want.kind == NODE_NONE ? "remove" : "write", err);
    else
        e->n_done++;
    target_done(&target);
    return r < 0 ? err->code : 0;
}

static bool replaces_dir(const struct step *step)
{
    return S_ISDIR(step->there.st_mode) && step->want.kind != NODE_DIR &&
           step->want.kind != NODE_NONE;
}

static bool stays_dir(const struct step *step)
{
    return S_ISDIR(step->there.st_mode) && step->want.kind == NODE_DIR;
}

static int commit(struct apply_plan *e, sbr_error *err)
{
    for (size_t i = 0; i < e->n; i++) {
        struct step *s = &e->steps[i];

        if (s->state == STEP_TODO && s->want.kind != NODE_NONE && !replaces_dir(s) &&
            !stays_dir(s) && act(e, s, put, err) < 0)
            return err->code;
    }
    for (size_t i = e->n; i-- > 0;)
        if (e->steps[i].state == STEP_TODO && e->steps[i].want.kind == NODE_NONE &&
            act(e, &e->steps[i], take_away, err) < 0)
            return err->code;
    for (size_t i = 0; i < e->n; i++)
        if (e->steps[i].state == STEP_TODO && replaces_dir(&e->steps[i]) &&
            act(e, &e->steps[i], put, err) < 0)
            return err->code;
    return 0;
}

static int deepest_first(const void *a, const void *b)
{
    const struct final_mode *x = a, *y = b;

    if (x->root != y->root)
        return x->root < y->root ? -1 : 1;
    return -strcmp(x->path, y->path);
}

/* The directory that was there, or one that we made and gave away: the owner of the directory above
 * could have put one of root's in its place. */
static bool is_expected(const struct step *step, int parent_fd, const struct stat *now)
{
    struct stat parent;

    if (S_ISDIR(step->there.st_mode))
        return now->st_ino == step->there.st_ino && now->st_dev == step->there.st_dev;
    if (geteuid() != 0)
        return true;
    if (step->exact || step->there.st_mode)
        return now->st_uid == (step->exact ? step->uid : step->there.st_uid);
    return fstat(parent_fd, &parent) == 0 && now->st_uid == parent.st_uid;
}

static int set_final(struct apply_plan *e, const struct final_mode *final)
{
    const char *name = "";
    scoped_fd int parent =
        *final->path ? beneath_parent(e->roots[final->root].fd, final->path, &name) : -1;
    struct stat st;
    mode_t mode = final->mode;

    if (!*final->path)
        return fchmod(e->roots[final->root].fd, mode);
    if (parent < 0 || fstatat(parent, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
        return errno == ENOENT && !final->step ? 0 : -1; /* opened, and removed since */
    if (final->step)
        mode = apply_plan_mode(final->step, st.st_mode);
    if (!S_ISDIR(st.st_mode))
        return 0;
    if (final->step && !is_expected(final->step, parent, &st)) {
        errno = EBUSY;
        return -1;
    }
    if ((st.st_mode & 07777) != mode && set_mode(parent, name, &st, mode) < 0)
        return -1;
    if (final->step && !final->step->mode_only && final->step->want.mtime_ns) {
        struct timespec times[2];

        apply_plan_times(final->step, times);
        record_crash_point();
        return utimensat(parent, name, times, AT_SYMLINK_NOFOLLOW);
    }
    return 0;
}

/* Modes of directories that were opened for us and, with `steps`, those that are changes. */
static int set_finals(struct apply_plan *e, bool steps, sbr_error *err)
{
    scoped_free struct final_mode *finals = calloc(e->n + e->n_opened + 1, sizeof(*finals));
    size_t n = 0;

    if (!finals)
        return err_set_oom(err, "apply");
    for (size_t i = 0; steps && i < e->n; i++)
        if (e->steps[i].state == STEP_TODO && e->steps[i].want.kind == NODE_DIR)
            finals[n++] =
                (struct final_mode){ e->steps[i].root, e->steps[i].path, &e->steps[i], 0 };
    for (size_t i = 0; i < e->n_opened; i++) {
        const struct opened_dir *o = &e->opened[i];
        const struct step *s = apply_plan_find(e, o->root, o->path, strlen(o->path));

        if (!steps || !s || s->state != STEP_TODO || s->want.kind != NODE_DIR)
            finals[n++] = (struct final_mode){ o->root, o->path, NULL, o->mode };
    }
    if (n)
        qsort(finals, n, sizeof(*finals), deepest_first);
    for (size_t i = 0; i < n; i++)
        if (set_final(e, &finals[i]) < 0)
            return err_set_errno(err, "apply", "cannot set the mode of '%.200s'", finals[i].path);
    return 0;
}

static int open_dirs(struct apply_plan *e, sbr_error *err)
{
    for (size_t i = 0; i < e->n_opened; i++) {
        const struct opened_dir *o = &e->opened[i];
        struct final_mode open = { o->root, o->path, NULL, o->mode | 0700 };

        if (set_final(e, &open) < 0)
            return err_set_errno(err, "apply", "cannot open the directory '%.200s' for writing",
                                 o->path);
    }
    return 0;
}

int apply_plan_open_way(struct apply_plan *e, const struct step *step, sbr_error *err)
{
    for (const char *p = strchr(step->path, '/'); p; p = strchr(p + 1, '/')) {
        scoped_free char *path = strndup(step->path, (size_t)(p - step->path));
        const char *name;
        scoped_fd int parent = path ? beneath_parent(e->roots[step->root].fd, path, &name) : -1;
        struct stat st;

        if (!path)
            return err_set_oom(err, "apply");
        if (parent < 0 || fstatat(parent, name, &st, AT_SYMLINK_NOFOLLOW) < 0 ||
            !S_ISDIR(st.st_mode) || (st.st_mode & 0700) == 0700)
            continue;
        if (apply_plan_add_opened(e, step->root, path, st.st_mode, err) < 0)
            return err->code;
        if (set_mode(parent, name, &st, (st.st_mode & 07777) | 0700) < 0)
            return apply_plan_fail(step, "open the way to", err);
    }
    return 0;
}

void apply_plan_close_way(struct apply_plan *e)
{
    sbr_error ignored;

    if (set_finals(e, false, &ignored) < 0)
        return; /* the earlier error is reported */
}

/* Names reach the disk before originals are dropped and before success is reported. */
static int flush_names(struct apply_plan *e, sbr_error *err)
{
    if (e->n_done > FEW) {
        for (size_t i = 0; i < e->n_roots; i++)
            if (e->roots[i].fd >= 0)
                (void)syncfs(e->roots[i].fd);
        return 0;
    }
    for (size_t i = 0; i < e->n; i++) {
        const struct step *s = &e->steps[i];
        size_t len;
        scoped_fd int above = -1, dir = -1;

        if (s->state != STEP_TODO)
            continue;
        above = beneath_deepest(e->roots[s->root].fd, s->path, &len);
        dir = above < 0 ? -1 : openat(above, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (dir >= 0 && fsync(dir) < 0 && errno == EIO)
            return apply_plan_fail(s, "write", err);
    }
    return 0;
}

int apply_plan_run(struct apply_plan *e, sbr_error *err)
{
    int r;

    e->n_done = 0;
    r = open_dirs(e, err);
    if (r == 0) {
        if (e->flags & APPLY_NO_CHECK) /* the others removed leftovers already */
            apply_plan_remove_temps(e);
        r = apply_plan_make_temps(e, err);
    }
    if (r == 0)
        r = commit(e, err);
    if (r == 0)
        r = set_finals(e, true, err);
    if (r == 0)
        return e->flags & APPLY_CONSUME ? 0 : flush_names(e, err);
    apply_plan_remove_temps(e);
    apply_plan_close_way(e);
    return r;
}
