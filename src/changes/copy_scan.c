/* What changed in a copy.  The walk goes along the identities, name by name: a name without a
 * record is new, a record without a name is gone, and of the rest only what looks different is
 * read. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/inode.h"
#include "base/walk.h"
#include "changes/copy_tree.h"

#define STAGE "collect"
#define LINK_MAX_TEXT 4096

/* Records from `at` to `end`: what stood in a directory. */
struct range {
    size_t at, end;
};

/* A directory on the way; listed only when something in it is. */
struct level {
    int content; /* -1: not listed yet */
    struct collect_list_entry entry;
    size_t path_len;
    struct range was;
};

struct scanner {
    const struct buf *ids;
    struct collected *ret;
    struct level levels[COPY_MAX_DEPTH + 1]; /* by the depth of what is in them */
    unsigned int depth;
    char path[PATH_MAX];
    sbr_error *err;
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

/* `was` may be NULL.  A mode that the program did not change is the source's, which the copy could
 * not always have. */
static struct collect_list_entry entry_of(enum collect_kind kind, const struct stat *st,
                                          const struct identity *was)
{
    bool untouched = was && was->mode == st->st_mode;

    return (struct collect_list_entry){ .kind = kind,
                                        .mode = untouched ? was->source_mode : st->st_mode,
                                        .size = S_ISDIR(st->st_mode) ? 0 : (uint64_t)st->st_size,
                                        .mtime_ns = clock_ns(st->st_mtim) };
}

/* Lists the directories on the way that are not listed yet. */
static int enter_all(struct scanner *s)
{
    for (unsigned int i = 1; i <= s->depth; i++) {
        struct level *level = &s->levels[i];
        int above = s->levels[i - 1].content, r;
        char after = s->path[level->path_len];
        const char *name = s->path + s->levels[i - 1].path_len + (i > 1);

        if (level->content >= 0)
            continue;
        s->path[level->path_len] = '\0';
        if (mkdirat(above, name, 0700) < 0 ||
            (level->content =
                 openat(above, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)) < 0)
            r = cannot(s);
        else
            r = add(s, level->entry);
        s->path[level->path_len] = after;
        if (r < 0)
            return r;
    }
    return 0;
}

static int add_entry(struct scanner *s, struct collect_list_entry entry)
{
    return enter_all(s) < 0 ? s->err->code : add(s, entry);
}

static int take_file(struct scanner *s, const struct walk_entry *from,
                     struct collect_list_entry entry)
{
    const struct timespec times[2] = { { .tv_nsec = UTIME_OMIT }, from->st.st_mtim };
    scoped_fd int in = walk_open_file(from), out = -1;
    struct copy_file how = { 0 };
    struct stat now;

    if (in < 0 || fstat(in, &now) < 0)
        return cannot(s);
    if (!inode_same(&now, &from->st)) {
        errno = ESTALE;
        return cannot(s);
    }
    if (enter_all(s) < 0)
        return s->err->code;
    out = openat(s->levels[s->depth].content, from->name,
                 O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (out < 0 || copy_file(in, out, entry.size, &how) < 0)
        return cannot(s);
    (void)futimens(out, times);
    return add(s, entry);
}

static int take_link(struct scanner *s, const struct walk_entry *from,
                     struct collect_list_entry entry)
{
    char text[LINK_MAX_TEXT + 1];
    ssize_t n = readlinkat(from->dir_fd, from->name, text, LINK_MAX_TEXT);

    if (n < 0)
        return cannot(s);
    text[n] = '\0';
    if (enter_all(s) < 0)
        return s->err->code;
    if (symlinkat(text, s->levels[s->depth].content, from->name) < 0)
        return cannot(s);
    return add(s, entry);
}

/* 1 and the record of this name, 0 when there is none, or negative.  The records before it are
 * gone; with NULL, all that are left. */
static int find_record(struct scanner *s, const char *name, struct identity_view *ret)
{
    struct level *level = &s->levels[s->depth];

    while (level->was.at < level->was.end) {
        struct identity_view view = copy_identity_at(s->ids, level->was.at);
        int order = name ? strcmp(name, view.name) : 1;

        if (order < 0)
            return 0;
        level->was.at = view.next;
        if (order == 0) {
            *ret = view;
            return 1;
        }
        if (!view.is.mode)
            continue;
        if (level->path_len + strlen(view.name) + 2 > sizeof(s->path))
            return err_set(s->err, SBR_E_DENIED, STAGE, "a path in the copy is too long");
        snprintf(s->path + level->path_len, sizeof(s->path) - level->path_len, "%s%s",
                 level->path_len ? "/" : "", view.name);
        if (add_entry(s, (struct collect_list_entry){ .kind = COLLECT_GONE }) < 0)
            return s->err->code;
    }
    return 0;
}

/* `was` is NULL where nothing had this name. */
static int visit_dir(struct scanner *s, const struct walk_entry *entry,
                     const struct identity_view *was)
{
    bool known = was && S_ISDIR(was->is.mode);
    struct level *level;

    if (entry->depth == COPY_MAX_DEPTH)
        return 0; /* the walk refuses it */
    level = &s->levels[entry->depth + 1];
    *level = (struct level){ .content = -1,
                             .entry = entry_of(COLLECT_ENTER, &entry->st, known ? &was->is : NULL),
                             .path_len = strlen(s->path) };
    if (known)
        level->was = (struct range){ was->first, was->next };
    else if (!was || was->is.mode) /* or what was left out of the copy may still stand below */
        level->entry.flags = COLLECT_OPAQUE;
    if (known && entry->st.st_mode == was->is.mode)
        return 0;
    s->depth++;
    if (enter_all(s) < 0)
        return s->err->code;
    s->depth--;
    return 0;
}

static int visit(void *context, const struct walk_entry *entry, sbr_error *err)
{
    struct scanner *s = context;
    struct identity_view was;
    const struct identity *is = NULL;
    int r;

    (void)err;
    s->depth = entry->depth;
    r = find_record(s, entry->name, &was);
    if (r < 0)
        return r;
    memcpy(s->path, entry->path, strlen(entry->path) + 1);
    is = r ? &was.is : NULL;
    if (S_ISDIR(entry->st.st_mode))
        return visit_dir(s, entry, r ? &was : NULL);
    if (r && copy_identity_same(is, &entry->st))
        return 0;
    switch (entry->st.st_mode & S_IFMT) {
    case S_IFREG:
        return take_file(s, entry, entry_of(COLLECT_FILE, &entry->st, is));
    case S_IFLNK:
        return take_link(s, entry, entry_of(COLLECT_LINK, &entry->st, is));
    default:
        return add_entry(s, entry_of(COLLECT_OTHER, &entry->st, NULL));
    }
}

static int leave(void *context, const struct walk_entry *entry, sbr_error *err)
{
    struct scanner *s = context;
    struct level *level = &s->levels[entry->depth + 1];

    s->depth = entry->depth + 1;
    if (find_record(s, NULL, NULL) < 0)
        return err->code;
    scope_close_fd(&level->content);
    level->content = -1;
    return 0;
}

static int fail(void *context, const struct walk_entry *entry, sbr_error *err)
{
    struct scanner *s = context;

    memcpy(s->path, entry->path, strlen(entry->path) + 1);
    if (errno == EMLINK)
        return err_set(err, SBR_E_DENIED, STAGE,
                       "what the program made has more than %d directories in one another",
                       COPY_MAX_DEPTH);
    if (errno == ENAMETOOLONG)
        return err_set(err, SBR_E_DENIED, STAGE,
                       "what the program made has a path that is too long");
    return cannot(s);
}

int copy_changes(int copy_fd, const struct copied *copied, struct collected *ret, sbr_error *err)
{
    scoped_free struct scanner *s = calloc(1, sizeof(*s));
    const struct walk walk = { .visit = visit,
                               .leave = leave,
                               .fail = fail,
                               .context = s,
                               .stage = STAGE,
                               .flags = WALK_UNLOCK,
                               .max_depth = COPY_MAX_DEPTH,
                               .max_path = PATH_MAX };
    int r;

    if (!s)
        return err_set_oom(err, STAGE);
    s->ids = &copied->identities;
    s->ret = ret;
    s->err = err;
    for (int i = 0; i <= COPY_MAX_DEPTH; i++)
        s->levels[i].content = -1;
    s->levels[0].content = ret->content_fd;
    s->levels[0].was.end = copied->identities.len;
    (void)fchmod(copy_fd, 0700); /* locked by the program, or by the source's mode */
    r = walk_tree(copy_fd, &walk, err);
    s->depth = 0;
    if (r == 0)
        r = find_record(s, NULL, NULL);
    for (int i = 1; i <= COPY_MAX_DEPTH; i++)
        scope_close_fd(&s->levels[i].content);
    return r;
}
