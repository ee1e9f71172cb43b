/* The description of a workspace, what it holds, and what it may hold. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/record.h"
#include "base/text.h"
#include "workspace/workspace_internal.h"

#define META_MAGIC 0x31575253 /* "SRW1": the number changes with the format */
#define META_MAX 512
#define BLOCK 4096ULL

int workspace_open_dir(int dir_fd, const char *name)
{
    return openat(dir_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
}

bool workspace_name_is_good(const char *name)
{
    size_t len = strlen(name);

    return len > 0 && len <= WORKSPACE_MAX_NAME && name[0] != '.' && name[0] != '-' &&
           strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-") == len;
}

int workspace_check_name(const char *name, sbr_error *err)
{
    if (workspace_name_is_good(name))
        return 0;
    return err_set(err, SBR_E_INVALID, "workspace",
                   "'%.70s' cannot be the name of a workspace; use letters, digits, '.', '_' and "
                   "'-', at most %d, first a letter, digit or '_'",
                   name, WORKSPACE_MAX_NAME);
}

int workspace_meta_read(int dir_fd, struct workspace_info *ret, sbr_error *err)
{
    scoped_record struct record record;
    struct buf_reader *r = &record.fields;
    int ok = record_read(dir_fd, WORKSPACE_META, META_MAGIC, META_MAX, &record);

    if (ok < 0 && errno != EACCES)
        return err_set_errno(err, "workspace", "cannot read a workspace's description");
    if (ok <= 0)
        return 0;
    ret->used = record.written.tv_sec;
    ret->owner = buf_reader_u32(r);
    ret->quota_bytes = buf_reader_u64(r);
    ret->quota_inodes = buf_reader_u64(r);
    ret->used_bytes = buf_reader_u64(r);
    ret->used_inodes = buf_reader_u64(r);
    ret->created = (int64_t)buf_reader_u64(r);
    return !r->failed && r->pos == r->len;
}

int workspace_meta_write(int dir_fd, const struct workspace_info *info, sbr_error *err)
{
    struct buf data;

    record_begin(&data, META_MAGIC, META_MAX);
    buf_put_u32(&data, info->owner);
    buf_put_u64(&data, info->quota_bytes);
    buf_put_u64(&data, info->quota_inodes);
    buf_put_u64(&data, info->used_bytes);
    buf_put_u64(&data, info->used_inodes);
    buf_put_u64(&data, (uint64_t)info->created);
    return record_write(dir_fd, WORKSPACE_META, &data, RECORD_FLUSH) < 0
               ? err_set_errno(err, "workspace", "cannot write a workspace's description")
               : 0;
}

int workspace_walk(int tree_fd, walk_visit *visit, void *context, sbr_error *err)
{
    const struct walk walk = { .visit = visit,
                               .context = context,
                               .stage = "workspace",
                               .flags = WALK_UNLOCK,
                               .max_depth = COLLECT_MAX_DEPTH + 1,
                               .max_path = (COLLECT_MAX_DEPTH + 2) * (COLLECT_MAX_NAME + 1) };

    return walk_tree(tree_fd, &walk, err);
}

static uint64_t whole_blocks(uint64_t bytes)
{
    return (bytes + BLOCK - 1) / BLOCK * BLOCK;
}

/* Of a file with holes, the parts that are none. */
static uint64_t data_blocks(int fd, off_t size)
{
    uint64_t bytes = 0;
    off_t end = 0, data;

    while (end < size && (data = lseek(fd, end, SEEK_DATA)) >= 0) {
        end = lseek(fd, data, SEEK_HOLE);
        if (end < 0)
            return whole_blocks((uint64_t)size);
        if (end > size)
            end = size;
        bytes += whole_blocks((uint64_t)(end - data));
    }
    return bytes;
}

uint64_t workspace_blocks(const struct walk_entry *entry)
{
    const struct stat *st = &entry->st;
    scoped_fd int fd = -1;

    if (!S_ISREG(st->st_mode))
        return 0;
    /* st_blocks differs between file systems; it only shows where holes may be. */
    if ((uint64_t)st->st_size > BLOCK && (uint64_t)st->st_blocks * 512 < (uint64_t)st->st_size)
        fd = walk_open_file(entry);
    return fd < 0 ? whole_blocks((uint64_t)st->st_size) : data_blocks(fd, st->st_size);
}

static int add_entry(void *context, const struct walk_entry *entry, sbr_error *err)
{
    struct workspace_info *info = context;

    (void)err;
    info->used_inodes++;
    info->used_bytes += workspace_blocks(entry);
    return 0;
}

int workspace_measure(int tree_fd, struct workspace_info *info, sbr_error *err)
{
    info->used_bytes = info->used_inodes = 0;
    return workspace_walk(tree_fd, add_entry, info, err);
}

int workspace_check_fits(const struct workspace_info *info, sbr_error *err)
{
    char used[32], quota[32];

    if (info->used_inodes > info->quota_inodes)
        return err_set(
            err, SBR_E_INVALID, "workspace",
            "the workspace would have %llu files and directories, which is more than its quota of "
            "%llu; give it more with --inodes",
            (unsigned long long)info->used_inodes, (unsigned long long)info->quota_inodes);
    if (info->used_bytes <= info->quota_bytes)
        return 0;
    text_format_size(info->used_bytes, used, sizeof(used));
    text_format_size(info->quota_bytes, quota, sizeof(quota));
    return err_set(
        err, SBR_E_INVALID, "workspace",
        "the workspace would take %s, which is more than its quota of %s; give it more with --disk",
        used, quota);
}
