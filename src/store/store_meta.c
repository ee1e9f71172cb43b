#include "store/store_meta.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/record.h"
#include "base/text.h"

#define META_MAGIC 0x32524253 /* "SBR2": the number changes with the format */
#define LIST_MAGIC 0x314c4253 /* "SBL1" */
#define RECORD_MAX (TREE_LIST_MAX + 4096)

void store_meta_set_about(struct store_meta *meta, const char *about)
{
    snprintf(meta->about, sizeof(meta->about), "%s", about);
    err_clean(meta->about);
    for (char *p = meta->about; *p && !text_is_utf8(meta->about, strlen(meta->about)); p++)
        if (*p & 0x80)
            *p = '?';
}

static bool copy_hex(char to[SHA256_HEX_SIZE], const char *from)
{
    if (!from || strlen(from) != SHA256_HEX_SIZE - 1)
        return false;
    memcpy(to, from, SHA256_HEX_SIZE);
    return true;
}

static bool decode(struct store_meta *meta, struct buf_reader *r)
{
    uint32_t kind = buf_reader_u32(r);
    const char *key = buf_reader_string(r), *digest = buf_reader_string(r);
    const char *about = buf_reader_string(r);

    meta->bytes = buf_reader_u64(r);
    meta->files = buf_reader_u64(r);
    if (r->failed || r->pos != r->len || kind >= N_STORE_KINDS || !about ||
        !copy_hex(meta->key, key) || !copy_hex(meta->digest, digest))
        return false;
    meta->kind = (enum store_kind)kind;
    store_meta_set_about(meta, about);
    return true;
}

/* A lack of ours says nothing about the entry; everything else makes it damaged. */
static int read_one(int entry_fd, const char *name, uint32_t magic, struct record *ret,
                    sbr_error *err)
{
    int r = record_read(entry_fd, name, magic, RECORD_MAX, ret);

    if (r < 0 && (errno == EMFILE || errno == ENFILE || errno == ENOMEM))
        return err_set_errno(err, "cache", "cannot read an entry");
    return r == 1;
}

int store_meta_read(int entry_fd, bool with_list, struct store_meta *ret, sbr_error *err)
{
    scoped_record struct record meta = { 0 }, list = { 0 };
    int r = read_one(entry_fd, META_NAME, META_MAGIC, &meta, err);

    store_meta_done(ret);
    *ret = (struct store_meta){ .used = meta.written };
    if (r != 1 || !decode(ret, &meta.fields))
        return r < 0 ? r : 0;
    if (!with_list)
        return 1;
    r = read_one(entry_fd, LIST_NAME, LIST_MAGIC, &list, err);
    if (r != 1)
        return r;
    ret->list_len = list.fields.len - list.fields.pos;
    ret->list = malloc(ret->list_len + 1);
    if (!ret->list)
        return err_set_oom(err, "cache");
    memcpy(ret->list, list.fields.data + list.fields.pos, ret->list_len);
    return 1;
}

void store_meta_done(struct store_meta *meta)
{
    free(meta->list);
    meta->list = NULL;
}

int store_meta_write(int entry_fd, const struct store_meta *meta, const struct buf *list)
{
    struct buf data;

    record_begin(&data, LIST_MAGIC, RECORD_MAX);
    buf_add(&data, list->data, list->len);
    if (record_write(entry_fd, LIST_NAME, &data, RECORD_SHARED) < 0)
        return -1;
    record_begin(&data, META_MAGIC, RECORD_MAX);
    buf_put_u32(&data, meta->kind);
    buf_put_string(&data, meta->key);
    buf_put_string(&data, meta->digest);
    buf_put_string(&data, meta->about);
    buf_put_u64(&data, meta->bytes);
    buf_put_u64(&data, meta->files);
    return record_write(entry_fd, META_NAME, &data, RECORD_SHARED);
}
