/* A run's changes go into the tree: first they lie whole in `pending`, with a list; then one after the other is moved to
 * its place; then the use is measured and `pending` goes away.  Killed before `pending` stands there, the tree is the old
 * one; killed later, the next to open the workspace goes on where this one stopped. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/fd.h"
#include "base/scope.h"
#include "base/sha256.h"
#include "base/tree.h"
#include "workspace/apply.h"
#include "workspace/named_parts.h"
#include "workspace/node.h"
#include "workspace/walk.h"

#define LIST_NAME "list"
#define LIST_MAGIC 0x31505253 /* "SRP1" */
#define LIST_MAX (1ULL << 30)
#define CONTENT_NAME "content" /* next to the list */
#define OPEN_DIR (O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK)

static void put_node(struct buf *out, const struct node *node)
{
    buf_put_u32(out, node->kind);
    buf_put_u32(out, node->mode);
    buf_put_u64(out, node->size);
    buf_put_u64(out, (uint64_t)node->mtime_ns);
}

static struct node get_node(struct reader *r)
{
    struct node node = { .kind = (enum node_kind)reader_u32(r) };

    node.mode = reader_u32(r);
    node.size = reader_u64(r);
    node.mtime_ns = (int64_t)reader_u64(r);
    r->failed |= node.kind >= N_NODE_KINDS;
    return node;
}

static void encode(const struct changes *changes, struct buf *out)
{
    char sum[SHA256_HEX_SIZE];

    buf_put_u32(out, LIST_MAGIC);
    buf_put_u32(out, (uint32_t)changes->n);
    for (size_t i = 0; i < changes->n; i++) {
        const struct change *change = &changes->items[i];

        buf_put_u32(out, change->op);
        buf_put_string(out, change->path);
        buf_put_string(out, change->from);
        put_node(out, &change->now);
        put_node(out, &change->base);
    }
    if (out->failed)
        return;
    sha256_hex(out->data, out->len, sum);
    buf_put_string(out, sum);
}

static int get_change(struct reader *r, struct changes *changes, sbr_error *err)
{
    struct change change = { .op = (enum change_op)reader_u32(r) };
    const char *path = reader_string(r), *from = reader_string(r);

    change.now = get_node(r);
    change.base = get_node(r);
    if (r->failed || !path || change.op >= N_CHANGE_OPS)
        return err_set(err, SBR_E_INVALID, "workspace", "the list of a run's changes is damaged");
    change.path = strdup(path);
    change.from = from ? strdup(from) : NULL;
    if (!change.path || (from && !change.from)) {
        free(change.path);
        free(change.from);
        return err_set_oom(err, "workspace");
    }
    return changes_add(changes, &change, err);
}

static int decode(const char *data, size_t len, struct changes *ret, sbr_error *err)
{
    struct reader r = { .data = data, .len = len };
    char expected[SHA256_HEX_SIZE];
    bool magic = reader_u32(&r) == LIST_MAGIC;
    uint32_t n = magic ? reader_count(&r) : 0;
    const char *sum;

    for (uint32_t i = 0; i < n; i++)
        if (get_change(&r, ret, err) < 0)
            return err->code;
    sha256_hex(data, r.pos, expected);
    sum = reader_string(&r);
    if (!magic || !sum || strcmp(sum, expected) != 0)
        return err_set(err, SBR_E_INVALID, "workspace", "the list of a run's changes is damaged");
    return 0;
}

static int write_list(int dir_fd, const struct changes *changes, sbr_error *err)
{
    scoped_fd int fd =
        openat(dir_fd, LIST_NAME, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    struct buf data;
    int r = -1;

    buf_init(&data, LIST_MAX);
    encode(changes, &data);
    if (data.failed)
        errno = ENOMEM;
    else if (fd >= 0 && fd_write_all(fd, data.data, data.len) == 0)
        r = fsync(fd);
    buf_done(&data);
    return r < 0 ? err_set_errno(err, "workspace", "cannot write the list of a run's changes") : 0;
}

static int read_list(int dir_fd, struct changes *ret, sbr_error *err)
{
    scoped_fd int fd =
        openat(dir_fd, LIST_NAME, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    scoped_free char *data = NULL;
    size_t len;

    if (fd < 0)
        return err_set_errno(err, "workspace", "cannot read the list of a run's changes");
    if (fd_read_text(fd, LIST_MAX, &data, &len, err) < 0)
        return err->code;
    return decode(data, len, ret, err);
}

/* What stands at a path, measured; nothing when it is not there. */
static uint64_t blocks_at(int dir_fd, const char *path)
{
    const char *slash = strrchr(path, '/');
    struct walk_entry entry = { .name = slash ? slash + 1 : path, .dir_fd = dir_fd };
    scoped_free char *above = slash ? strndup(path, (size_t)(slash - path)) : NULL;
    scoped_fd int parent = above ? node_open(dir_fd, above, O_RDONLY | O_DIRECTORY) : -1;

    if (slash && parent < 0)
        return 0;
    if (slash)
        entry.dir_fd = parent;
    return fstatat(entry.dir_fd, entry.name, &entry.st, AT_SYMLINK_NOFOLLOW) == 0
               ? walk_blocks(&entry)
               : 0;
}

/* What the use will be.  What cannot be measured counts as if it stayed. */
static struct named_info foresee(const struct named *named, int content_fd,
                                 const struct changes *changes)
{
    struct named_info after = named->info;
    uint64_t less_bytes = 0, less_inodes = 0;

    for (size_t i = 0; i < changes->n; i++) {
        const struct change *change = &changes->items[i];

        if (change->op == CHANGE_MODE)
            continue;
        after.used_inodes += change->op == CHANGE_CREATED;
        less_inodes += change->op == CHANGE_DELETED;
        if (change->op != CHANGE_DELETED)
            after.used_bytes += blocks_at(content_fd, change->path);
        if (change->op != CHANGE_CREATED)
            less_bytes += blocks_at(named->tree_fd, change->from ? change->from : change->path);
    }
    after.used_bytes -= less_bytes < after.used_bytes ? less_bytes : after.used_bytes;
    after.used_inodes -= less_inodes < after.used_inodes ? less_inodes : after.used_inodes;
    return after;
}

/* A run is bounded while it runs; this is for what the bounds of some machines let through. */
static int check_quota(const struct named *named, int content_fd, const struct changes *changes,
                       sbr_error *err)
{
    struct named_info after = foresee(named, content_fd, changes);

    if (after.used_bytes <= named->info.used_bytes && after.used_inodes <= named->info.used_inodes)
        return 0; /* it shrinks: always welcome */
    return named_check_fits(&after, err);
}

/* From `pending` into the tree, measured, and `pending` away. */
static int finish(struct named *named, int pending_fd, const struct changes *changes,
                  sbr_error *err)
{
    scoped_fd int content_fd = openat(pending_fd, CONTENT_NAME, OPEN_DIR);
    struct named_info after = named->info;

    if (content_fd < 0)
        return err_set_errno(err, "workspace", "cannot read the changes of a run");
    if (apply_to(named->tree_fd, content_fd, changes,
                 APPLY_CONSUME | APPLY_NO_UNDO | APPLY_NO_CHECK, err) < 0 ||
        named_measure(named->tree_fd, &after, err) < 0)
        return err->code;
    apply_step();
    if (named_meta_write(named->dir_fd, &after, err) < 0)
        return err->code;
    named->info = after;
    apply_step();
    if (tree_remove(named->dir_fd, NAMED_PENDING) < 0)
        return err_set_errno(err, "workspace", "cannot tidy the workspace '%s'", named->info.name);
    return 0;
}

int named_finish_pending(struct named *named, sbr_error *err)
{
    scoped_fd int pending_fd = openat(named->dir_fd, NAMED_PENDING, OPEN_DIR);
    struct changes changes = { 0 };
    int r;

    if (pending_fd < 0 && errno == ENOENT)
        return 0;
    if (pending_fd < 0)
        return err_set_errno(err, "workspace", "cannot open the last changes of '%s'",
                             named->info.name);
    r = read_list(pending_fd, &changes, err);
    if (r == 0)
        r = finish(named, pending_fd, &changes, err);
    else if (r != SBR_E_NO_MEMORY && tree_remove(named->dir_fd, NAMED_PENDING) == 0)
        r = 0; /* the list is whole before `pending` is there: this was the work of others */
    changes_done(&changes);
    return r;
}

/* The changes of the tree at /work, which borrow; its index, which is also the name of its contents. */
static int select_work(const struct changes *all, struct changes *ret, char index[16],
                       sbr_error *err)
{
    unsigned int root = 0;

    for (size_t i = 0; i < all->n_roots; i++)
        if (!strcmp(all->roots[i].target, "/work"))
            root = (unsigned int)i;
    snprintf(index, 16, "%u", root);
    *ret = (struct changes){ .items = calloc(all->n + 1, sizeof(*ret->items)) };
    if (!ret->items)
        return err_set_oom(err, "workspace");
    for (size_t i = 0; i < all->n; i++)
        if (all->items[i].root == root)
            ret->items[ret->n++] = all->items[i];
    for (size_t i = 0; i < ret->n; i++)
        ret->items[i].root = 0;
    return 0;
}

/* The list and the contents, next to each other in the staging's `pending`; then to the workspace. */
static int commit(struct named *named, struct staging *staging, const struct changes *changes,
                  const char *content, sbr_error *err)
{
    scoped_fd int pending_fd = -1, content_fd = -1;
    char from[32];

    snprintf(from, sizeof(from), "tree/%s", content);
    if (mkdirat(staging->fd, NAMED_PENDING, 0700) == 0)
        pending_fd = openat(staging->fd, NAMED_PENDING, OPEN_DIR);
    if (pending_fd < 0 || (renameat(staging->fd, from, pending_fd, CONTENT_NAME) < 0 &&
                           (errno != ENOENT || mkdirat(pending_fd, CONTENT_NAME, 0700) < 0)))
        return err_set_errno(err, "workspace", "cannot gather the changes of a run");
    content_fd = openat(pending_fd, CONTENT_NAME, OPEN_DIR);
    if (content_fd < 0)
        return err_set_errno(err, "workspace", "cannot read the changes of a run");
    if (check_quota(named, content_fd, changes, err) < 0 ||
        write_list(pending_fd, changes, err) < 0)
        return err->code;
    apply_step();
    if (renameat(staging->fd, NAMED_PENDING, named->dir_fd, NAMED_PENDING) < 0)
        return err_set_errno(err, "workspace", "cannot save the workspace '%s'", named->info.name);
    (void)fsync(named->dir_fd);
    return finish(named, pending_fd, changes, err);
}

int named_save(struct named *named, struct staging *staging, const struct changes *all,
               sbr_error *err)
{
    struct changes changes;
    char content[16];
    int r = select_work(all, &changes, content, err);

    if (r == 0 && changes.n)
        r = commit(named, staging, &changes, content, err);
    free(changes.items);
    staging_discard(staging);
    return r;
}
