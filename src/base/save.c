#include "base/save.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/inode.h"
#include "base/text.h"

#define STAGE "file"

int save_trees_add(struct save_trees *trees, const char *path, bool written, sbr_error *err)
{
    struct way_tree *grown, tree = { .written = written };

    if (stat(path, &tree.st) < 0)
        return 0;
    grown = reallocarray(trees->items, trees->n + 1, sizeof(*grown));
    if (!grown)
        return err_set_oom(err, STAGE);
    trees->items = grown;
    trees->items[trees->n++] = tree;
    return 0;
}

void save_trees_done(struct save_trees *trees)
{
    free(trees->items);
    *trees = (struct save_trees){ 0 };
}

/* The descriptor of this process that a path stands for; -1: none.  Opened by name, a regular file
 * behind it would be written from its beginning, over what is in it. */
static int own_descriptor(const char *path)
{
    static const char *const names[] = { "/dev/stdin", "/dev/stdout", "/dev/stderr" };
    static const char *const prefixes[] = { "/dev/fd/", "/proc/self/fd/" };

    for (size_t i = 0; i < ARRAY_LEN(names); i++)
        if (!strcmp(path, names[i]))
            return (int)i;
    for (size_t i = 0; i < ARRAY_LEN(prefixes); i++) {
        size_t len = strlen(prefixes[i]);
        uint64_t number;

        if (!strncmp(path, prefixes[i], len) && text_parse_count(path + len, &number) == TEXT_OK &&
            number <= INT_MAX)
            return (int)number;
    }
    return -1;
}

static int refuse_way(const char *path, const struct way *way, const struct save_trees *trees,
                      sbr_error *err)
{
    char name[160];

    text_copy_visibly(name, sizeof(name), way->name, strlen(way->name));
    if (way->fd >= 0 && way->crosses && !(trees && trees->meant))
        return err_set(err, SBR_E_DENIED, STAGE,
                       "'%.200s' lies in a rw volume, where the program could put a link in its "
                       "place; save to a directory that it cannot write to",
                       path);
    if (way->fd >= 0 && way->linked)
        return err_set(err, SBR_E_DENIED, STAGE,
                       "'%.200s' goes through the link '%s' of a project or volume, and such a "
                       "link is not followed; name what it leads to",
                       path, name);
    if (way->fd >= 0 && way->foreign)
        return err_set(err, SBR_E_DENIED, STAGE,
                       "'%.200s' goes through the link '%s' of another user, and such a link is "
                       "not followed; name what it leads to",
                       path, name);
    return 0;
}

static struct way walk(const char *path, const struct save_trees *trees, bool make)
{
    const struct way_rules rules = { .trees = trees ? trees->items : NULL,
                                     .n_trees = trees ? trees->n : 0,
                                     .make = make,
                                     .no_links = true,
                                     .own_links = true };

    return way_follow(path, &rules);
}

/* A pipe or a terminal of the caller has no contents to keep.  What was looked at is opened. */
static int open_special(struct save_file *f, struct stat *st, sbr_error *err)
{
    f->out_fd = inode_open(f->dir_fd, f->name, O_WRONLY | O_NOCTTY, st);
    close(take_fd(f->dir_fd));
    return f->out_fd < 0 ? err_set_errno(err, STAGE, "cannot write to '%.200s'", f->path) : 0;
}

/* What stands at the name decides: a file is replaced, a new one is made. */
static int look(struct save_file *f, bool foreign, sbr_error *err)
{
    struct stat st;

    if (fstatat(f->dir_fd, f->name, &st, AT_SYMLINK_NOFOLLOW) < 0) {
        if (errno != ENOENT)
            return err_set_errno(err, STAGE, "cannot look at '%.200s'", f->path);
        f->plain = true;
        return 0;
    }
    f->plain = S_ISREG(st.st_mode);
    if (f->plain)
        return 0;
    if (!foreign && (S_ISFIFO(st.st_mode) || S_ISCHR(st.st_mode)))
        return open_special(f, &st, err);
    return err_set(err, SBR_E_INVALID, STAGE,
                   "'%.200s' is not a file that can be replaced; name another", f->path);
}

/* In a foreign tree a pipe or a device may be the program's. */
static bool is_in_any(int dir_fd, const struct save_trees *trees)
{
    for (size_t i = 0; trees && i < trees->n; i++)
        if (way_is_below(dir_fd, &trees->items[i].st))
            return true;
    return false;
}

int save_file_open(struct save_file *f, const char *path, const struct save_trees *trees,
                   sbr_error *err)
{
    int own = own_descriptor(path);
    struct way way;

    *f = SAVE_FILE_NONE;
    f->path = path;
    if (own >= 0) {
        f->out_fd = own;
        f->kept = true;
        return 0;
    }
    way = walk(path, trees, false);
    f->dir_fd = way.fd;
    if (refuse_way(path, &way, trees, err) == 0) {
        if (way.fd >= 0 && way.whole)
            err_set(err, SBR_E_INVALID, STAGE, "'%.200s' is a directory; name a file", path);
        else if (way.fd < 0 || !way.last || (way.error && way.error != ENOENT)) {
            errno = way.error ? way.error : errno;
            err_set_errno(err, STAGE, "cannot write '%.200s'", path);
        } else {
            memcpy(f->name, way.name, sizeof(f->name));
            if (look(f, is_in_any(f->dir_fd, trees), err) == 0)
                return 0;
        }
    }
    save_file_done(f);
    return err->code;
}

int save_file_read(const struct save_file *f, size_t most, char **ret, size_t *ret_len,
                   sbr_error *err)
{
    const int flags = O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC;
    scoped_fd int fd = f->plain ? openat(f->dir_fd, f->name, flags) : -1;
    struct stat st;

    if (!f->plain)
        errno = EINVAL;
    if (fd < 0 || fstat(fd, &st) < 0)
        return err_set_errno(err, STAGE, "cannot read '%.200s'", f->path);
    if (!S_ISREG(st.st_mode))
        return err_set(err, SBR_E_INVALID, STAGE, "'%.200s' is no file any more", f->path);
    return fd_read_text(fd, most, ret, ret_len, err);
}

int save_file_begin(struct save_file *f, sbr_error *err)
{
    if (!f->plain)
        return f->out_fd;
    if (aside_open(f->dir_fd, 0600, &f->aside) < 0)
        return err_set_errno(err, STAGE, "cannot write beside '%.200s'", f->path);
    return f->aside.fd;
}

/* As the earlier file has it; else what the mask leaves of a new one. */
static int set_mode(const struct save_file *f)
{
    struct stat old, now;
    mode_t mask;

    if (fstatat(f->dir_fd, f->name, &old, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(old.st_mode)) {
        if (fstat(f->aside.fd, &now) < 0)
            return -1;
        /* Who may not give a file away keeps it, as with every editor. */
        if ((old.st_uid != now.st_uid || old.st_gid != now.st_gid) &&
            fchown(f->aside.fd, old.st_uid, old.st_gid) < 0 && errno != EPERM)
            return -1;
        return fchmod(f->aside.fd, old.st_mode & 0777);
    }
    mask = umask(0);
    umask(mask);
    return fchmod(f->aside.fd, 0666 & ~mask);
}

int save_file_end(struct save_file *f, sbr_error *err)
{
    if (!f->plain)
        return 0;
    if (set_mode(f) == 0 && fsync(f->aside.fd) == 0 &&
        aside_name(&f->aside, f->dir_fd, f->name) == 0)
        return 0;
    err_set_errno(err, STAGE, "cannot write '%.200s'", f->path);
    aside_drop(&f->aside, f->dir_fd);
    return err->code;
}

int save_file_write(struct save_file *f, const void *data, size_t len, sbr_error *err)
{
    int fd = save_file_begin(f, err);

    if (fd < 0)
        return err->code;
    if (fd_write_all(fd, data, len) < 0) {
        err_set_errno(err, STAGE, "cannot write to '%.200s'", f->path);
        aside_drop(&f->aside, f->dir_fd);
        return err->code;
    }
    return save_file_end(f, err);
}

void save_file_done(struct save_file *f)
{
    aside_drop(&f->aside, f->dir_fd);
    if (!f->kept)
        scope_close_fd(&f->out_fd);
    scope_close_fd(&f->dir_fd);
    *f = SAVE_FILE_NONE;
}

int save_dir_open(const char *path, const struct save_trees *trees, bool make, sbr_error *err)
{
    struct way way = walk(path, trees, make);
    scoped_fd int fd = way.fd;

    if (refuse_way(path, &way, trees, err) < 0)
        return err->code;
    if (fd < 0 || !way.whole) {
        errno = way.error ? way.error : ENOTDIR;
        return err_set_errno(err, STAGE, "cannot save to '%.200s'", path);
    }
    return take_fd(fd);
}
