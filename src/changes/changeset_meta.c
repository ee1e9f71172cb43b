#include "changes/changeset_meta.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/fd.h"
#include "base/scope.h"
#include "base/sha256.h"
#include "changes/apply.h"

#define META_MAGIC 0x31435253 /* "SRC1": the number changes with the format */
#define META_MAX (1u << 30)
#define NS_PER_SECOND 1000000000
#define SUM_SIZE (SHA256_HEX_SIZE - 1)

bool changeset_is_path(const char *path)
{
    if (!path || !*path || strlen(path) >= PATH_MAX)
        return false;
    for (const char *p = path;; p++) {
        size_t len = strcspn(p, "/");

        if (len == 0 || len > NAME_MAX || (len == 1 && p[0] == '.') ||
            (len == 2 && p[0] == '.' && p[1] == '.'))
            return false;
        p += len;
        if (!*p)
            return true;
    }
}

void changeset_put_sum(struct buf *data)
{
    char hex[SHA256_HEX_SIZE];

    if (data->failed)
        return;
    sha256_hex(data->data, data->len, hex);
    buf_add(data, hex, SUM_SIZE);
}

static int write_aside(int dir_fd, const char *aside, const struct buf *data)
{
    scoped_fd int fd = -1;

    apply_step();
    fd = openat(dir_fd, aside, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0)
        return -1;
    apply_step();
    return fd_write_all(fd, data->data, data->len) < 0 ? -1 : fsync(fd);
}

int changeset_write_file(int dir_fd, const char *name, const struct buf *data)
{
    char aside[80];

    if (data->failed) {
        errno = ENOMEM;
        return -1;
    }
    snprintf(aside, sizeof(aside), "%.60s.new", name);
    if (write_aside(dir_fd, aside, data) == 0) {
        apply_step();
        if (renameat(dir_fd, aside, dir_fd, name) == 0)
            return fsync(dir_fd);
    }
    {
        int saved = errno;

        (void)unlinkat(dir_fd, aside, 0);
        errno = saved;
    }
    return -1;
}

int changeset_read_file(int dir_fd, const char *name, char **ret, size_t *ret_len, sbr_error *err)
{
    scoped_fd int fd =
        openat(dir_fd, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    scoped_free char *data = NULL;
    char sum[SHA256_HEX_SIZE];
    struct stat st;
    size_t len;

    if (fd < 0 && (errno == ENOENT || errno == ELOOP))
        return 0;
    if (fd < 0 || fstat(fd, &st) < 0)
        return err_set_errno(err, "state", "cannot read '%s' of kept changes", name);
    if (!S_ISREG(st.st_mode) || st.st_size < (off_t)SUM_SIZE || st.st_size > (off_t)META_MAX)
        return 0;
    len = (size_t)st.st_size;
    data = malloc(len + 1);
    if (!data)
        return err_set_oom(err, "state");
    if (fd_read_full(fd, data, len) != (ssize_t)len)
        return 0;
    sha256_hex(data, len - SUM_SIZE, sum);
    if (memcmp(sum, data + len - SUM_SIZE, SUM_SIZE) != 0)
        return 0;
    *ret = take_ptr(data);
    *ret_len = len - SUM_SIZE;
    return 1;
}

static void put_node(struct buf *b, const struct node *node)
{
    buf_put_u32(b, node->kind);
    buf_put_u32(b, node->mode);
    buf_put_u64(b, node->size);
    buf_put_u64(b, (uint64_t)node->mtime_ns);
}

static bool read_node(struct buf_reader *r, struct node *node)
{
    uint32_t kind = buf_reader_u32(r);

    node->kind = kind < N_NODE_KINDS ? (enum node_kind)kind : NODE_NONE;
    node->mode = buf_reader_u32(r) & 07777;
    node->size = buf_reader_u64(r);
    node->mtime_ns = (int64_t)buf_reader_u64(r);
    return kind < N_NODE_KINDS;
}

static void put_change(struct buf *b, const struct change *c)
{
    buf_put_u32(b, c->op);
    buf_put_u32(b, c->root);
    buf_put_string(b, c->path);
    buf_put_string(b, c->from);
    put_node(b, &c->now);
    put_node(b, &c->base);
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
    bool sound = op < N_CHANGE_OPS;

    c.op = sound ? (enum change_op)op : CHANGE_CREATED;
    c.root = buf_reader_u32(r);
    path = buf_reader_string(r);
    from = buf_reader_string(r);
    sound = read_node(r, &c.now) && sound;
    sound = read_node(r, &c.base) && sound;
    c.base_ino = buf_reader_u64(r);
    c.base_ctime_ns = (int64_t)buf_reader_u64(r);
    sum = buf_reader_string(r);
    c.raced = buf_reader_u32(r) != 0;
    if (!sound || r->failed || c.root >= changes->n_roots || !changeset_is_path(path) ||
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

    if (buf_reader_u32(r) != META_MAGIC)
        return 0;
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

int changeset_meta_read(int dir_fd, struct changeset *ret, sbr_error *err)
{
    scoped_free char *data = NULL;
    struct buf_reader r = { 0 };
    int ok = changeset_read_file(dir_fd, KEEP_META, &data, &r.len, err);

    if (ok != 1)
        return ok;
    r.data = data;
    return decode(&r, ret, err);
}

int changeset_meta_write(int dir_fd, const struct changeset *changeset)
{
    struct buf data;
    int r;

    buf_init(&data, META_MAX);
    buf_put_u32(&data, META_MAGIC);
    buf_put_u64(&data, (uint64_t)changeset->created_ns);
    buf_put_u32(&data, changeset->applied);
    buf_put_string(&data, changeset->about);
    changes_encode(&changeset->changes, &data);
    buf_put_u32(&data, (uint32_t)changeset->files.n);
    for (size_t i = 0; i < changeset->files.n; i++)
        put_file(&data, &changeset->files.items[i]);
    buf_put_u64(&data, changeset->files.dropped);
    changeset_put_sum(&data);
    r = changeset_write_file(dir_fd, KEEP_META, &data);
    buf_done(&data);
    return r;
}
