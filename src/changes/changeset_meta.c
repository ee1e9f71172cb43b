#include "changes/changeset_meta.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/text.h"

#define META_MAGIC 0x31435253 /* "SRC1": the number changes with the format */
#define NS_PER_SECOND 1000000000

bool changeset_is_path(const char *path)
{
    return path && text_is_relative_path(path, PATH_MAX - 1);
}

void changes_put_node(struct buf *b, const struct node *node)
{
    buf_put_u32(b, node->kind);
    buf_put_u32(b, node->mode);
    buf_put_u64(b, node->size);
    buf_put_u64(b, (uint64_t)node->mtime_ns);
}

void changes_read_node(struct buf_reader *r, struct node *node)
{
    uint32_t kind = buf_reader_u32(r);

    r->failed = r->failed || kind >= N_NODE_KINDS;
    node->kind = r->failed ? NODE_NONE : (enum node_kind)kind;
    node->mode = buf_reader_u32(r) & 07777;
    node->size = buf_reader_u64(r);
    node->mtime_ns = (int64_t)buf_reader_u64(r);
}

static void put_change(struct buf *b, const struct change *c)
{
    buf_put_u32(b, c->op);
    buf_put_u32(b, c->root);
    buf_put_string(b, c->path);
    buf_put_string(b, c->from);
    changes_put_node(b, &c->now);
    changes_put_node(b, &c->base);
    buf_put_u64(b, c->base_ino);
    buf_put_u64(b, (uint64_t)c->base_ctime_ns);
    buf_put_string(b, c->base_sum);
    buf_put_u32(b, c->raced);
}

/* 1, 0 when it makes no sense, or negative. */
static int read_change(struct buf_reader *r, struct changes *changes, sbr_error *err)
{
    struct change c = { 0 };
    uint32_t op = buf_reader_u32(r);
    const char *path, *from, *sum;

    c.op = op < N_CHANGE_OPS ? (enum change_op)op : CHANGE_CREATED;
    c.root = buf_reader_u32(r);
    path = buf_reader_string(r);
    from = buf_reader_string(r);
    changes_read_node(r, &c.now);
    changes_read_node(r, &c.base);
    c.base_ino = buf_reader_u64(r);
    c.base_ctime_ns = (int64_t)buf_reader_u64(r);
    sum = buf_reader_string(r);
    c.raced = buf_reader_u32(r) != 0;
    if (op >= N_CHANGE_OPS || r->failed || c.root >= changes->n_roots || !changeset_is_path(path) ||
        (from && !changeset_is_path(from)) || !sum || strlen(sum) >= sizeof(c.base_sum))
        return 0;
    memcpy(c.base_sum, sum, strlen(sum) + 1);
    c.path = strdup(path);
    c.from = from ? strdup(from) : NULL;
    if (!c.path || (from && !c.from)) {
        free(c.path);
        free(c.from);
        return err_set_oom(err, "state");
    }
    /* cppcheck-suppress memleak ; the list takes them over */
    return changes_add(changes, &c, err) < 0 ? err->code : 1;
}

static void put_file(struct buf *b, const struct output_file *f)
{
    buf_put_string(b, f->path);
    buf_put_u64(b, f->size);
    buf_put_string(b, f->saved);
    buf_put_string(b, f->skipped);
}

static int read_file(struct buf_reader *r, struct changeset *changeset, sbr_error *err)
{
    const char *path = buf_reader_string(r);
    uint64_t size = buf_reader_u64(r);
    const char *saved = buf_reader_string(r), *skipped = buf_reader_string(r);
    struct output_file f = { .size = size };

    if (r->failed || !path)
        return 0;
    f.path = strdup(path);
    f.saved = saved ? strdup(saved) : NULL;
    f.skipped = skipped ? strdup(skipped) : NULL;
    f.mime = outputs_mime_of(path);
    if (!f.path || (saved && !f.saved) || (skipped && !f.skipped)) {
        free(f.path);
        free(f.saved);
        free(f.skipped);
        return err_set_oom(err, "state");
    }
    /* cppcheck-suppress memleak ; the list takes them over */
    return output_files_add(&changeset->files, &f, err) < 0 ? err->code : 1;
}

static int read_roots(struct buf_reader *r, struct changes *changes, sbr_error *err)
{
    uint32_t n = buf_reader_count(r);

    for (uint32_t i = 0; i < n; i++) {
        const char *source = buf_reader_string(r), *target = buf_reader_string(r);

        if (r->failed || !source || source[0] != '/' || !target)
            return 0;
        if (changes_add_root(changes, source, target, err) < 0)
            return err->code;
    }
    return 1;
}

void changes_encode(const struct changes *changes, struct buf *out)
{
    buf_put_u32(out, (uint32_t)changes->n_roots);
    for (size_t i = 0; i < changes->n_roots; i++) {
        buf_put_string(out, changes->roots[i].source);
        buf_put_string(out, changes->roots[i].target);
    }
    buf_put_u32(out, (uint32_t)changes->n);
    for (size_t i = 0; i < changes->n; i++)
        put_change(out, &changes->items[i]);
}

int changes_decode(struct buf_reader *r, struct changes *ret, sbr_error *err)
{
    int ok = read_roots(r, ret, err);
    uint32_t n = ok == 1 ? buf_reader_count(r) : 0;

    for (uint32_t i = 0; ok == 1 && i < n; i++)
        ok = read_change(r, ret, err);
    return ok == 1 && r->failed ? 0 : ok;
}

static int decode(struct buf_reader *r, struct changeset *changeset, sbr_error *err)
{
    uint32_t n;
    const char *about;
    int ok;

    changeset->created_ns = (int64_t)buf_reader_u64(r);
    changeset->created = changeset->created_ns / NS_PER_SECOND;
    changeset->applied = buf_reader_u32(r) != 0;
    about = buf_reader_string(r);
    if (!about || strlen(about) >= sizeof(changeset->about))
        return 0;
    memcpy(changeset->about, about, strlen(about) + 1);
    ok = changes_decode(r, &changeset->changes, err);
    n = ok == 1 ? buf_reader_count(r) : 0;
    for (uint32_t i = 0; ok == 1 && i < n; i++)
        ok = read_file(r, changeset, err);
    changeset->files.dropped = ok == 1 ? buf_reader_u64(r) : 0;
    return ok == 1 ? !r->failed && r->pos == r->len : ok;
}

int changeset_read_record(int dir_fd, const char *name, uint32_t magic, struct record *ret,
                          sbr_error *err)
{
    int r = record_read(dir_fd, name, magic, CHANGESET_RECORD_MAX, ret);

    return r < 0 ? err_set_errno(err, "state", "cannot read '%s' of kept changes", name) : r;
}

int changeset_meta_read(int dir_fd, struct changeset *ret, sbr_error *err)
{
    scoped_record struct record record;
    int r = changeset_read_record(dir_fd, CHANGESET_META, META_MAGIC, &record, err);

    return r == 1 ? decode(&record.fields, ret, err) : r;
}

int changeset_meta_write(int dir_fd, const struct changeset *changeset)
{
    struct buf data;

    record_begin(&data, META_MAGIC, CHANGESET_RECORD_MAX);
    buf_put_u64(&data, (uint64_t)changeset->created_ns);
    buf_put_u32(&data, changeset->applied);
    buf_put_string(&data, changeset->about);
    changes_encode(&changeset->changes, &data);
    buf_put_u32(&data, (uint32_t)changeset->files.n);
    for (size_t i = 0; i < changeset->files.n; i++)
        put_file(&data, &changeset->files.items[i]);
    buf_put_u64(&data, changeset->files.dropped);
    return record_write(dir_fd, CHANGESET_META, &data, RECORD_FLUSH);
}
