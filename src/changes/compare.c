/* How it works.  The list is what the upper layer of a copy-on-write tree holds: files that were
 * made or opened for writing, directories on the way to them, and marks of what is gone.  Each
 * entry is looked up in the real tree:
 *
 *   nothing there           created
 *   another kind there      modified; what was below a directory is deleted
 *   the same kind           modified when the content differs, mode when only that does, else none
 *   a mark                  deleted, with all that is below it in the real tree
 *   an opaque directory     as any directory, but what only the real one has is deleted
 *
 * The real tree may change at any moment.  What vanished was never there; what changed since the
 * run began is `raced`. */
#include "changes/compare.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/walk.h"

#define STAGE "changes"
/* Sums help where a file was only touched; reading for minutes does not. */
#define SUM_MAX_FILE ((uint64_t)128 << 20)
#define SUM_MAX_ALL ((uint64_t)512 << 20)
#define MAX_DEPTH 400 /* of a deleted tree: each level takes a file descriptor */

struct own {
    const struct request_file *file;
};

struct comparison {
    const struct compare_input *in;
    struct collected_tree tree;
    const struct own *own; /* what the request brought, in the order of the paths */
    struct changes *changes;
    uint64_t sum_left; /* bytes that may still be read for sums */
    sbr_error *err;
};

/* Where the real tree is looked at: a directory of it, or none (fd -1). */
struct place {
    int fd;
    bool raced; /* it, or one above it, came here while the program ran */
};

static int cannot_look(struct comparison *w, const char *path)
{
    return err_set_errno(w->err, STAGE, "cannot look at '%.200s' of the real tree", path);
}

/* True for our own resource exhaustion, which says nothing about the tree. */
static bool is_our_lack(int error)
{
    return error == EMFILE || error == ENFILE || error == ENOMEM || error == EIO;
}

static bool wants_sum(const struct comparison *w, uint64_t size)
{
    return !w->in->no_sums && size <= SUM_MAX_FILE && size <= w->sum_left;
}

static bool is_known(const struct compare_input *in, const struct node_state *base)
{
    for (size_t i = 0; i < in->n_known; i++)
        if (in->known[i].ino == base->ino && in->known[i].ctime_ns == base->ctime_ns)
            return true;
    return false;
}

/* A look at the repository outside makes git write its index anew, with the same entries. */
static bool is_index_of_start(const struct comparison *w, const char *path, const char *sum)
{
    return w->in->index_sum && sum[0] && !strcmp(path, ".git/index") &&
           !strcmp(sum, w->in->index_sum);
}

/* Notes the base's identity, and its sum when that is wanted. */
static void note_base(struct comparison *w, struct place at, const char *path,
                      const struct node_state *base, struct change *change)
{
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;

    change->base = base->node;
    change->base_ino = base->ino;
    change->base_ctime_ns = base->ctime_ns;
    if (base->node.kind == NODE_DIR)
        return;
    change->raced = (at.raced || base->ctime_ns >= w->in->started_ns) && !is_known(w->in, base);
    if (base->node.kind == NODE_OTHER || !wants_sum(w, base->node.size))
        return;
    w->sum_left -= base->node.size;
    if (node_sum_at(at.fd, name, path, change->base_sum) < 0) {
        change->base_sum[0] = '\0';
        change->raced |= errno == EAGAIN;
    } else if (is_index_of_start(w, path, change->base_sum)) {
        change->raced = false;
    }
}

/* A directory that replaced another during the run brings files that are older than the run.  A
 * change of its entries shows in both of its times, a new name or mode only in ctime. */
static bool is_raced(const struct comparison *w, bool above, const struct stat *st)
{
    struct node_state now = node_state_of(st);

    return above || (now.ctime_ns >= w->in->started_ns && now.node.mtime_ns < w->in->started_ns);
}

static int add(struct comparison *w, struct change *change, const char *path)
{
    change->root = w->in->root;
    change->path = strdup(path);
    if (!change->path)
        return err_set_oom(w->err, STAGE);
    return changes_add(w->changes, change, w->err);
}

/* What is deleted below a directory of the real tree. */
struct deletion {
    struct comparison *w;
    const struct collected_names *except; /* in the top; may be NULL */
    bool raced[MAX_DEPTH + 1];            /* the directories on the way, by the depth in them */
};

static int delete_entry(void *context, const struct walk_entry *entry, sbr_error *err)
{
    struct deletion *d = context;
    struct place at = { .fd = entry->dir_fd, .raced = d->raced[entry->depth] };
    struct change change = { .op = CHANGE_DELETED };
    struct node_state base = node_state_of(&entry->st);

    (void)err;
    if (entry->depth == 0 && collected_names_have(d->except, entry->name))
        return WALK_SKIP;
    note_base(d->w, at, entry->path, &base, &change);
    if (S_ISDIR(entry->st.st_mode) && entry->depth < MAX_DEPTH)
        d->raced[entry->depth + 1] = is_raced(d->w, at.raced, &entry->st);
    return add(d->w, &change, entry->path);
}

/* The program could not list what cannot be opened; or it is gone. */
static int delete_fail(void *context, const struct walk_entry *entry, sbr_error *err)
{
    struct deletion *d = context;

    if (errno == EMLINK)
        return err_set(err, SBR_E_UNSUPPORTED, STAGE,
                       "'%.100s...' has more than %d directories in one another", entry->path,
                       MAX_DEPTH);
    return entry->fd >= 0 || is_our_lack(errno) ? cannot_look(d->w, entry->path) : 0;
}

/* Everything in a directory but what `except` holds; no mount is entered, because the program did
 * not see what is behind it. */
static int delete_in(struct comparison *w, struct place at, const char *path,
                     const struct collected_names *except)
{
    struct deletion d = { .w = w, .except = except, .raced = { at.raced } };
    const struct walk walk = { .visit = delete_entry,
                               .fail = delete_fail,
                               .context = &d,
                               .stage = STAGE,
                               .top = path,
                               .flags = WALK_NO_MOUNTS,
                               .max_depth = MAX_DEPTH,
                               .max_path = (size_t)(MAX_DEPTH + 2) * (NAME_MAX + 1) + PATH_MAX };
    scoped_fd int fd = openat(at.fd, ".", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

    if (fd < 0)
        return is_our_lack(errno) ? cannot_look(w, path) : 0;
    return walk_tree(fd, &walk, w->err);
}

/* What is in the real directory `name`. */
static int delete_below(struct comparison *w, struct place at, const char *name, const char *path)
{
    scoped_fd int fd = node_open(at.fd, name, O_PATH | O_DIRECTORY);
    struct stat st;

    if (fd < 0 || fstat(fd, &st) < 0)
        return is_our_lack(errno) ? cannot_look(w, path) : 0;
    return delete_in(w, (struct place){ fd, is_raced(w, at.raced, &st) }, path, NULL);
}

/* `name` in the directory, and all that is below it. */
static int delete_one(struct comparison *w, struct place at, const char *name, const char *path)
{
    struct change change = { .op = CHANGE_DELETED };
    struct node_state base;
    int r;

    if (node_look(at.fd, name, &base) < 0)
        return cannot_look(w, path);
    if (base.node.kind == NODE_NONE)
        return 0;
    note_base(w, at, path, &base, &change);
    r = add(w, &change, path);
    return r < 0 || base.node.kind != NODE_DIR ? r : delete_below(w, at, name, path);
}

/* 1: the collected content is that of the base, 0: it is not; negative: error. */
static int same_file(struct comparison *w, struct place at, const char *name, size_t index)
{
    const struct collect_list_entry *entry = &w->tree.list->items[index];
    const char *path = collect_list_path(w->tree.list, index);
    struct node_state base, now;
    scoped_fd int base_fd = node_open_file(at.fd, name, &base), now_fd = -1;
    int r;

    if (w->in->collected->content_fd < 0 && git_index_is(path))
        return 1;
    if (base_fd < 0 || w->in->collected->content_fd < 0) {
        if (node_look(at.fd, name, &base) < 0)
            return cannot_look(w, path);
        return base.node.size == entry->size && base.node.mtime_ns == entry->mtime_ns;
    }
    if (base.node.size != entry->size && !git_index_is(path))
        return 0;
    now_fd = node_open_file(w->in->collected->content_fd, path, &now);
    if (now_fd < 0 || now.node.size != entry->size)
        return err_set_errno(w->err, STAGE, "cannot read '%.200s' as it was collected", path);
    r = base.node.size == entry->size ? node_same_content(base_fd, now_fd, entry->size) : 0;
    if (r == 0 && git_index_is(path))
        return node_same_index(base_fd, now_fd);
    return r < 0 ? err_set_errno(w->err, STAGE, "cannot compare '%.200s'", path) : r;
}

static int same_link(struct comparison *w, struct place at, const char *name, size_t index)
{
    const char *path = collect_list_path(w->tree.list, index);
    size_t base_len = 0, now_len = 0;
    scoped_free char *base = node_link_text(at.fd, name, &base_len), *now = NULL;

    if (!base || w->in->collected->content_fd < 0)
        return 0;
    now = node_link_text(w->in->collected->content_fd, path, &now_len);
    if (!now)
        return err_set_errno(w->err, STAGE, "cannot read the link '%.200s' as it was collected",
                             path);
    return base_len == now_len && !memcmp(base, now, now_len);
}

static int same_content(struct comparison *w, struct place at, const char *name, size_t index)
{
    switch (w->tree.list->items[index].kind) {
    case COLLECT_FILE:
        return same_file(w, at, name, index);
    case COLLECT_LINK:
        return same_link(w, at, name, index);
    default:
        return 1; /* directories, pipes and the like have only their kind */
    }
}

static bool is_same_kind(const struct node_state *base, const struct collect_list_entry *entry)
{
    enum node_kind kind = collected_node(entry).kind;

    return base->node.kind == kind && (kind != NODE_OTHER || base->type == (entry->mode & S_IFMT));
}

/* Compares the entry with the real tree: *ret_change is filled when it returns 1. */
static int judge(struct comparison *w, struct place at, size_t index, const struct node_state *base,
                 struct change *ret_change)
{
    const struct collect_list_entry *entry = &w->tree.list->items[index];
    const char *name = collected_name(&w->tree, index);
    struct change change = { .now = collected_node(entry) };
    int same;

    if (base->node.kind == NODE_NONE) {
        change.op = CHANGE_CREATED;
        *ret_change = change;
        return 1;
    }
    same = is_same_kind(base, entry) ? same_content(w, at, name, index) : 0;
    if (same < 0)
        return same;
    if (same && (change.now.kind == NODE_LINK || base->node.mode == change.now.mode ||
                 git_index_is(collect_list_path(w->tree.list, index))))
        return 0;
    change.op = same ? CHANGE_MODE : CHANGE_MODIFIED;
    note_base(w, at, collect_list_path(w->tree.list, index), base, &change);
    *ret_change = change;
    return 1;
}

static int by_path(const void *left, const void *right)
{
    const struct own *a = left, *b = right;

    return strcmp(a->file->path, b->file->path);
}

/* The first file of the request whose path is not before `path`. */
static size_t own_from(const struct comparison *w, const char *path)
{
    size_t low = 0, high = w->in->n_own;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (strcmp(w->own[middle].file->path, path) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* 1: the request put this file there, and it is unchanged; 0: no; negative: error. */
static int is_own(struct comparison *w, size_t index)
{
    const struct collect_list_entry *entry = &w->tree.list->items[index];
    const char *path = collect_list_path(w->tree.list, index);
    size_t i = own_from(w, path);
    scoped_free char *data = NULL;
    scoped_fd int fd = -1;
    struct node_state seen;
    ssize_t len;

    if (entry->kind != COLLECT_FILE || i == w->in->n_own ||
        strcmp(w->own[i].file->path, path) != 0 || entry->size != w->own[i].file->len)
        return 0;
    if (w->in->collected->content_fd < 0)
        return 1;
    fd = node_open_file(w->in->collected->content_fd, path, &seen);
    data = malloc(entry->size + 1);
    len = fd < 0 || !data ? -1 : fd_read_full(fd, data, entry->size + 1);
    if (len < 0)
        return err_set_errno(w->err, STAGE, "cannot read '%.200s' as it was collected", path);
    return (uint64_t)len == entry->size &&
           (len == 0 || !memcmp(data, w->own[i].file->data, (size_t)len));
}

/* The request put files below this path. */
static bool holds_own(const struct comparison *w, const char *path)
{
    size_t len = strlen(path), i = own_from(w, path);

    /* "a", "a-b" and then "a/c": what lies between is skipped. */
    for (; i < w->in->n_own && !strncmp(w->own[i].file->path, path, len); i++)
        if (w->own[i].file->path[len] == '/')
            return true;
    return false;
}

static int visit_children(struct comparison *w, size_t parent, struct place at, bool hides);

static int visit_dir(struct comparison *w, size_t index, struct place at, bool hides)
{
    const char *path = collect_list_path(w->tree.list, index);
    bool opaque = hides || (w->tree.list->items[index].flags & COLLECT_OPAQUE);
    scoped_fd int base_fd = -1;
    struct place below = { .fd = -1, .raced = at.raced };
    struct stat st;
    size_t before = w->changes->n;
    bool created = before > 0 && w->changes->items[before - 1].op == CHANGE_CREATED &&
                   !strcmp(w->changes->items[before - 1].path, path);
    int r;

    if (at.fd >= 0)
        base_fd = node_open(at.fd, collected_name(&w->tree, index), O_PATH | O_DIRECTORY);
    if (at.fd >= 0 && base_fd < 0 && is_our_lack(errno))
        return cannot_look(w, path);
    below.fd = base_fd;
    if (base_fd >= 0 && fstat(base_fd, &st) == 0)
        below.raced = is_raced(w, at.raced, &st);
    r = visit_children(w, index, below, opaque);
    if (r < 0)
        return r;
    /* A directory only for files of the request is no change. */
    if (created && w->changes->n == before && holds_own(w, path))
        change_done(&w->changes->items[--w->changes->n]);
    return 0;
}

static int visit(struct comparison *w, size_t index, struct place at, bool hides)
{
    const struct collect_list_entry *entry = &w->tree.list->items[index];
    const char *path = collect_list_path(w->tree.list, index),
               *name = collected_name(&w->tree, index);
    struct node_state base = { 0 };
    struct change change;
    int r;

    if (entry->kind == COLLECT_GONE) /* an opaque directory is compared as a whole */
        return at.fd < 0 || hides ? 0 : delete_one(w, at, name, path);
    if (collected_node(entry).kind == NODE_NONE)
        return 0;
    r = is_own(w, index);
    if (r != 0)
        return r < 0 ? r : 0;
    if (at.fd >= 0 && node_look(at.fd, name, &base) < 0)
        return cannot_look(w, path);
    r = judge(w, at, index, &base, &change);
    if (r > 0)
        r = add(w, &change, path);
    if (r < 0)
        return r;
    if (entry->kind == COLLECT_ENTER)
        return visit_dir(w, index, at, hides);
    return base.node.kind == NODE_DIR ? delete_below(w, at, name, path) : 0;
}

/* `hides`: nothing of the real directory showed through. */
static int visit_children(struct comparison *w, size_t parent, struct place at, bool hides)
{
    struct collected_names names;
    int r;

    for (size_t i = collected_first(&w->tree, parent); i != COLLECTED_END;
         i = collected_next(&w->tree, i)) {
        r = visit(w, i, at, hides);
        if (r < 0)
            return r;
    }
    if (!hides || at.fd < 0 || parent == COLLECTED_TOP)
        return 0;
    if (collected_names_init(&w->tree, parent, &names) < 0)
        return err_set_oom(w->err, STAGE);
    r = delete_in(w, at, collect_list_path(w->tree.list, parent), &names);
    collected_names_done(&names);
    return r;
}

int compare(const struct compare_input *in, struct changes *changes, sbr_error *err)
{
    scoped_free struct own *own = calloc(in->n_own + 1, sizeof(own[0]));
    struct comparison w = {
        .in = in, .own = own, .changes = changes, .sum_left = SUM_MAX_ALL, .err = err
    };
    size_t first = changes->n;
    int r;

    if (!own)
        return err_set_oom(err, STAGE);
    for (size_t i = 0; i < in->n_own; i++)
        own[i].file = &in->own[i];
    qsort(own, in->n_own, sizeof(own[0]), by_path);
    r = collected_tree_init(&w.tree, &in->collected->list, err);
    if (r == 0)
        r = visit_children(&w, COLLECTED_TOP, (struct place){ .fd = in->source_fd }, false);
    collected_tree_done(&w.tree);
    if (r == 0 && in->renames && in->collected->content_fd >= 0)
        r = renames_find(changes, first, in->source_fd, in->collected->content_fd, err);
    if (r == 0)
        changes_sort(changes);
    return r;
}
