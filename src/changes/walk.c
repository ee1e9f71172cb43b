#include "changes/walk.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/inode.h"
#include "base/scope.h"
#include "changes/listing.h"
#include "wire/collect.h"

#define MAX_PATH_BYTES ((size_t)(COLLECT_MAX_DEPTH + 1) * (COLLECT_MAX_NAME + 1))
#define BLOCK 4096ULL

struct walk {
    walk_visit *visit;
    void *context;
    struct buf path;
    unsigned int depth;
};

static int fail(const struct walk *w, sbr_error *err)
{
    return err_set_errno(err, "workspace", "cannot read '%.200s' of a kept tree",
                         w->path.data ? w->path.data : "");
}

static int walk_dir(struct walk *w, int dir_fd, sbr_error *err);

/* A program may have left a directory that its owner cannot enter: it can be while we are in it. */
static int walk_into(struct walk *w, const struct walk_entry *entry, sbr_error *err)
{
    const int flags = O_RDONLY | O_DIRECTORY | O_NONBLOCK;
    struct stat st = entry->st;
    bool locked = (st.st_mode & 0500) != 0500;
    scoped_fd int fd = -1;
    int r;

    if (w->depth > COLLECT_MAX_DEPTH) {
        errno = ELOOP;
        return fail(w, err);
    }
    fd = locked ? inode_open_locked(entry->dir_fd, entry->name, flags, 0700, &st)
                : inode_open(entry->dir_fd, entry->name, flags, &st);
    if (fd < 0)
        return fail(w, err);
    w->depth++;
    r = walk_dir(w, fd, err);
    w->depth--;
    if (locked)
        (void)fchmod(fd, st.st_mode & 07777);
    return r;
}

static int walk_entry(struct walk *w, int dir_fd, const char *name, sbr_error *err)
{
    struct walk_entry entry = { .name = name, .dir_fd = dir_fd };
    size_t len = w->path.len;
    int r;

    if (len)
        buf_add(&w->path, "/", 1);
    if (buf_add_text(&w->path, name) < 0)
        return err_set_oom(err, "workspace");
    entry.path = w->path.data;
    if (fstatat(dir_fd, name, &entry.st, AT_SYMLINK_NOFOLLOW) < 0)
        return fail(w, err);
    r = w->visit(w->context, &entry, err);
    if (r == 0 && S_ISDIR(entry.st.st_mode))
        r = walk_into(w, &entry, err);
    w->path.len = len;
    w->path.data[len] = '\0';
    return r;
}

static int walk_dir(struct walk *w, int dir_fd, sbr_error *err)
{
    struct listing listing;
    int r = listing_read(dir_fd, &listing) < 0 ? fail(w, err) : 0;

    for (size_t i = 0; i < listing.n && r == 0; i++)
        r = walk_entry(w, dir_fd, listing.names[i], err);
    listing_done(&listing);
    return r;
}

int walk_tree(int tree_fd, walk_visit *visit, void *context, sbr_error *err)
{
    struct walk w = { .visit = visit, .context = context };
    int r;

    buf_init(&w.path, MAX_PATH_BYTES);
    r = walk_dir(&w, tree_fd, err);
    buf_done(&w.path);
    return r;
}

/* A regular file for reading, also one whose mode locks its owner out.  -1 with errno. */
static int open_file(const struct walk_entry *entry)
{
    const int flags = O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK | O_NOCTTY;
    struct stat st = entry->st;
    int fd = openat(entry->dir_fd, entry->name, flags);

    if (fd >= 0 || errno != EACCES || !S_ISREG(entry->st.st_mode))
        return fd;
    fd = inode_open_locked(entry->dir_fd, entry->name, flags, 0400, &st);
    if (fd >= 0)
        (void)fchmod(fd, st.st_mode & 07777);
    return fd;
}

static uint64_t whole_blocks(uint64_t bytes)
{
    return (bytes + BLOCK - 1) / BLOCK * BLOCK;
}

/* Files with holes: by the parts that are none. */
static uint64_t data_blocks(int fd, off_t size)
{
    uint64_t bytes = 0;
    off_t end = 0, data;

    while (end < size && (data = lseek(fd, end, SEEK_DATA)) >= 0) {
        end = lseek(fd, data, SEEK_HOLE);
        if (end < 0)
            return whole_blocks((uint64_t)size);
        if (end > size)
            end = size;
        bytes += whole_blocks((uint64_t)(end - data));
    }
    return bytes;
}

uint64_t walk_blocks(const struct walk_entry *entry)
{
    const struct stat *st = &entry->st;
    scoped_fd int fd = -1;

    if (!S_ISREG(st->st_mode))
        return 0;
    /* The blocks that stat tells differ between file systems; they only show where holes may be. */
    if ((uint64_t)st->st_size > BLOCK && (uint64_t)st->st_blocks * 512 < (uint64_t)st->st_size)
        fd = open_file(entry);
    return fd < 0 ? whole_blocks((uint64_t)st->st_size) : data_blocks(fd, st->st_size);
}
