/* A header with its own digest, and the list of what is in the tree, whose digest is in the header:
 * for a layer of ten thousand files, a run reads the header alone. */
#include "store/store_meta.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/encoding.h"
#include "base/fd.h"
#include "base/scope.h"
#include "base/text.h"

#define META_MAGIC 0x31524253 /* "SBR1": the number changes with the format */
#define HEAD_SIZE 4096        /* more than a header takes, and all of it for a small tree */

void store_meta_set_about(struct store_meta *meta, const char *about)
{
    size_t n = strnlen(about, sizeof(meta->about) - 1);

    while (n > 0 && about[n] && ((unsigned char)about[n] & 0xc0) == 0x80)
        n--; /* not through the middle of a character */
    memcpy(meta->about, about, n);
    meta->about[n] = '\0';
    for (unsigned char *p = (unsigned char *)meta->about; *p; p++) {
        if (*p < 0x20 || *p == 0x7f)
            *p = '?';
        else if (*p == 0xc2 && p[1] >= 0x80 && p[1] < 0xa0) /* C1 controls */
            p[0] = p[1] = '?';
    }
    for (char *p = meta->about; *p && !text_is_utf8(meta->about, n); p++)
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

/* The header's length, or 0 when it is not whole. */
static size_t decode(struct store_meta *meta, const char *data, size_t len,
                     char list_digest[SHA256_HEX_SIZE])
{
    struct buf_reader r = { .data = data, .len = len };
    bool magic = buf_reader_u32(&r) == META_MAGIC;
    uint32_t kind = buf_reader_u32(&r);
    const char *key = buf_reader_string(&r), *digest = buf_reader_string(&r);
    const char *about = buf_reader_string(&r), *of_list, *sum;
    char expected[SHA256_HEX_SIZE];

    meta->bytes = buf_reader_u64(&r);
    meta->files = buf_reader_u64(&r);
    meta->list_len = buf_reader_u64(&r);
    of_list = buf_reader_string(&r);
    sha256_hex(data, r.pos, expected);
    sum = buf_reader_string(&r);
    if (r.failed || !magic || kind >= N_STORE_KINDS || !about || !sum || strcmp(sum, expected) != 0)
        return 0;
    if (!copy_hex(meta->key, key) || !copy_hex(meta->digest, digest) ||
        !copy_hex(list_digest, of_list))
        return 0;
    meta->kind = (enum store_kind)kind;
    store_meta_set_about(meta, about);
    return r.pos;
}

/* `head` are the first bytes of the file, of which the list may need more.  As store_meta_read. */
static int read_list(int fd, struct store_meta *meta, const char *head, size_t in_head,
                     sbr_error *err)
{
    char *list = malloc(meta->list_len + 1);

    if (!list)
        return err_set_oom(err, "cache");
    memcpy(list, head, in_head);
    if (in_head < meta->list_len && fd_read_full(fd, list + in_head, meta->list_len - in_head) !=
                                        (ssize_t)(meta->list_len - in_head)) {
        free(list);
        return 0;
    }
    meta->list = list;
    return 1;
}

static int read_meta(int fd, bool with_list, struct store_meta *meta, sbr_error *err)
{
    char head[HEAD_SIZE], expected[SHA256_HEX_SIZE], found[SHA256_HEX_SIZE];
    struct stat st;
    size_t len, used;
    int r;

    if (fstat(fd, &st) < 0)
        return err_set_errno(err, "cache", "cannot read an entry");
    len = st.st_size < HEAD_SIZE ? (size_t)st.st_size : HEAD_SIZE;
    if (!S_ISREG(st.st_mode) || fd_read_full(fd, head, len) != (ssize_t)len)
        return 0;
    used = decode(meta, head, len, expected);
    if (!used || meta->list_len > TREE_LIST_MAX || used + meta->list_len != (size_t)st.st_size)
        return 0;
    meta->used = st.st_mtim;
    if (!with_list)
        return 1;
    len = len - used < meta->list_len ? len - used : meta->list_len;
    r = read_list(fd, meta, head + used, len, err);
    if (r <= 0)
        return r;
    sha256_hex(meta->list, meta->list_len, found);
    return strcmp(found, expected) == 0;
}

int store_meta_read(int entry_fd, bool with_list, struct store_meta *ret, sbr_error *err)
{
    scoped_fd int fd =
        openat(entry_fd, META_NAME, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);

    *ret = (struct store_meta){ 0 };
    if (fd < 0)
        return errno == EMFILE || errno == ENFILE || errno == ENOMEM
                   ? err_set_errno(err, "cache", "cannot read an entry")
                   : 0;
    return read_meta(fd, with_list, ret, err);
}

void store_meta_done(struct store_meta *meta)
{
    free(meta->list);
    meta->list = NULL;
}

static void encode(const struct store_meta *meta, const struct buf *list, struct buf *out)
{
    char hex[SHA256_HEX_SIZE];

    buf_put_u32(out, META_MAGIC);
    buf_put_u32(out, meta->kind);
    buf_put_string(out, meta->key);
    buf_put_string(out, meta->digest);
    buf_put_string(out, meta->about);
    buf_put_u64(out, meta->bytes);
    buf_put_u64(out, meta->files);
    buf_put_u64(out, list->len);
    sha256_hex(list->data, list->len, hex);
    buf_put_string(out, hex);
    if (out->failed)
        return;
    sha256_hex(out->data, out->len, hex);
    buf_put_string(out, hex);
    buf_add(out, list->data, list->len);
}

static int write_file(int entry_fd, const char *name, const struct buf *data)
{
    scoped_fd int fd =
        openat(entry_fd, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);

    return fd < 0 ? -1 : fd_write_all(fd, data->data, data->len);
}

int store_meta_write(int entry_fd, const struct store_meta *meta, const struct buf *list)
{
    char name[ENCODING_ID_SIZE];
    struct buf data;
    int r = -1;

    buf_init(&data, TREE_LIST_MAX + HEAD_SIZE);
    encode(meta, list, &data);
    if (data.failed) {
        errno = ENOMEM;
    } else if (encoding_random_id(name) == 0) {
        r = write_file(entry_fd, name, &data);
        if (r == 0)
            r = renameat(entry_fd, name, entry_fd, META_NAME);
        if (r < 0) {
            int saved = errno;

            (void)unlinkat(entry_fd, name, 0);
            errno = saved;
        }
    }
    buf_done(&data);
    return r;
}
