#include "changes/setid.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/walk.h"
#include "sandbox/mount_below.h"

#ifndef SYS_getxattrat
#define SYS_getxattrat 464
#endif

#define MAX_DEPTH 199 /* a file descriptor each */
#define MAX_PATH ((size_t)(MAX_DEPTH + 2) * (NAME_MAX + 1))

/* struct xattr_args of the kernel, with size 0: is there a value? */
struct xattr_room {
    uint64_t value;
    uint32_t size, flags;
};

struct look {
    const char *source;
    uid_t uid; /* the program's on the host, unless it is 0: then any */
    uint64_t entries;
    bool by_path;     /* the kernel reads no attributes below a file descriptor */
    const char *path; /* below the source */
    sbr_error *err;
};

static int refuse(const struct look *l, const char *what)
{
    return err_set(l->err, SBR_E_DENIED, "volumes",
                   "the volume '%.150s' cannot be rw: %s '%.180s' in it; take that away, bring the "
                   "tree in as cow, or name a directory without it",
                   l->source, what, l->path);
}

static int refuse_unseen(const struct look *l, const char *why)
{
    return err_set(
        l->err, SBR_E_DENIED, "volumes",
        "the volume '%.150s' cannot be rw: it has to be looked through for set-id files, "
        "and %s ('%.100s'); bring it in as cow, name a directory in it, or mount it nosuid",
        l->source, why, l->path);
}

/* Errs on the safe side: root's program may write to files of any user. */
static bool is_own(const struct look *l, const struct stat *st)
{
    return l->uid == 0 || st->st_uid == l->uid;
}

/* Groups are not looked up either. */
static bool may_be_written(const struct look *l, const struct stat *st)
{
    return st->st_mode & (S_IWGRP | S_IWOTH) || (is_own(l, st) && st->st_mode & S_IWUSR);
}

/* A new mode clears set-id bits, because a filter refuses modes with them.  Capabilities stay: the
 * program can make its own file writable and executable. */
static bool may_become_a_program(const struct look *l, const struct stat *st)
{
    return is_own(l, st) || (may_be_written(l, st) && st->st_mode & 0111);
}

/* Set-gid without group execution gives no right. */
static bool has_bits(const struct stat *st)
{
    return st->st_mode & S_ISUID || (st->st_mode & (S_ISGID | S_IXGRP)) == (S_ISGID | S_IXGRP);
}

/* Linux 6.13 takes a name below a file descriptor; before, /proc leads there.  Some containers
 * answer EPERM to calls that they do not know. */
static ssize_t read_capabilities(struct look *l, int dir_fd, const char *name)
{
    static const char attribute[] = "security.capability";
    struct xattr_room room = { 0 };
    char path[NAME_MAX + 48];

    if (!l->by_path) {
        ssize_t n = syscall(SYS_getxattrat, dir_fd, name, AT_SYMLINK_NOFOLLOW, attribute, &room,
                            sizeof(room));

        l->by_path = n < 0 && (errno == ENOSYS || errno == EPERM);
        if (!l->by_path)
            return n;
    }
    snprintf(path, sizeof(path), "/proc/self/fd/%d/%s", dir_fd, name);
    return lgetxattr(path, attribute, NULL, 0);
}

/* Any error that is not a clear no counts as yes. */
static bool has_capabilities(struct look *l, int dir_fd, const char *name)
{
    return read_capabilities(l, dir_fd, name) >= 0 ||
           (errno != ENODATA && errno != ENOTSUP && errno != ENOENT);
}

static bool is_honoured(int dir_fd)
{
    struct statvfs fs;

    return fstatvfs(dir_fd, &fs) < 0 || !(fs.f_flag & ST_NOSUID);
}

static int look_at_file(struct look *l, int dir_fd, const char *name, const struct stat *st)
{
    if (may_be_written(l, st) && has_bits(st) && is_honoured(dir_fd))
        return refuse(l, "there is the set-id file");
    if (may_become_a_program(l, st) && has_capabilities(l, dir_fd, name) && is_honoured(dir_fd))
        return refuse(l, "there is the file with capabilities");
    return 0;
}

/* With search permission the program opens files by names that it guesses. */
static bool is_passable(int dir_fd, const char *name)
{
    scoped_fd int fd = openat(dir_fd, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    scoped_fd int in = fd >= 0 ? openat(fd, ".", O_PATH | O_DIRECTORY | O_CLOEXEC) : -1;

    return in >= 0;
}

/* A directory that we may not read: of one that the program's user owns it could change the mode.
 */
static int fail(void *context, const struct walk_entry *entry, sbr_error *err)
{
    struct look *l = context;
    int why = errno;

    (void)err;
    l->path = entry->path[0] ? entry->path : ".";
    if (why == EMLINK)
        return refuse_unseen(l, "directories are too deep in one another");
    if (entry->fd >= 0) /* its names cannot be read */
        return refuse_unseen(l, strerror(why));
    if (why == ENOENT || why == ENOTDIR || why == ELOOP)
        return 0; /* it has just gone */
    if (why == EACCES && l->uid != 0 && S_ISDIR(entry->st.st_mode) && entry->st.st_uid != l->uid &&
        !is_passable(entry->dir_fd, entry->name))
        return 0;
    return refuse_unseen(l, strerror(why));
}

static int visit(void *context, const struct walk_entry *entry, sbr_error *err)
{
    struct look *l = context;

    (void)err;
    l->path = entry->path;
    if (++l->entries > SETID_MOST_ENTRIES)
        return refuse_unseen(l, "it has too many files");
    return S_ISREG(entry->st.st_mode) ? look_at_file(l, entry->dir_fd, entry->name, &entry->st) : 0;
}

static int look_through(struct look *l, int path_fd, const struct stat *st)
{
    const struct walk walk = { .visit = visit,
                               .fail = fail,
                               .context = l,
                               .stage = "volumes",
                               .max_depth = MAX_DEPTH,
                               .max_path = MAX_PATH };
    scoped_fd int fd = openat(path_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    const struct walk_entry top = {
        .path = ".", .name = ".", .dir_fd = path_fd, .fd = -1, .st = *st
    };

    return fd < 0 ? fail(l, &top, l->err) : walk_tree(fd, &walk, l->err);
}

/* A single file: in the directory that it is in. */
static int look_at_one(struct look *l, const struct stat *st)
{
    const char *slash = strrchr(l->source, '/');
    scoped_free char *above = slash && slash > l->source
                                  ? strndup(l->source, (size_t)(slash - l->source))
                                  : strdup(slash ? "/" : ".");
    scoped_fd int dir = above ? open(above, O_PATH | O_DIRECTORY | O_CLOEXEC) : -1;
    const char *name = slash ? slash + 1 : l->source;

    l->path = name;
    if (dir < 0)
        return refuse_unseen(l, strerror(errno));
    return look_at_file(l, dir, name, st);
}

int setid_look(const char *source, sbr_error *err)
{
    struct look look = { .source = source, .uid = geteuid(), .path = ".", .err = err };
    scoped_fd int fd = open(source, O_PATH | O_NOFOLLOW | O_CLOEXEC);
    struct stat st;

    if (fd < 0 || fstat(fd, &st) < 0)
        return err_set_errno(err, "volumes", "cannot look at the volume '%.200s'", source);
    if (!is_honoured(fd) && !mount_is_below(source))
        return 0;
    return S_ISDIR(st.st_mode) ? look_through(&look, fd, &st) : look_at_one(&look, &st);
}
