#include "changes/apply_plan.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/tree_remove.h"
#include "changes/beneath.h"
#include "changes/changeset_meta.h"
#include "changes/copy_tree.h"
#include "changes/node.h"

#define UNDO "undo"
#define UNDO_OLD "undo.old"
#define JOURNAL "journal"
#define JOURNAL_MAGIC 0x31555253 /* "SRU1": the number changes with the format */

enum { FLAG_MODE_ONLY = 1, FLAG_OPENED = 2, FLAG_LINKED = 4 };

static int compare_entries(const void *a, const void *b)
{
    const struct journal_entry *x = a, *y = b;

    if (x->root != y->root)
        return x->root < y->root ? -1 : 1;
    return strcmp(x->path, y->path);
}

struct journal_entry *journal_find(const struct journal *j, unsigned int root, const char *path)
{
    struct journal_entry key = { .root = root, .path = (char *)path };

    return j->n ? bsearch(&key, j->items, j->n, sizeof(key), compare_entries) : NULL;
}

void journal_close(struct journal *j)
{
    scope_close_fd(&j->fd);
    for (size_t i = 0; i < j->n; i++)
        free(j->items[i].path);
    free(j->items);
    *j = (struct journal){ .fd = -1 };
}

static struct journal_entry *add_entry(struct journal *j, unsigned int root, const char *path)
{
    struct journal_entry *grown = j->items;
    char *copy = strdup(path);

    if ((j->n & (j->n - 1)) == 0) /* full at each power of two */
        grown = realloc(j->items, (j->n ? 2 * j->n : 1) * sizeof(*grown));
    if (grown)
        j->items = grown;
    if (!grown || !copy) {
        free(copy);
        return NULL;
    }
    grown[j->n] = (struct journal_entry){ .root = root, .path = copy };
    return &grown[j->n++];
}

static int write_journal(const struct journal *j)
{
    struct buf b;

    record_begin(&b, JOURNAL_MAGIC, CHANGESET_RECORD_MAX);
    buf_put_u64(&b, j->next);
    buf_put_u32(&b, (uint32_t)j->n);
    for (size_t i = 0; i < j->n; i++) {
        const struct journal_entry *e = &j->items[i];

        buf_put_u32(&b, e->root);
        buf_put_string(&b, e->path);
        changes_put_node(&b, &e->was);
        changes_put_node(&b, &e->now);
        buf_put_u32(&b, e->uid);
        buf_put_u32(&b, e->gid);
        buf_put_u64(&b, e->number);
        buf_put_string(&b, e->original);
        buf_put_u32(&b, (e->mode_only ? FLAG_MODE_ONLY : 0u) | (e->opened ? FLAG_OPENED : 0u) |
                            (e->linked ? FLAG_LINKED : 0u));
    }
    return record_write(j->fd, JOURNAL, &b, RECORD_FLUSH);
}

/* 1, 0 when it makes no sense, or negative. */
static int read_entry(struct buf_reader *r, struct journal *j, size_t n_roots, sbr_error *err)
{
    unsigned int root = buf_reader_u32(r);
    const char *path = buf_reader_string(r), *original;
    struct journal_entry *e;
    uint32_t flags;

    if (r->failed || root >= n_roots || (!changeset_is_path(path) && !(path && !*path)))
        return 0;
    e = add_entry(j, root, path);
    if (!e)
        return err_set_oom(err, "undo");
    changes_read_node(r, &e->was);
    changes_read_node(r, &e->now);
    e->uid = buf_reader_u32(r);
    e->gid = buf_reader_u32(r);
    e->number = (size_t)buf_reader_u64(r);
    original = buf_reader_string(r);
    flags = buf_reader_u32(r);
    if (r->failed || !original || strlen(original) >= sizeof(e->original) ||
        strspn(original, "0123456789") != strlen(original))
        return 0;
    memcpy(e->original, original, strlen(original) + 1);
    e->mode_only = flags & FLAG_MODE_ONLY;
    e->opened = flags & FLAG_OPENED;
    e->linked = flags & FLAG_LINKED;
    return 1;
}

/* 1, 0 when there is none, or negative, with a code in `err` unless it is damaged.  Without a
 * journal there is nothing to undo: the originals are of an apply that died before it touched
 * anything. */
static int read_journal(struct journal *j, size_t n_roots, sbr_error *err)
{
    scoped_record struct record record = { 0 };
    struct buf_reader *r = &record.fields;
    uint32_t n;
    int ok;

    if (faccessat(j->fd, JOURNAL, F_OK, AT_SYMLINK_NOFOLLOW) < 0 && errno == ENOENT)
        return 0;
    ok = changeset_read_record(j->fd, JOURNAL, JOURNAL_MAGIC, &record, err);
    if (ok != 1)
        return -1;
    j->next = buf_reader_u64(r);
    n = buf_reader_count(r);
    for (uint32_t i = 0; ok == 1 && i < n; i++)
        ok = read_entry(r, j, n_roots, err);
    return ok == 1 && !r->failed && r->pos == r->len ? 1 : -1;
}

int journal_open(struct changeset *changeset, bool make, struct journal *ret, sbr_error *err)
{
    struct journal j = { .fd = -1 };
    int r, fd;

    *ret = j;
    err->code = 0;
    if (make && mkdirat(changeset->dir_fd, UNDO, 0700) < 0 && errno != EEXIST)
        return state_fail("write to", "the kept changes", err);
    fd = openat(changeset->dir_fd, UNDO, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        return errno == ENOENT ? 0 : state_fail("open the undo of", "the kept changes", err);
    j.fd = fd;
    r = read_journal(&j, changeset->changes.n_roots, err);
    if (r < 0) {
        journal_close(&j);
        return err->code ? err->code
                         : err_set(err, SBR_E_SYSTEM, "undo",
                                   "the undo of the changes %.8s is damaged; its files lie in "
                                   "changes/%.8s.../undo of the state directory",
                                   changeset->id, changeset->id);
    }
    if (j.n)
        qsort(j.items, j.n, sizeof(*j.items), compare_entries);
    *ret = j;
    return r == 1 || make;
}

/* Not only the inode, which another file may have by now: undo restores the owner and mode that
 * were seen. */
static bool is_same_file(const struct stat *a, const struct stat *b)
{
    return a->st_ino == b->st_ino && a->st_dev == b->st_dev && a->st_size == b->st_size &&
           a->st_uid == b->st_uid && a->st_gid == b->st_gid && a->st_mode == b->st_mode;
}

/* Links the file itself where possible: nothing is read, and all its attributes stay.  Not when it
 * has other names, because a write to one of those would change the original. 1, 0 when not, or -1.
 */
static int link_original(struct journal *j, struct step *step, int dir_fd, const char *name,
                         struct journal_entry *entry)
{
    struct stat st;

    if (S_ISREG(step->there.st_mode) && step->there.st_nlink > 1)
        return 0;
    record_crash_point();
    if (linkat(dir_fd, name, j->fd, entry->original, 0) < 0)
        return errno == ENOSPC || errno == EDQUOT || errno == EIO || errno == ENOENT ? -1 : 0;
    if (fstatat(j->fd, entry->original, &st, AT_SYMLINK_NOFOLLOW) < 0)
        return -1;
    if (!is_same_file(&st, &step->there) || st.st_mtim.tv_nsec != step->there.st_mtim.tv_nsec) {
        errno = EBUSY;
        return -1;
    }
    step->there = st;
    entry->linked = true;
    return 1;
}

static int copy_original(struct journal *j, struct apply_plan *e, const struct step *step,
                         struct journal_entry *entry)
{
    struct copy_file how = { 0 };
    struct node_state seen;
    struct stat st;
    scoped_fd int from = -1, to = -1;
    int root_fd = e->roots[step->root].fd;

    if (S_ISLNK(step->there.st_mode)) {
        size_t len;
        scoped_free char *text = node_link_text(root_fd, step->path, &len);

        record_crash_point();
        return text ? symlinkat(text, j->fd, entry->original) : -1;
    }
    if (!S_ISREG(step->there.st_mode)) {
        errno = EXDEV;
        return -1;
    }
    from = node_open_file(root_fd, step->path, &seen);
    if (from < 0)
        return -1;
    record_crash_point();
    to = openat(j->fd, entry->original, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (to < 0)
        return -1;
    record_crash_point();
    if (copy_file(from, to, seen.node.size, &how) < 0)
        return -1;
    attributes_copy(from, to);
    if (fsync(to) < 0)
        return -1;
    if (fstat(from, &st) < 0)
        return -1;
    if (!is_same_file(&st, &step->there)) {
        errno = EBUSY;
        return -1;
    }
    return 0;
}

static int store_original(struct journal *j, struct apply_plan *e, struct step *step,
                          struct journal_entry *entry)
{
    const char *name;
    scoped_fd int dir = beneath_parent(e->roots[step->root].fd, step->path, &name);
    int r;

    if (dir < 0)
        return -1;
    snprintf(entry->original, sizeof(entry->original), "%llu", (unsigned long long)j->next++);
    if (unlinkat(j->fd, entry->original, 0) < 0 && errno != ENOENT) /* of an attempt that died */
        return -1;
    r = link_original(j, step, dir, name, entry);
    if (r == 0)
        r = copy_original(j, e, step, entry);
    return r < 0 ? -1 : 0;
}

static int record_step(struct journal *j, struct apply_plan *e, struct step *step, sbr_error *err)
{
    struct node_state seen = node_state_of(&step->there);
    struct journal_entry *entry;

    entry = add_entry(j, step->root, step->path);
    if (!entry)
        return err_set_oom(err, "undo");
    if (step->there.st_mode)
        entry->was = seen.node;
    entry->now = step->want;
    entry->uid = step->there.st_uid;
    entry->gid = step->there.st_gid;
    entry->mode_only = step->mode_only;
    entry->number = step->number;
    if (step->mode_only || !step->there.st_mode || S_ISDIR(step->there.st_mode))
        return 0;
    return store_original(j, e, step, entry) < 0
               ? apply_plan_fail(step, "store the original of", err)
               : 0;
}

static int record_opened(struct journal *j, const struct opened_dir *dir, sbr_error *err)
{
    struct journal_entry *entry = add_entry(j, dir->root, dir->path);

    if (!entry)
        return err_set_oom(err, "undo");
    entry->was = entry->now = (struct node){ .kind = NODE_DIR, .mode = dir->mode };
    entry->mode_only = entry->opened = true;
    return 0;
}

/* The first `n` are sorted, the rest are new. */
static bool is_known(const struct journal *j, size_t n, unsigned int root, const char *path)
{
    struct journal known = { .items = j->items, .n = n };

    return journal_find(&known, root, path) != NULL;
}

static int record_all(struct journal *j, size_t n, struct apply_plan *e, sbr_error *err)
{
    for (size_t i = 0; i < e->n; i++) {
        struct step *s = &e->steps[i];
        struct journal known = { .items = j->items, .n = n };
        struct journal_entry *entry = journal_find(&known, s->root, s->path);

        bool opened = entry && entry->opened;
        uint32_t mode = opened ? entry->was.mode : 0;

        if (s->state != STEP_TODO || (entry && !s->forced && !opened))
            continue;
        if (record_step(j, e, s, err) < 0)
            return err->code;
        if (opened) /* its mode before apply opened it */
            j->items[j->n - 1].was.mode = mode;
    }
    for (size_t i = 0; i < e->n_opened; i++)
        if (!is_known(j, n, e->opened[i].root, e->opened[i].path) &&
            !apply_plan_find(e, e->opened[i].root, e->opened[i].path, strlen(e->opened[i].path)) &&
            record_opened(j, &e->opened[i], err) < 0)
            return err->code;
    return 0;
}

/* The newest entry of each path stays. */
static void sort_anew(struct journal *j, size_t n_old)
{
    struct journal added = { .items = j->items + n_old, .n = j->n - n_old };
    size_t n = 0;

    if (added.n)
        qsort(added.items, added.n, sizeof(*added.items), compare_entries);
    for (size_t i = 0; i < j->n; i++) {
        if (i < n_old && journal_find(&added, j->items[i].root, j->items[i].path)) {
            free(j->items[i].path);
            j->items[i].path = NULL;
        }
    }
    for (size_t i = 0; i < j->n; i++)
        if (j->items[i].path)
            j->items[n++] = j->items[i];
    j->n = n;
    if (n)
        qsort(j->items, n, sizeof(*j->items), compare_entries);
}

int journal_record(struct journal *j, struct apply_plan *e, sbr_error *err)
{
    size_t n = j->n;
    int r = record_all(j, n, e, err);

    if (r < 0) { /* the added entries are not needed */
        while (j->n > n) {
            if (j->items[--j->n].original[0])
                (void)unlinkat(j->fd, j->items[j->n].original, 0);
            free(j->items[j->n].path);
        }
        return r;
    }
    sort_anew(j, n);
    if (fsync(j->fd) < 0 || write_journal(j) < 0)
        return state_fail("write the undo of", "the kept changes", err);
    return 0;
}

static int drop_all(struct changeset *changeset, sbr_error *err)
{
    if (tree_remove(changeset->dir_fd, UNDO_OLD) < 0)
        return state_fail("clear", "the kept changes", err);
    record_crash_point();
    if (renameat(changeset->dir_fd, UNDO, changeset->dir_fd, UNDO_OLD) < 0 && errno != ENOENT)
        return state_fail("clear", "the kept changes", err);
    if (changeset_mark(changeset, false, err) < 0)
        return err->code;
    record_crash_point();
    (void)tree_remove(changeset->dir_fd, UNDO_OLD); /* or the next time */
    return 0;
}

int journal_reduce(struct changeset *changeset, struct journal *j, const bool *keep, sbr_error *err)
{
    size_t n = 0, left = 0;

    for (size_t i = 0; i < j->n; i++)
        left += keep[i] && !j->items[i].opened;
    if (!left)
        return drop_all(changeset, err);
    for (size_t i = 0; i < j->n; i++) {
        struct journal_entry entry = j->items[i];

        if (keep[i]) {
            j->items[i] = j->items[n];
            j->items[n++] = entry;
        }
    }
    left = j->n;
    j->n = n;
    qsort(j->items, n, sizeof(*j->items), compare_entries);
    if (write_journal(j) < 0) {
        j->n = left;
        return state_fail("write the undo of", "the kept changes", err);
    }
    for (size_t i = n; i < left; i++) {
        if (j->items[i].original[0])
            (void)unlinkat(j->fd, j->items[i].original, 0);
        free(j->items[i].path);
    }
    return 0;
}
