#include "changes/copy_tree.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/inode.h"
#include "base/text.h"
#include "base/walk.h"

#define STAGE "copy"
#define IDENTITIES_MAX (4 * GIB)
#define REPORT_EVERY_US 200000

/* A directory that is being filled. */
struct level {
    int to;
    size_t at; /* its record in the identities */
};

struct copier {
    struct copied *ret;
    const struct copy_progress *progress;
    uint64_t report_at;
    bool stopped;
    bool owners;          /* we are root: owners are copied */
    struct stat top;      /* the copy itself, which may lie within what is copied */
    struct level *levels; /* COPY_MAX_DEPTH + 1; by the depth of what is in them */
    const char *path;     /* for errors */
    sbr_error *err;
};

static int cannot(struct copier *c)
{
    return err_set_errno(c->err, STAGE, "cannot copy '%.250s'", c->path[0] ? c->path : ".");
}

static void report(struct copier *c)
{
    uint64_t now;

    if (!c->progress || !c->progress->report || (now = clock_now_us()) < c->report_at)
        return;
    c->report_at = now + REPORT_EVERY_US;
    c->stopped |= !c->progress->report(c->progress->context, c->ret->files, c->ret->bytes);
}

static void moved(void *context, uint64_t bytes)
{
    struct copier *c = context;

    c->ret->bytes += bytes;
    report(c);
}

/* Recorded without attributes: its absence from the copy is no deletion. */
static int leave_out(struct copier *c, const char *name, mode_t mode)
{
    copy_identity_add(&c->ret->identities, name, mode, NULL);
    c->ret->left_out++;
    return 0;
}

/* Owner, mode and times, in the order in which they do not undo each other; *ret is its stat then.
 */
static int finish(struct copier *c, int fd, const struct stat *st, struct stat *ret)
{
    const struct timespec times[2] = { st->st_atim, st->st_mtim };

    if (c->owners && fchown(fd, st->st_uid, st->st_gid) < 0)
        return cannot(c);
    if (fchmod(fd, st->st_mode & 07777) < 0 || futimens(fd, times) < 0 || fstat(fd, ret) < 0)
        return cannot(c);
    return 0;
}

static int copy_mount_point(struct copier *c, const struct walk_entry *entry);

static int fail(void *context, const struct walk_entry *entry, sbr_error *err)
{
    struct copier *c = context;

    c->path = entry->path;
    if (entry->fd >= 0 && errno != ENAMETOOLONG)
        return cannot(c);
    switch (errno) {
    case ENOENT: /* it went while we looked */
        return 0;
    case EXDEV:
        if (S_ISDIR(entry->st.st_mode))
            return copy_mount_point(c, entry);
        return leave_out(c, entry->name, entry->st.st_mode & S_IFMT);
    case EACCES:
    case EPERM:
    case ELOOP:
    case ENXIO:
    case ENOTDIR:
    case ESTALE:
    case ETXTBSY:
        return leave_out(c, entry->name, entry->st.st_mode & S_IFMT);
    case EMLINK:
        return err_set(err, SBR_E_INVALID, STAGE,
                       "directories are nested deeper than %d, at '%.200s'", COPY_MAX_DEPTH,
                       c->path);
    case ENAMETOOLONG:
        return err_set(err, SBR_E_INVALID, STAGE, "a path is too long to copy: '%.250s'", c->path);
    default:
        return cannot(c);
    }
}

static int copy_regular(struct copier *c, const struct walk_entry *entry)
{
    struct stat st = entry->st, now;
    scoped_fd int in = inode_open_unmounted(entry->dir_fd, entry->name,
                                            O_RDONLY | O_NONBLOCK | O_NOCTTY, &st),
                  out = -1;
    struct copy_file how = { .moved = moved, .context = c };

    if (in < 0)
        return fail(c, entry, c->err);
    out = openat(c->levels[entry->depth].to, entry->name,
                 O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (out < 0 || copy_file(in, out, (uint64_t)st.st_size, &how) < 0)
        return cannot(c);
    if (finish(c, out, &st, &now) < 0)
        return c->err->code;
    c->ret->reflinked |= how.reflinked;
    c->ret->files++;
    copy_identity_add(&c->ret->identities, entry->name, st.st_mode, &now);
    return 0;
}

static int copy_link(struct copier *c, const struct walk_entry *entry)
{
    const struct timespec times[2] = { entry->st.st_atim, entry->st.st_mtim };
    const char *name = entry->name;
    int to = c->levels[entry->depth].to;
    char text[PATH_MAX];
    struct stat now;
    ssize_t n = readlinkat(entry->dir_fd, name, text, sizeof(text) - 1);

    if (n < 0)
        return fail(c, entry, c->err);
    text[n] = '\0';
    if (symlinkat(text, to, name) < 0 ||
        (c->owners &&
         fchownat(to, name, entry->st.st_uid, entry->st.st_gid, AT_SYMLINK_NOFOLLOW) < 0) ||
        utimensat(to, name, times, AT_SYMLINK_NOFOLLOW) < 0 ||
        fstatat(to, name, &now, AT_SYMLINK_NOFOLLOW) < 0)
        return cannot(c);
    c->ret->files++;
    copy_identity_add(&c->ret->identities, name, entry->st.st_mode, &now);
    return 0;
}

/* Ours alone until it is full: its own mode may forbid to put something there. */
static int make_dir(struct copier *c, const struct walk_entry *entry)
{
    int to = c->levels[entry->depth].to;

    return mkdirat(to, entry->name, 0700) < 0
               ? -1
               : openat(to, entry->name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

/* What stands for something else is empty, and `out` is of it; -1: it could not be made. */
static int finish_empty(struct copier *c, const struct walk_entry *entry, int out)
{
    struct stat now;

    if (out < 0)
        return cannot(c);
    if (finish(c, out, &entry->st, &now) < 0)
        return c->err->code;
    copy_identity_add(&c->ret->identities, entry->name, entry->st.st_mode, &now);
    return 0;
}

/* Overlayfs shows the directory below the mount, which is mostly empty. */
static int copy_mount_point(struct copier *c, const struct walk_entry *entry)
{
    scoped_fd int out = make_dir(c, entry);

    return finish_empty(c, entry, out);
}

static int enter(void *context, const struct walk_entry *entry, sbr_error *err)
{
    struct copier *c = context;
    struct level *level = &c->levels[entry->depth + 1];

    (void)err;
    level->to = make_dir(c, entry);
    if (level->to < 0)
        return cannot(c);
    level->at = copy_identity_add(&c->ret->identities, entry->name, entry->st.st_mode, &entry->st);
    return 0;
}

static int leave(void *context, const struct walk_entry *entry, sbr_error *err)
{
    struct copier *c = context;
    struct level *level = &c->levels[entry->depth + 1];
    struct stat now;

    c->path = entry->path;
    if (finish(c, level->to, &entry->st, &now) < 0)
        return err->code;
    copy_identity_close(&c->ret->identities, level->at, &now);
    close(level->to);
    level->to = -1;
    return 0;
}

static int make_empty_file(struct copier *c, const struct walk_entry *entry)
{
    scoped_fd int out = openat(c->levels[entry->depth].to, entry->name,
                               O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);

    return finish_empty(c, entry, out);
}

static bool is_left_out(const struct copier *c, const char *path)
{
    return c->progress && c->progress->is_left_out &&
           c->progress->is_left_out(c->progress->tree, path);
}

static int copy_node(struct copier *c, const struct walk_entry *entry)
{
    if (S_ISREG(entry->st.st_mode) && is_left_out(c, entry->path))
        return make_empty_file(c, entry);
    if (S_ISDIR(entry->st.st_mode) && is_left_out(c, entry->path))
        return copy_mount_point(c, entry) < 0 ? c->err->code : WALK_SKIP;

    switch (entry->st.st_mode & S_IFMT) {
    case S_IFREG:
        return copy_regular(c, entry);
    case S_IFLNK:
        return copy_link(c, entry);
    case S_IFDIR:
        if (!inode_same(&entry->st, &c->top))
            return 0;
        return leave_out(c, entry->name, S_IFDIR) < 0 ? c->err->code : WALK_SKIP;
    default:
        return leave_out(c, entry->name, entry->st.st_mode);
    }
}

static int visit(void *context, const struct walk_entry *entry, sbr_error *err)
{
    struct copier *c = context;
    int r;

    c->path = entry->path;
    r = copy_node(c, entry);
    if (c->ret->identities.failed)
        return err_set(err, SBR_E_NO_MEMORY, STAGE, "there are too many files to copy");
    report(c);
    return r >= 0 && c->stopped ? err_set(err, SBR_E_BUSY, STAGE, "the copy was cancelled") : r;
}

/* Waits until the clock that stamps files has moved on: then every change shows in a ctime. */
static void wait_for_a_tick(void)
{
    const struct timespec a_little = { .tv_nsec = 500000 };
    struct timespec begin, now;

    clock_gettime(CLOCK_REALTIME_COARSE, &begin);
    do {
        nanosleep(&a_little, NULL);
        clock_gettime(CLOCK_REALTIME_COARSE, &now);
    } while (now.tv_sec == begin.tv_sec && now.tv_nsec == begin.tv_nsec);
}

static int copy_all(struct copier *c, int from, int to_fd)
{
    const struct walk walk = { .visit = visit,
                               .enter = enter,
                               .leave = leave,
                               .fail = fail,
                               .context = c,
                               .stage = STAGE,
                               .flags = WALK_NO_MOUNTS,
                               .max_depth = COPY_MAX_DEPTH,
                               .max_path = PATH_MAX };
    int r;

    for (int i = 0; i <= COPY_MAX_DEPTH; i++)
        c->levels[i].to = -1;
    c->levels[0].to = to_fd;
    r = walk_tree(from, &walk, c->err);
    c->path = "";
    for (int i = 1; i <= COPY_MAX_DEPTH; i++)
        scope_close_fd(&c->levels[i].to);
    return r;
}

int copy_tree(int from_fd, int to_fd, const struct copy_progress *progress, struct copied *ret,
              sbr_error *err)
{
    scoped_fd int from = openat(from_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    scoped_free struct level *levels = calloc(COPY_MAX_DEPTH + 1, sizeof(*levels));
    struct copier c = { .ret = ret,
                        .progress = progress,
                        .report_at = clock_now_us() + REPORT_EVERY_US,
                        .owners = geteuid() == 0,
                        .levels = levels,
                        .path = "",
                        .err = err };
    struct stat st, now;

    *ret = (struct copied){ 0 };
    buf_init(&ret->identities, IDENTITIES_MAX);
    if (!levels)
        return err_set_oom(err, STAGE);
    if (from < 0 || fstat(from, &st) < 0 || fstat(to_fd, &c.top) < 0)
        return cannot(&c);
    if (copy_all(&c, from, to_fd) < 0 || finish(&c, to_fd, &st, &now) < 0)
        return err->code;
    wait_for_a_tick();
    return 0;
}

void copy_done(struct copied *copied)
{
    buf_done(&copied->identities);
    *copied = (struct copied){ 0 };
}
