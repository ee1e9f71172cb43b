#include "store/store_tree.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/scope.h"
#include "base/tree_remove.h"

#define MAX_DEPTH 100 /* a descriptor each */
#define CHUNK_SIZE (128u << 10)

struct walk {
    struct store_tree_scan *out;
    struct sha256 sum;
    bool tidy;
    unsigned int depth;
    char path[PATH_MAX];
    char *chunk; /* CHUNK_SIZE */
    sbr_error *err;
};

struct names {
    char **v;
    size_t n;
};

static void names_done(struct names *names)
{
    for (size_t i = 0; i < names->n; i++)
        free(names->v[i]);
    free(names->v);
}

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Sorted, so that a digest does not depend on the file system.  0, or -1 with errno. */
static int names_read(struct names *names, DIR *dir)
{
    const struct dirent *entry;
    size_t room = 0;

    while (errno = 0, (entry = readdir(dir))) {
        if (tree_is_dots(entry->d_name))
            continue;
        if (names->n == room) {
            char **grown = realloc(names->v, (room = room ? 2 * room : 16) * sizeof(*grown));

            if (!grown)
                return -1;
            names->v = grown;
        }
        names->v[names->n] = strdup(entry->d_name);
        if (!names->v[names->n])
            return -1;
        names->n++;
    }
    if (errno)
        return -1;
    if (names->n)
        qsort(names->v, names->n, sizeof(*names->v), compare_names);
    return 0;
}

static int walk_fail(struct walk *w)
{
    return err_set_errno(w->err, "cache", "cannot read '%.250s'", w->path);
}

static uint64_t nanoseconds(struct timespec t)
{
    return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

/* The cheap identity, and what goes into the digest before the content. */
static int put_node(struct walk *w, const struct stat *st)
{
    struct buf *list = &w->out->list;

    buf_put_u32(list, st->st_mode);
    buf_put_u64(list, S_ISDIR(st->st_mode) ? 0 : (uint64_t)st->st_size);
    buf_put_u64(list, nanoseconds(st->st_mtim));
    buf_put_u64(list, nanoseconds(st->st_ctim));
    buf_put_u64(list, st->st_ino);
    buf_put_string(list, w->path);
    if (list->failed)
        return err_set(w->err, SBR_E_INVALID, "cache", "there are too many files to keep");
    sha256_add_text(&w->sum, w->path);
    sha256_add_u64(&w->sum, st->st_mode);
    return 0;
}

/* Whoever runs inside can read it, and nobody but us can change it. */
static int tidy_node(struct walk *w, int dir_fd, const char *name, mode_t mode)
{
    mode_t wanted = S_ISDIR(mode) || mode & S_IXUSR ? 0755 : 0644;

    if (!w->tidy || S_ISLNK(mode) || (mode & 07777) == wanted)
        return 0;
    return fchmodat(dir_fd, name, wanted, AT_SYMLINK_NOFOLLOW) < 0 ? walk_fail(w) : 0;
}

static int scan_file(struct walk *w, int dir_fd, const char *name)
{
    scoped_fd int fd =
        openat(dir_fd, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    uint64_t left;
    struct stat st;
    ssize_t n;

    if (fd < 0 || fstat(fd, &st) < 0)
        return walk_fail(w);
    if (put_node(w, &st) < 0)
        return w->err->code;
    left = (uint64_t)st.st_size;
    sha256_add_u64(&w->sum, left);
    while ((n = fd_read_full(fd, w->chunk, CHUNK_SIZE)) > 0 && (uint64_t)n <= left) {
        sha256_add(&w->sum, w->chunk, (size_t)n);
        left -= (uint64_t)n;
    }
    if (n < 0)
        return walk_fail(w);
    if (n > 0 || left > 0)
        return err_set(w->err, SBR_E_SYSTEM, "cache", "'%.250s' changes while it is read", w->path);
    w->out->bytes += (uint64_t)st.st_size;
    w->out->files++;
    return 0;
}

static int scan_link(struct walk *w, int dir_fd, const char *name, const struct stat *st)
{
    char target[PATH_MAX];
    ssize_t n = readlinkat(dir_fd, name, target, sizeof(target) - 1);

    if (n < 0)
        return walk_fail(w);
    target[n] = '\0';
    if (put_node(w, st) < 0)
        return w->err->code;
    sha256_add_text(&w->sum, target);
    w->out->files++;
    return 0;
}

static int scan_node(struct walk *w, int dir_fd, const char *name);

static int scan_names(struct walk *w, int dir_fd, const struct names *names)
{
    size_t len = strlen(w->path);

    for (size_t i = 0; i < names->n; i++) {
        size_t added = strlen(names->v[i]) + 1;

        if (len + added >= sizeof(w->path))
            return err_set(w->err, SBR_E_INVALID, "cache", "a path to keep is too long: '%.250s'",
                           w->path);
        snprintf(w->path + len, sizeof(w->path) - len, "/%s", names->v[i]);
        if (scan_node(w, dir_fd, names->v[i]) < 0)
            return w->err->code;
        w->path[len] = '\0';
    }
    sha256_add_text(&w->sum, NULL); /* the directory ends */
    return 0;
}

static int scan_children(struct walk *w, DIR *dir)
{
    struct names names = { 0 };
    int r = names_read(&names, dir) < 0 ? walk_fail(w) : scan_names(w, dirfd(dir), &names);

    names_done(&names);
    return r;
}

static int scan_dir(struct walk *w, int dir_fd, const char *name)
{
    scoped_fd int fd = openat(dir_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    scoped_dir DIR *dir = NULL;
    struct stat st;
    int r;

    if (fd < 0 || fstat(fd, &st) < 0)
        return walk_fail(w);
    if (put_node(w, &st) < 0)
        return w->err->code;
    if (w->depth == MAX_DEPTH)
        return err_set(w->err, SBR_E_INVALID, "cache",
                       "directories to keep are nested deeper than %d", MAX_DEPTH);
    dir = fdopendir(fd);
    if (!dir)
        return walk_fail(w);
    (void)take_fd(fd);
    w->depth++;
    r = scan_children(w, dir);
    w->depth--;
    return r;
}

static int scan_node(struct walk *w, int dir_fd, const char *name)
{
    struct stat st;

    if (fstatat(dir_fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
        return walk_fail(w);
    if (tidy_node(w, dir_fd, name, st.st_mode) < 0)
        return w->err->code;
    switch (st.st_mode & S_IFMT) {
    case S_IFREG:
        return scan_file(w, dir_fd, name);
    case S_IFDIR:
        return scan_dir(w, dir_fd, name);
    case S_IFLNK:
        return scan_link(w, dir_fd, name, &st);
    default:
        return err_set(w->err, SBR_E_INVALID, "cache",
                       "'%.250s' is neither file, directory nor link", w->path);
    }
}

int store_tree_scan(int dir_fd, const char *name, bool tidy, struct store_tree_scan *ret,
                    sbr_error *err)
{
    struct walk *w = calloc(1, sizeof(*w));
    char *chunk = malloc(CHUNK_SIZE);
    int r = SBR_E_NO_MEMORY;

    *ret = (struct store_tree_scan){ 0 };
    buf_init(&ret->list, TREE_LIST_MAX);
    if (!w || !chunk) {
        err_set_oom(err, "cache");
    } else {
        *w = (struct walk){ .out = ret, .tidy = tidy, .chunk = chunk, .err = err };
        snprintf(w->path, sizeof(w->path), "%s", name);
        sha256_init(&w->sum);
        r = scan_node(w, dir_fd, name);
        sha256_finish_hex(&w->sum, ret->digest);
    }
    free(chunk);
    free(w);
    return r;
}

void store_tree_scan_done(struct store_tree_scan *scan)
{
    buf_done(&scan->list);
}

bool store_tree_unchanged(int dir_fd, const char *list, size_t len)
{
    struct buf_reader r = { .data = list, .len = len };

    /* Parents come first: a directory that became a link is noticed before it is passed. */
    while (r.pos < r.len && !r.failed) {
        uint32_t mode = buf_reader_u32(&r);
        uint64_t size = buf_reader_u64(&r), modified = buf_reader_u64(&r),
                 changed = buf_reader_u64(&r);
        uint64_t inode = buf_reader_u64(&r);
        const char *path = buf_reader_string(&r);
        struct stat st;

        if (!path || fstatat(dir_fd, path, &st, AT_SYMLINK_NOFOLLOW) < 0)
            return false;
        if (st.st_mode != mode || st.st_ino != inode || nanoseconds(st.st_mtim) != modified ||
            nanoseconds(st.st_ctim) != changed || (!S_ISDIR(mode) && (uint64_t)st.st_size != size))
            return false;
    }
    return len > 0 && !r.failed;
}
