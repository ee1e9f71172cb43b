#include "base/walk.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/inode.h"
#include "base/listing.h"

struct state {
    const struct walk *walk;
    struct buf path;
    sbr_error *err;
};

static int call(const struct state *s, walk_visit *visit, const struct walk_entry *entry)
{
    return visit ? visit(s->walk->context, entry, s->err) : 0;
}

static int fail(const struct state *s, const struct walk_entry *entry)
{
    return s->walk->fail
               ? call(s, s->walk->fail, entry)
               : err_set_errno(s->err, s->walk->stage, "cannot read '%.200s'", entry->path);
}

static int open_dir(const struct walk *walk, struct walk_entry *entry, bool locked)
{
    const int flags = O_RDONLY | O_DIRECTORY | O_NONBLOCK;

    if (entry->depth >= walk->max_depth) {
        errno = EMLINK;
        return -1;
    }
    if (walk->flags & WALK_TYPES)
        return openat(entry->dir_fd, entry->name, flags | O_NOFOLLOW | O_CLOEXEC);
    if (locked)
        return inode_open_locked(entry->dir_fd, entry->name, flags, 0700, &entry->st);
    return walk->flags & WALK_NO_MOUNTS
               ? inode_open_unmounted(entry->dir_fd, entry->name, flags, &entry->st)
               : inode_open(entry->dir_fd, entry->name, flags, &entry->st);
}

static int walk_names(struct state *s, const struct walk_entry *dir, unsigned int depth);

static int walk_into(struct state *s, struct walk_entry *entry)
{
    bool locked = s->walk->flags & WALK_UNLOCK && (entry->st.st_mode & 0500) != 0500;
    scoped_fd int fd = open_dir(s->walk, entry, locked);
    int r;

    if (fd < 0)
        return fail(s, entry);
    entry->fd = fd;
    r = call(s, s->walk->enter, entry);
    if (r == 0)
        r = walk_names(s, entry, entry->depth + 1);
    entry->path = s->path.data; /* it may have grown */
    if (r == 0)
        r = call(s, s->walk->leave, entry);
    if (locked)
        (void)fchmod(fd, entry->st.st_mode & 07777);
    return r;
}

static int look(const struct walk *walk, struct walk_entry *entry, unsigned char type)
{
    if (!(walk->flags & WALK_TYPES) || type == DT_UNKNOWN)
        return fstatat(entry->dir_fd, entry->name, &entry->st, AT_SYMLINK_NOFOLLOW);
    entry->st = (struct stat){ .st_mode = DTTOIF(type) };
    return 0;
}

static int walk_entry(struct state *s, const struct walk_entry *dir, struct walk_entry *entry,
                      unsigned char type)
{
    int r;

    if (s->path.len + strlen(entry->name) + 2 > s->walk->max_path) {
        errno = ENAMETOOLONG;
        return fail(s, dir);
    }
    if (s->path.len)
        buf_add(&s->path, "/", 1);
    if (buf_add_text(&s->path, entry->name) < 0)
        return err_set_oom(s->err, s->walk->stage);
    entry->path = s->path.data;
    if (look(s->walk, entry, type) < 0) {
        entry->st = (struct stat){ 0 };
        return fail(s, entry);
    }
    r = call(s, s->walk->visit, entry);
    return r == 0 && S_ISDIR(entry->st.st_mode) ? walk_into(s, entry) : r;
}

static int walk_names(struct state *s, const struct walk_entry *dir, unsigned int depth)
{
    scoped_listing struct listing names = { 0 };
    size_t len = s->path.len;
    int (*list)(int, struct listing *) =
        s->walk->flags & WALK_TYPES ? listing_read_unsorted : listing_read;
    int r = list(dir->fd, &names) < 0 ? fail(s, dir) : 0;

    for (size_t i = 0; i < names.n && r >= 0; i++) {
        struct walk_entry entry = {
            .name = names.names[i], .dir_fd = dir->fd, .fd = -1, .depth = depth
        };

        r = walk_entry(s, dir, &entry, listing_type(&names, i));
        if (s->path.data) {
            s->path.len = len;
            s->path.data[len] = '\0';
        }
    }
    return r < 0 ? r : 0;
}

int walk_tree(int tree_fd, const struct walk *walk, sbr_error *err)
{
    struct state s = { .walk = walk, .err = err };
    struct walk_entry top = { .name = ".", .dir_fd = tree_fd, .fd = tree_fd };
    int r;

    buf_init(&s.path, walk->max_path);
    top.path = walk->top ? walk->top : "";
    r = buf_add_text(&s.path, top.path) < 0 ? err_set_oom(err, walk->stage)
                                            : walk_names(&s, &top, 0);
    buf_done(&s.path);
    return r;
}

int walk_pass_over(void *context, const struct walk_entry *entry, sbr_error *err)
{
    (void)context;
    (void)entry;
    (void)err;
    return 0;
}

int walk_open_file(const struct walk_entry *entry)
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
