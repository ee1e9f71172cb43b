/* New contents are made aside, complete with owner, mode and time, under names that can be
 * recognised; nothing in use is touched.  They stand in the directory that they are for, or above
 * it when that has to be made yet. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/listing.h"
#include "base/record.h"
#include "changes/apply.h"
#include "changes/apply_plan.h"
#include "changes/beneath.h"
#include "changes/copy_tree.h"
#include "changes/node.h"

#define FEW 64 /* up to so many are flushed one by one, more all at once */

struct owner {
    uid_t uid;
    gid_t gid;
};

void apply_plan_temp_name(const struct apply_plan *e, const struct step *step,
                          char name[TEMP_NAME_SIZE])
{
    snprintf(name, TEMP_NAME_SIZE, ".sandbox-run-%.32s-%zu", e->id, step->number);
}

/* Content of an untrusted program never gets set-id bits, with which it would run as another user;
 * of the sticky and set-id bits of others, only those that were there before. */
mode_t apply_plan_mode(const struct step *step, mode_t now)
{
    mode_t mode = step->want.mode & 0777;
    bool was_dir = S_ISDIR(step->there.st_mode);

    if (step->exact)
        return step->want.mode & 07777;
    if (step->mode_only || (step->want.kind == NODE_DIR && was_dir))
        return mode | (step->want.mode & step->there.st_mode & 07000);
    if (step->want.kind == NODE_DIR)
        return mode | (now & S_ISGID); /* as the directory above it */
    if (step->change && S_ISREG(step->there.st_mode) && step->change->base.kind == NODE_FILE &&
        step->change->base.mode == step->want.mode)
        mode = step->there.st_mode & 0777; /* the program did not change it */
    return mode;
}

static struct owner owner_of(const struct step *step, const struct stat *dir)
{
    if (step->exact)
        return (struct owner){ step->uid, step->gid };
    if (step->there.st_mode)
        return (struct owner){ step->there.st_uid, step->there.st_gid };
    return (struct owner){ geteuid() == 0 ? dir->st_uid : (uid_t)-1,
                           geteuid() == 0 || dir->st_mode & S_ISGID ? dir->st_gid : (gid_t)-1 };
}

/* An owner that is not permitted stays; *ret_mode then gives our group no more than others have. */
static int set_owner(int fd, struct owner owner, mode_t *ret_mode)
{
    struct stat st;

    if (fstat(fd, &st) < 0)
        return -1;
    if (owner.uid == st.st_uid)
        owner.uid = (uid_t)-1;
    if (owner.gid == st.st_gid)
        owner.gid = (gid_t)-1;
    if (owner.uid == (uid_t)-1 && owner.gid == (gid_t)-1)
        return 0;
    if (fchownat(fd, "", owner.uid, owner.gid, AT_EMPTY_PATH) == 0)
        return 0;
    if (errno != EPERM || geteuid() == 0)
        return -1;
    if (owner.gid != (gid_t)-1 && fchownat(fd, "", (uid_t)-1, owner.gid, AT_EMPTY_PATH) < 0)
        *ret_mode = (*ret_mode & ~(mode_t)070) | ((*ret_mode & 07) << 3 & *ret_mode);
    return 0;
}

static bool is_empty(int dir_fd)
{
    scoped_listing struct listing names = { 0 };

    return listing_read_at(dir_fd, ".", &names) == 0 && names.n == 0;
}

int apply_plan_own(const struct step *step, int dir_fd, const char *name)
{
    scoped_fd int fd = openat(dir_fd, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
    mode_t ignored = 0;
    struct stat dir, st;

    if (fd < 0 || fstat(dir_fd, &dir) < 0 || fstat(fd, &st) < 0)
        return -1;
    /* The owner of the directory may have put something else there: nothing is given away then. */
    if (S_ISDIR(st.st_mode) ? !is_empty(fd) : !S_ISLNK(st.st_mode) || st.st_nlink > 1) {
        errno = EBUSY;
        return -1;
    }
    return set_owner(fd, owner_of(step, &dir), &ignored);
}

void apply_plan_times(const struct step *step, struct timespec times[2])
{
    times[0] = (struct timespec){ .tv_nsec = UTIME_OMIT };
    times[1] = clock_from_ns(step->want.mtime_ns);
}

/* Owner first: a new owner clears bits of the mode. */
static int dress(const struct step *step, int fd, int dir_fd, bool flush)
{
    mode_t mode = apply_plan_mode(step, 0);
    struct timespec times[2];
    struct stat dir;

    apply_plan_times(step, times);
    if (fstat(dir_fd, &dir) < 0 || set_owner(fd, owner_of(step, &dir), &mode) < 0)
        return -1;
    if (fchmod(fd, mode) < 0 || futimens(fd, times) < 0)
        return -1;
    return flush ? fsync(fd) : 0;
}

static int open_content(const struct apply_plan *e, const struct step *step,
                        struct node_state *seen)
{
    return node_open_file(e->roots[step->root].content_fd, step->content, seen);
}

/* O_EXCL: a name of ours that exists is of an attempt that died. */
static int make_new(int dir_fd, const char *name)
{
    const int flags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC;
    int fd = openat(dir_fd, name, flags, 0600);

    if (fd < 0 && errno == EEXIST && unlinkat(dir_fd, name, 0) == 0)
        fd = openat(dir_fd, name, flags, 0600);
    return fd;
}

/* Attributes of the file that is replaced; of an original that comes back, its own. */
static void keep_attributes(const struct apply_plan *e, const struct step *step, int from, int to)
{
    struct node_state seen;
    scoped_fd int old = step->exact || !S_ISREG(step->there.st_mode)
                            ? -1
                            : node_open_file(e->roots[step->root].fd, step->path, &seen);

    if (step->exact)
        attributes_copy(from, to);
    else if (old >= 0 && seen.ino == step->there.st_ino)
        attributes_copy(old, to);
}

static int make_file(struct apply_plan *e, struct step *step, int dir_fd, const char *name)
{
    struct copy_file how = { 0 };
    struct node_state seen;
    scoped_fd int from = -1, to = -1;

    record_crash_point();
    if (step->linkable &&
        linkat(e->roots[step->root].content_fd, step->content, dir_fd, name, 0) == 0)
        return 0;
    from = open_content(e, step, &seen);
    if (from < 0)
        return -1;
    if (seen.node.size != step->want.size) {
        errno = EBADMSG;
        return -1;
    }
    to = make_new(dir_fd, name);
    if (to < 0)
        return -1;
    step->has_temp = true;
    record_crash_point();
    if (copy_file(from, to, seen.node.size, &how) < 0)
        return -1;
    keep_attributes(e, step, from, to);
    record_crash_point();
    return dress(step, to, dir_fd, e->n <= FEW);
}

static int make_link(struct apply_plan *e, struct step *step, int dir_fd, const char *name)
{
    struct timespec times[2];
    size_t len;
    scoped_free char *text = node_link_text(e->roots[step->root].content_fd, step->content, &len);

    if (!text)
        return -1;
    record_crash_point();
    if (symlinkat(text, dir_fd, name) < 0 &&
        (errno != EEXIST || unlinkat(dir_fd, name, 0) < 0 || symlinkat(text, dir_fd, name) < 0))
        return -1;
    step->has_temp = true;
    apply_plan_times(step, times);
    if (utimensat(dir_fd, name, times, AT_SYMLINK_NOFOLLOW) < 0)
        return -1;
    return apply_plan_own(step, dir_fd, name);
}

static int make_other(struct apply_plan *e, struct step *step, int dir_fd, const char *name)
{
    record_crash_point();
    return linkat(e->roots[step->root].content_fd, step->content, dir_fd, name, 0);
}

static int make_dir(struct apply_plan *e, struct step *step, int dir_fd, const char *name)
{
    (void)e;
    record_crash_point();
    if (mkdirat(dir_fd, name, 0700) < 0 && errno != EEXIST)
        return -1;
    step->has_temp = true;
    return apply_plan_own(step, dir_fd, name);
}

/* It may have its final mode from an earlier attempt, which may keep us out. */
static int unlock_content(const struct apply_plan *e, const struct step *step)
{
    const char *name;
    scoped_fd int dir = beneath_parent(e->roots[step->root].content_fd, step->content, &name);

    return dir < 0 ? -1 : fchmodat(dir, name, 0600, AT_SYMLINK_NOFOLLOW);
}

/* The content itself can be moved when it is ours and in the same file system. 1, 0 when not, or
 * -1. */
static int make_movable(struct apply_plan *e, struct step *step, int dir_fd)
{
    struct node_state seen;
    struct stat st, dir;
    scoped_fd int fd = -1;

    if (!(e->flags & APPLY_CONSUME) || step->want.kind != NODE_FILE)
        return 0;
    fd = open_content(e, step, &seen);
    if (fd < 0 && errno == EACCES && unlock_content(e, step) == 0)
        fd = open_content(e, step, &seen);
    if (fd < 0 && errno == ENOENT &&
        S_ISREG(step->there.st_mode)) { /* moved by an earlier attempt */
        step->state = STEP_ALREADY;
        return 1;
    }
    if (fd < 0 || fstat(fd, &st) < 0 || fstat(dir_fd, &dir) < 0)
        return -1;
    if (st.st_dev != dir.st_dev || S_ISDIR(step->there.st_mode))
        return 0;
    record_crash_point();
    if (dress(step, fd, dir_fd, false) < 0)
        return -1;
    step->moves = true;
    return 1;
}

static int make_temp(struct apply_plan *e, struct step *step, sbr_error *err)
{
    static int (*const makers[N_NODE_KINDS])(struct apply_plan *, struct step *, int,
                                             const char *) = {
        [NODE_FILE] = make_file,
        [NODE_DIR] = make_dir,
        [NODE_LINK] = make_link,
        [NODE_OTHER] = make_other,
    };
    scoped_fd int dir = beneath_deepest(e->roots[step->root].fd, step->path, &step->temp_len);
    char name[TEMP_NAME_SIZE];
    int r = dir < 0 ? -1 : make_movable(e, step, dir);

    apply_plan_temp_name(e, step, name);
    if (r == 0) {
        r = makers[step->want.kind](e, step, dir, name);
        step->has_temp = step->has_temp || r == 0;
    }
    if (r < 0 && errno == EBADMSG)
        return err_set(err, SBR_E_SYSTEM, "apply",
                       "the kept content of '%.150s' is damaged; drop these changes and run again",
                       step->path);
    return r < 0 ? apply_plan_fail(step, "write", err) : 0;
}

int apply_plan_make_temps(struct apply_plan *e, sbr_error *err)
{
    bool made = false;

    for (size_t i = 0; i < e->n; i++) {
        struct step *s = &e->steps[i];
        bool from_none = !s->there.st_mode;

        if (s->state != STEP_TODO || s->mode_only || s->want.kind == NODE_NONE)
            continue;
        if (s->want.kind == NODE_DIR && (from_none || S_ISDIR(s->there.st_mode)))
            continue; /* made or changed in place */
        if (make_temp(e, s, err) < 0)
            return err->code;
        made = true;
    }
    if (!made || e->n <= FEW || e->flags & APPLY_CONSUME)
        return 0;
    for (size_t i = 0; i < e->n_roots; i++)
        if (e->roots[i].fd >= 0 && syncfs(e->roots[i].fd) < 0)
            return err_set_errno(err, "apply", "cannot write to '%.200s'", e->roots[i].source);
    return 0;
}

/* Every directory on the way may have it, because another may have been the deepest then. */
static void remove_temps_of(struct apply_plan *e, const struct step *step)
{
    char name[TEMP_NAME_SIZE], prefix[PATH_MAX];
    const char *end = strrchr(step->path, '/');

    apply_plan_temp_name(e, step, name);
    for (size_t len = end ? (size_t)(end - step->path) : 0;; len--) {
        scoped_fd int dir = -1;

        if (len > 0 && step->path[len] != '/')
            continue;
        if (len >= sizeof(prefix))
            return;
        memcpy(prefix, step->path, len);
        prefix[len] = '\0';
        dir = node_open(e->roots[step->root].fd, len ? prefix : ".", O_PATH | O_DIRECTORY);
        if (dir >= 0 && unlinkat(dir, name, 0) < 0 && errno == EISDIR)
            (void)unlinkat(dir, name, AT_REMOVEDIR);
        if (len == 0)
            return;
    }
}

void apply_plan_remove_temps(struct apply_plan *e)
{
    for (size_t i = 0; i < e->n; i++)
        if (!e->steps[i].mode_only)
            remove_temps_of(e, &e->steps[i]);
}
