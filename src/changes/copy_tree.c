#include "changes/copy_tree.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/scope.h"
#include "base/text.h"
#include "changes/copy_file.h"
#include "changes/copy_identity.h"
#include "changes/listing.h"

#define STAGE "copy"
#define IDENTITIES_MAX (4 * GIB)
#define TELL_EVERY_US 200000

struct copier {
    struct copied *ret;
    const struct copy_progress *progress;
    uint64_t tell_at;
    bool stopped;
    bool owners; /* root: who owns what is taken over */
    unsigned int depth;
    struct stat to; /* the copy itself, which may lie within what is copied */
    char path[PATH_MAX];
    sbr_error *err;
};

static int cannot(struct copier *c)
{
    return err_set_errno(c->err, STAGE, "cannot copy '%.250s'", c->path[0] ? c->path : ".");
}

static void tell(struct copier *c)
{
    uint64_t now;

    if (!c->progress || !c->progress->tell || (now = clock_now_us()) < c->tell_at)
        return;
    c->tell_at = now + TELL_EVERY_US;
    c->stopped |= !c->progress->tell(c->progress->context, c->ret->files, c->ret->bytes);
}

static void moved(void *context, uint64_t bytes)
{
    struct copier *c = context;

    c->ret->bytes += bytes;
    tell(c);
}

/* Never through a link or into another mount, which overlayfs would not show either.  Before Linux 5.6, and where a
 * container's filter refuses the call, mounts cannot be told. */
static int open_source(int at, const char *name, int flags)
{
    struct open_how how = { .flags = (unsigned int)(flags | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY |
                                                    O_CLOEXEC),
                            .resolve = RESOLVE_NO_XDEV | RESOLVE_NO_SYMLINKS };
    int fd = (int)syscall(SYS_openat2, at, name, &how, sizeof(how));

    if (fd < 0 && (errno == ENOSYS || errno == EPERM))
        fd = openat(at, name, (int)how.flags);
    return fd;
}

/* Remembered without looks: its absence tells nothing. */
static int leave_out(struct copier *c, const char *name, mode_t mode)
{
    copy_identity_add(&c->ret->identities, name, mode, NULL);
    c->ret->left_out++;
    return 0;
}

static int not_opened(struct copier *c, const char *name, mode_t mode)
{
    switch (errno) {
    case ENOENT: /* it went while we looked */
        return 0;
    case EACCES:
    case EPERM:
    case EXDEV:
    case ELOOP:
    case ENXIO:
    case ENOTDIR:
    case ETXTBSY:
        return leave_out(c, name, mode);
    default:
        return cannot(c);
    }
}

/* Owner, mode and times, in the order in which they do not undo each other; *ret is what it looks like then. */
static int finish(struct copier *c, int fd, const struct stat *st, struct stat *ret)
{
    const struct timespec times[2] = { st->st_atim, st->st_mtim };

    if (c->owners && fchown(fd, st->st_uid, st->st_gid) < 0)
        return cannot(c);
    if (fchmod(fd, st->st_mode & 07777) < 0 || futimens(fd, times) < 0 || fstat(fd, ret) < 0)
        return cannot(c);
    return 0;
}

static int copy_regular(struct copier *c, int from, int to, const char *name)
{
    scoped_fd int in = open_source(from, name, O_RDONLY), out = -1;
    struct copy_file how = { .moved = moved, .context = c };
    struct stat st, now;

    if (in < 0)
        return not_opened(c, name, S_IFREG);
    if (fstat(in, &st) < 0)
        return cannot(c);
    if (!S_ISREG(st.st_mode)) /* another one since */
        return leave_out(c, name, st.st_mode);
    out = openat(to, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (out < 0 || copy_file(in, out, (uint64_t)st.st_size, &how) < 0)
        return cannot(c);
    if (finish(c, out, &st, &now) < 0)
        return c->err->code;
    c->ret->reflinked |= how.reflinked;
    c->ret->files++;
    copy_identity_add(&c->ret->identities, name, st.st_mode, &now);
    return 0;
}

static int copy_link(struct copier *c, int from, int to, const char *name)
{
    struct timespec times[2];
    char text[PATH_MAX];
    struct stat st, now;
    ssize_t n;

    n = readlinkat(from, name, text, sizeof(text) - 1);
    if (n < 0 || fstatat(from, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
        return not_opened(c, name, S_IFLNK);
    text[n] = '\0';
    times[0] = st.st_atim;
    times[1] = st.st_mtim;
    if (symlinkat(text, to, name) < 0 ||
        (c->owners && fchownat(to, name, st.st_uid, st.st_gid, AT_SYMLINK_NOFOLLOW) < 0) ||
        utimensat(to, name, times, AT_SYMLINK_NOFOLLOW) < 0 ||
        fstatat(to, name, &now, AT_SYMLINK_NOFOLLOW) < 0)
        return cannot(c);
    c->ret->files++;
    copy_identity_add(&c->ret->identities, name, st.st_mode, &now);
    return 0;
}

static int copy_node(struct copier *c, int from, int to, const char *name);

static int copy_children(struct copier *c, int from, int to)
{
    size_t len = strlen(c->path);
    struct listing listing;
    int r = listing_read(from, &listing) < 0 ? cannot(c) : 0;

    for (size_t i = 0; r == 0 && i < listing.n; i++) {
        const char *name = listing.names[i];

        if (len + strlen(name) + 2 > sizeof(c->path)) {
            r = err_set(c->err, SBR_E_INVALID, STAGE, "a path is too long to copy: '%.250s'",
                        c->path);
            break;
        }
        snprintf(c->path + len, sizeof(c->path) - len, "%s%s", len ? "/" : "", name);
        r = copy_node(c, from, to, name);
        c->path[len] = '\0';
    }
    listing_done(&listing);
    return r;
}

/* Overlayfs shows the directory below the mount: mostly an empty one. */
static int copy_mount_point(struct copier *c, int from, int to, const char *name)
{
    scoped_fd int out = -1;
    struct stat st, now;

    if (fstatat(from, name, &st, AT_SYMLINK_NOFOLLOW) < 0 || mkdirat(to, name, 0700) < 0)
        return cannot(c);
    out = openat(to, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (out < 0)
        return cannot(c);
    if (finish(c, out, &st, &now) < 0)
        return c->err->code;
    copy_identity_add(&c->ret->identities, name, st.st_mode, &now);
    return 0;
}

/* Ours alone until it is full: its own mode may forbid to put something there. */
static int copy_dir(struct copier *c, int from, int to, const char *name)
{
    scoped_fd int in = open_source(from, name, O_RDONLY | O_DIRECTORY), out = -1;
    struct stat st, now;
    size_t at;

    if (in < 0)
        return errno == EXDEV ? copy_mount_point(c, from, to, name) : not_opened(c, name, S_IFDIR);
    if (c->depth == COPY_MAX_DEPTH)
        return err_set(c->err, SBR_E_INVALID, STAGE,
                       "directories are nested deeper than %d, at '%.200s'", COPY_MAX_DEPTH,
                       c->path);
    if (fstat(in, &st) < 0)
        return cannot(c);
    if (st.st_ino == c->to.st_ino && st.st_dev == c->to.st_dev)
        return leave_out(c, name, S_IFDIR);
    if (mkdirat(to, name, 0700) < 0)
        return cannot(c);
    out = openat(to, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (out < 0)
        return cannot(c);
    at = copy_identity_add(&c->ret->identities, name, st.st_mode, &st);
    c->depth++;
    if (copy_children(c, in, out) < 0 || finish(c, out, &st, &now) < 0)
        return c->err->code;
    c->depth--;
    copy_identity_close(&c->ret->identities, at, &now);
    return 0;
}

static int copy_node(struct copier *c, int from, int to, const char *name)
{
    struct stat st;
    int r;

    if (fstatat(from, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
        return not_opened(c, name, 0);
    switch (st.st_mode & S_IFMT) {
    case S_IFREG:
        r = copy_regular(c, from, to, name);
        break;
    case S_IFDIR:
        r = copy_dir(c, from, to, name);
        break;
    case S_IFLNK:
        r = copy_link(c, from, to, name);
        break;
    default:
        r = leave_out(c, name, st.st_mode);
    }
    if (c->ret->identities.failed)
        return err_set(c->err, SBR_E_NO_MEMORY, STAGE, "there are too many files to copy");
    tell(c);
    if (r == 0 && c->stopped)
        return err_set(c->err, SBR_E_BUSY, STAGE, "the copy was cancelled");
    return r;
}

/* Until the clock that stamps files has moved on: from then on every change shows in a ctime. */
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

int copy_tree(int from_fd, int to_fd, const struct copy_progress *progress, struct copied *ret,
              sbr_error *err)
{
    scoped_fd int from = openat(from_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    scoped_free struct copier *c = calloc(1, sizeof(*c));
    struct stat st, now;

    *ret = (struct copied){ 0 };
    buf_init(&ret->identities, IDENTITIES_MAX);
    if (!c)
        return err_set_oom(err, STAGE);
    *c = (struct copier){ .ret = ret, .progress = progress, .owners = geteuid() == 0, .err = err };
    c->tell_at = clock_now_us() + TELL_EVERY_US;
    if (from < 0 || fstat(from, &st) < 0 || fstat(to_fd, &c->to) < 0)
        return cannot(c);
    if (copy_children(c, from, to_fd) < 0 || finish(c, to_fd, &st, &now) < 0)
        return err->code;
    wait_for_a_tick();
    return 0;
}

void copy_done(struct copied *copied)
{
    buf_done(&copied->identities);
    *copied = (struct copied){ 0 };
}
