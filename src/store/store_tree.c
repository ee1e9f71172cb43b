#include "store/store_tree.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/inode.h"
#include "base/walk.h"

#define MAX_DEPTH 99 /* below the tree itself; a file descriptor each */
#define CHUNK_SIZE (128u << 10)

struct scan {
    struct store_tree_scan *out;
    struct sha256 sum;
    bool tidy;
    const char *path; /* of what is looked at */
    char *chunk;      /* CHUNK_SIZE */
    sbr_error *err;
};

static int scan_fail(struct scan *w)
{
    return err_set_errno(w->err, "cache", "cannot read '%.250s'", w->path);
}

/* Adds the identity to the list, and to the digest what comes before the content. */
static int put_node(struct scan *w, const struct stat *st)
{
    struct buf *list = &w->out->list;

    buf_put_u32(list, st->st_mode);
    buf_put_u64(list, S_ISDIR(st->st_mode) ? 0 : (uint64_t)st->st_size);
    buf_put_u64(list, (uint64_t)clock_ns(st->st_mtim));
    buf_put_u64(list, (uint64_t)clock_ns(st->st_ctim));
    buf_put_u64(list, st->st_ino);
    buf_put_string(list, w->path);
    if (list->failed)
        return err_set(w->err, SBR_E_INVALID, "cache", "there are too many files to keep");
    sha256_add_text(&w->sum, w->path);
    sha256_add_u64(&w->sum, st->st_mode);
    return 0;
}

/* Every user inside can read it, and only we can change it. */
static int tidy_node(struct scan *w, int dir_fd, const char *name, mode_t mode)
{
    mode_t wanted = S_ISDIR(mode) || mode & S_IXUSR ? 0755 : 0644;

    if (!w->tidy || S_ISLNK(mode) || (mode & 07777) == wanted)
        return 0;
    return fchmodat(dir_fd, name, wanted, AT_SYMLINK_NOFOLLOW);
}

static int scan_file(struct scan *w, int dir_fd, const char *name)
{
    scoped_fd int fd =
        openat(dir_fd, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    uint64_t left;
    struct stat st;
    ssize_t n;

    if (fd < 0 || fstat(fd, &st) < 0)
        return scan_fail(w);
    if (put_node(w, &st) < 0)
        return w->err->code;
    left = (uint64_t)st.st_size;
    sha256_add_u64(&w->sum, left);
    while ((n = fd_read_full(fd, w->chunk, CHUNK_SIZE)) > 0 && (uint64_t)n <= left) {
        sha256_add(&w->sum, w->chunk, (size_t)n);
        left -= (uint64_t)n;
    }
    if (n < 0)
        return scan_fail(w);
    if (n > 0 || left > 0)
        return err_set(w->err, SBR_E_SYSTEM, "cache", "'%.250s' changes while it is read", w->path);
    w->out->bytes += (uint64_t)st.st_size;
    w->out->files++;
    return 0;
}

static int scan_link(struct scan *w, int dir_fd, const char *name, const struct stat *st)
{
    char target[PATH_MAX];
    ssize_t n = readlinkat(dir_fd, name, target, sizeof(target) - 1);

    if (n < 0)
        return scan_fail(w);
    target[n] = '\0';
    if (put_node(w, st) < 0)
        return w->err->code;
    sha256_add_text(&w->sum, target);
    w->out->files++;
    return 0;
}

static int visit(void *context, const struct walk_entry *entry, sbr_error *err)
{
    struct scan *w = context;
    struct stat st;

    w->path = entry->path;
    if (tidy_node(w, entry->dir_fd, entry->name, entry->st.st_mode) < 0 ||
        fstatat(entry->dir_fd, entry->name, &st, AT_SYMLINK_NOFOLLOW) < 0)
        return scan_fail(w);
    switch (st.st_mode & S_IFMT) {
    case S_IFREG:
        return scan_file(w, entry->dir_fd, entry->name);
    case S_IFDIR:
        return put_node(w, &st);
    case S_IFLNK:
        return scan_link(w, entry->dir_fd, entry->name, &st);
    default:
        return err_set(err, SBR_E_INVALID, "cache", "'%.250s' is neither file, directory nor link",
                       w->path);
    }
}

static int leave(void *context, const struct walk_entry *entry, sbr_error *err)
{
    struct scan *w = context;

    (void)entry;
    (void)err;
    sha256_add_text(&w->sum, NULL); /* the directory ends */
    return 0;
}

static int fail(void *context, const struct walk_entry *entry, sbr_error *err)
{
    struct scan *w = context;

    w->path = entry->path;
    if (errno == EMLINK)
        return err_set(err, SBR_E_INVALID, "cache", "directories to keep are nested deeper than %d",
                       MAX_DEPTH);
    if (errno == ENAMETOOLONG)
        return err_set(err, SBR_E_INVALID, "cache", "a path to keep is too long: '%.250s'",
                       w->path);
    return scan_fail(w);
}

/* `name` itself and, when it is a directory, all that is in it. */
static int scan_all(struct scan *w, int dir_fd, const char *name)
{
    const struct walk walk = { .visit = visit,
                               .leave = leave,
                               .fail = fail,
                               .context = w,
                               .stage = "cache",
                               .top = name,
                               .max_depth = MAX_DEPTH,
                               .max_path = PATH_MAX };
    struct walk_entry top = { .path = name, .name = name, .dir_fd = dir_fd, .fd = -1 };
    scoped_fd int fd = -1;
    int r;

    if (fstatat(dir_fd, name, &top.st, AT_SYMLINK_NOFOLLOW) < 0)
        return fail(w, &top, w->err);
    r = visit(w, &top, w->err);
    if (r < 0 || !S_ISDIR(top.st.st_mode))
        return r;
    fd = inode_open(dir_fd, name, O_RDONLY | O_DIRECTORY, &top.st);
    if (fd < 0)
        return fail(w, &top, w->err);
    r = walk_tree(fd, &walk, w->err);
    return r == 0 ? leave(w, &top, w->err) : r;
}

int store_tree_scan(int dir_fd, const char *name, bool tidy, struct store_tree_scan *ret,
                    sbr_error *err)
{
    scoped_free char *chunk = malloc(CHUNK_SIZE);
    struct scan w = { .out = ret, .tidy = tidy, .path = name, .chunk = chunk, .err = err };
    int r;

    *ret = (struct store_tree_scan){ 0 };
    buf_init(&ret->list, TREE_LIST_MAX);
    if (!chunk)
        return err_set_oom(err, "cache");
    sha256_init(&w.sum);
    r = scan_all(&w, dir_fd, name);
    sha256_finish_hex(&w.sum, ret->digest);
    return r;
}

void store_tree_scan_done(struct store_tree_scan *scan)
{
    buf_done(&scan->list);
}

bool store_tree_unchanged(int dir_fd, const char *list, size_t len)
{
    struct buf_reader r = { .data = list, .len = len };

    /* Parents come first: a directory that became a link is noticed before its path is used. */
    while (r.pos < r.len && !r.failed) {
        uint32_t mode = buf_reader_u32(&r);
        uint64_t size = buf_reader_u64(&r), modified = buf_reader_u64(&r),
                 changed = buf_reader_u64(&r);
        uint64_t inode = buf_reader_u64(&r);
        const char *path = buf_reader_string(&r);
        struct stat st;

        if (!path || fstatat(dir_fd, path, &st, AT_SYMLINK_NOFOLLOW) < 0)
            return false;
        if (st.st_mode != mode || st.st_ino != inode ||
            (uint64_t)clock_ns(st.st_mtim) != modified ||
            (uint64_t)clock_ns(st.st_ctim) != changed ||
            (!S_ISDIR(mode) && (uint64_t)st.st_size != size))
            return false;
    }
    return len > 0 && !r.failed;
}
