/* The description of a workspace: a few numbers with a digest, which shows a damaged or
 * incomplete one. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/fd.h"
#include "base/scope.h"
#include "base/sha256.h"
#include "base/text.h"
#include "changes/walk.h"
#include "workspace/workspace_internal.h"

#define META_MAGIC 0x31575253 /* "SRW1": the number changes with the format */
#define META_MAX 512
#define META_NEW "meta.new"

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

/* False when the description is incomplete or damaged. */
static bool decode(const char *data, size_t len, struct workspace_info *ret)
{
    struct buf_reader r = { .data = data, .len = len };
    char expected[SHA256_HEX_SIZE];
    const char *sum;
    bool magic = buf_reader_u32(&r) == META_MAGIC;

    ret->owner = buf_reader_u32(&r);
    ret->quota_bytes = buf_reader_u64(&r);
    ret->quota_inodes = buf_reader_u64(&r);
    ret->used_bytes = buf_reader_u64(&r);
    ret->used_inodes = buf_reader_u64(&r);
    ret->created = (int64_t)buf_reader_u64(&r);
    sha256_hex(data, r.pos, expected);
    sum = buf_reader_string(&r);
    return magic && !r.failed && sum && r.pos == len && !strcmp(sum, expected);
}

int workspace_meta_read(int dir_fd, struct workspace_info *ret, sbr_error *err)
{
    scoped_fd int fd =
        openat(dir_fd, WORKSPACE_META, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    char data[META_MAX];
    struct stat st;
    ssize_t len;

    if (fd < 0)
        return errno == ENOENT || errno == ELOOP || errno == EACCES
                   ? 0
                   : err_set_errno(err, "workspace", "cannot read a workspace's description");
    if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
        return 0;
    len = fd_read_full(fd, data, sizeof(data));
    if (len < 0)
        return err_set_errno(err, "workspace", "cannot read a workspace's description");
    ret->used = st.st_mtim.tv_sec;
    return decode(data, (size_t)len, ret);
}

static void encode(const struct workspace_info *info, struct buf *out)
{
    char sum[SHA256_HEX_SIZE];

    buf_put_u32(out, META_MAGIC);
    buf_put_u32(out, info->owner);
    buf_put_u64(out, info->quota_bytes);
    buf_put_u64(out, info->quota_inodes);
    buf_put_u64(out, info->used_bytes);
    buf_put_u64(out, info->used_inodes);
    buf_put_u64(out, (uint64_t)info->created);
    if (out->failed)
        return;
    sha256_hex(out->data, out->len, sum);
    buf_put_string(out, sum);
}

int workspace_meta_write(int dir_fd, const struct workspace_info *info, sbr_error *err)
{
    scoped_fd int fd =
        openat(dir_fd, META_NEW, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
    struct buf data;
    int r = -1;

    buf_init(&data, META_MAX);
    encode(info, &data);
    if (data.failed)
        errno = ENOMEM;
    else if (fd >= 0 && fd_write_all(fd, data.data, data.len) == 0 && fsync(fd) == 0)
        r = renameat(dir_fd, META_NEW, dir_fd, WORKSPACE_META);
    buf_done(&data);
    return r < 0 ? err_set_errno(err, "workspace", "cannot write a workspace's description") : 0;
}

static int add_entry(void *context, const struct walk_entry *entry, sbr_error *err)
{
    struct workspace_info *info = context;

    (void)err;
    info->used_inodes++;
    info->used_bytes += walk_blocks(entry);
    return 0;
}

int workspace_measure(int tree_fd, struct workspace_info *info, sbr_error *err)
{
    info->used_bytes = info->used_inodes = 0;
    return walk_tree(tree_fd, add_entry, info, err);
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
