/* What became of a copy.  The walk goes along the identities, name by name: what has no record is new, what has no
 * name any more is gone, and of the rest only what looks different is read. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/scope.h"
#include "changes/copy_file.h"
#include "changes/copy_identity.h"
#include "changes/copy_tree.h"
#include "changes/listing.h"

#define STAGE "collect"
#define LINK_MAX_TEXT 4096

/* A directory on the way; told only when there is something to tell of it. */
struct level {
    int fd;
    int content; /* -1: not told yet */
    struct collect_list_entry entry;
    size_t path_len;
};

struct scanner {
    const struct buf *ids;
    struct collected *ret;
    struct level levels[COPY_MAX_DEPTH + 1];
    unsigned int depth;
    char path[PATH_MAX];
    sbr_error *err;
};

/* Records from `at` to `end`: what stood in a directory. */
struct range {
    size_t at, end;
};

static int cannot(struct scanner *s)
{
    return err_set_errno(s->err, STAGE, "cannot collect '%.250s' from the copy",
                         s->path[0] ? s->path : ".");
}

static int add(struct scanner *s, struct collect_list_entry entry)
{
    return collect_list_add(&s->ret->list, entry, s->path) < 0 ? err_set_oom(s->err, STAGE) : 0;
}

/* `was` may be NULL.  A mode that nobody changed is the source's, which the copy could not always take over. */
static struct collect_list_entry entry_of(enum collect_kind kind, const struct stat *st,
                                          const struct identity *was)
{
    bool untouched = was && was->mode == st->st_mode;

    return (struct collect_list_entry){ .kind = kind,
                                        .mode = untouched ? was->source_mode : st->st_mode,
                                        .size = S_ISDIR(st->st_mode) ? 0 : (uint64_t)st->st_size,
                                        .mtime_ns = identity_ns(st->st_mtim) };
}

/* Tells of the directories on the way that were not told yet. */
static int enter_all(struct scanner *s)
{
    for (unsigned int i = 1; i <= s->depth; i++) {
        struct level *level = &s->levels[i];
        int above = s->levels[i - 1].content;
        char changeset = s->path[level->path_len];
        const char *name = s->path + s->levels[i - 1].path_len + (i > 1);
        int r = 0;

        if (level->content >= 0)
            continue;
        s->path[level->path_len] = '\0';
        if (mkdirat(above, name, 0700) < 0 ||
            (level->content =
                 openat(above, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)) < 0)
            r = cannot(s);
        else
            r = add(s, level->entry);
        s->path[level->path_len] = changeset;
        if (r < 0)
            return r;
    }
    return 0;
}

static int add_entry(struct scanner *s, struct collect_list_entry entry)
{
    return enter_all(s) < 0 ? s->err->code : add(s, entry);
}

/* A stranger's file, whatever its mode; other names of it keep seeing the mode that it has. */
static int open_file(int at, const char *name, const struct stat *st)
{
    const int flags = O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC;
    int fd = openat(at, name, flags);

    if (fd < 0 && errno == EACCES && fchmodat(at, name, 0600, AT_SYMLINK_NOFOLLOW) == 0) {
        fd = openat(at, name, flags);
        if (fd >= 0)
            (void)fchmod(fd, st->st_mode & 07777);
    }
    return fd;
}

static int take_file(struct scanner *s, const char *name, struct collect_list_entry entry,
                     const struct stat *st)
{
    const struct timespec times[2] = { { .tv_nsec = UTIME_OMIT }, st->st_mtim };
    scoped_fd int in = open_file(s->levels[s->depth].fd, name, st), out = -1;
    struct copy_file how = { 0 };
    struct stat now;

    if (in < 0 || fstat(in, &now) < 0)
        return cannot(s);
    if (!S_ISREG(now.st_mode) || now.st_ino != st->st_ino) {
        errno = ESTALE;
        return cannot(s);
    }
    if (enter_all(s) < 0)
        return s->err->code;
    out = openat(s->levels[s->depth].content, name,
                 O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (out < 0 || copy_file(in, out, entry.size, &how) < 0)
        return cannot(s);
    (void)futimens(out, times);
    return add(s, entry);
}

static int take_link(struct scanner *s, const char *name, struct collect_list_entry entry)
{
    char text[LINK_MAX_TEXT + 1];
    ssize_t n = readlinkat(s->levels[s->depth].fd, name, text, LINK_MAX_TEXT);

    if (n < 0)
        return cannot(s);
    text[n] = '\0';
    if (enter_all(s) < 0)
        return s->err->code;
    if (symlinkat(text, s->levels[s->depth].content, name) < 0)
        return cannot(s);
    return add(s, entry);
}

static int scan(struct scanner *s, struct range was);

/* Opened to us whatever its mode; the list has the mode that it had. */
static int open_dir(int at, const char *name, mode_t mode)
{
    if ((mode & 0500) != 0500 && fchmodat(at, name, 0700, AT_SYMLINK_NOFOLLOW) < 0)
        return -1;
    return openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

/* `tell`: the directory itself is a change, whatever is in it. */
static int scan_dir(struct scanner *s, const char *name, struct collect_list_entry entry,
                    struct range was, bool tell)
{
    struct level *level = &s->levels[s->depth + 1];
    int r = 0;

    if (s->depth == COPY_MAX_DEPTH)
        return err_set(s->err, SBR_E_DENIED, STAGE,
                       "what the program made has more than %d directories in one another",
                       COPY_MAX_DEPTH);
    *level = (struct level){ .fd = open_dir(s->levels[s->depth].fd, name, entry.mode),
                             .content = -1,
                             .entry = entry,
                             .path_len = strlen(s->path) };
    if (level->fd < 0)
        return cannot(s);
    s->depth++;
    if (tell)
        r = enter_all(s);
    if (r == 0)
        r = scan(s, was);
    s->depth--;
    close(level->fd);
    if (level->content >= 0)
        close(level->content);
    return r;
}

/* Something new, something else, or something that was touched; `was` is NULL where nothing was. */
static int take(struct scanner *s, const char *name, const struct stat *st,
                const struct identity *was)
{
    const struct range nothing = { 0 };
    struct collect_list_entry entry;

    switch (st->st_mode & S_IFMT) {
    case S_IFREG:
        return take_file(s, name, entry_of(COLLECT_FILE, st, was), st);
    case S_IFLNK:
        return take_link(s, name, entry_of(COLLECT_LINK, st, was));
    case S_IFDIR:
        entry = entry_of(COLLECT_ENTER, st, NULL);
        /* What was left out of the copy may still stand below. */
        entry.flags = was && !was->mode ? 0 : COLLECT_OPAQUE;
        return scan_dir(s, name, entry, nothing, true);
    default:
        return add_entry(s, entry_of(COLLECT_OTHER, st, NULL));
    }
}

static int scan_gone(struct scanner *s, const struct identity *was)
{
    return was->mode ? add_entry(s, (struct collect_list_entry){ .kind = COLLECT_GONE }) : 0;
}

/* What has this name now, and what had it (or NULL). */
static int scan_node(struct scanner *s, const char *name, const struct identity_view *was)
{
    struct stat st;

    if (fstatat(s->levels[s->depth].fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
        return cannot(s);
    if (!was || !copy_identity_same(&was->is, &st))
        return take(s, name, &st, was ? &was->is : NULL);
    if (!S_ISDIR(st.st_mode))
        return 0;
    return scan_dir(s, name, entry_of(COLLECT_ENTER, &st, &was->is),
                    (struct range){ was->first, was->next }, st.st_mode != was->is.mode);
}

static int scan_name(struct scanner *s, const char *name, const struct identity_view *was, bool is)
{
    size_t len = s->levels[s->depth].path_len;
    int r;

    if (len + strlen(name) + 2 > sizeof(s->path))
        return err_set(s->err, SBR_E_DENIED, STAGE,
                       "what the program made has a path that is too long");
    snprintf(s->path + len, sizeof(s->path) - len, "%s%s", len ? "/" : "", name);
    r = is ? scan_node(s, name, was) : scan_gone(s, &was->is);
    s->path[len] = '\0';
    return r;
}

/* Both are sorted: whichever name comes first is alone, unless they are the same. */
static int scan_names(struct scanner *s, const struct listing *now, struct range was)
{
    size_t i = 0;
    int r = 0;

    while (r == 0 && (i < now->n || was.at < was.end)) {
        struct identity_view view = { 0 };
        int order = -1;

        if (was.at < was.end) {
            view = copy_identity_at(s->ids, was.at);
            order = i < now->n ? strcmp(now->names[i], view.name) : 1;
        }
        if (order > 0)
            r = scan_name(s, view.name, &view, false);
        else
            r = scan_name(s, now->names[i++], order == 0 ? &view : NULL, true);
        if (order >= 0)
            was.at = view.next;
    }
    return r;
}

static int scan(struct scanner *s, struct range was)
{
    struct listing now;
    int r = listing_read(s->levels[s->depth].fd, &now) < 0 ? cannot(s) : scan_names(s, &now, was);

    listing_done(&now);
    return r;
}

int copy_changes(int copy_fd, const struct copied *copied, struct collected *ret, sbr_error *err)
{
    scoped_free struct scanner *s = calloc(1, sizeof(*s));

    if (!s)
        return err_set_oom(err, STAGE);
    s->ids = &copied->identities;
    s->ret = ret;
    s->err = err;
    s->levels[0] = (struct level){ .fd = copy_fd, .content = ret->content_fd };
    (void)fchmod(copy_fd, 0700); /* locked by the program, or by the source's mode */
    return scan(s, (struct range){ 0, copied->identities.len });
}
