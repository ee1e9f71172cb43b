#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/fd.h"
#include "base/scope.h"
#include "base/text.h"
#include "workspace/tar.h"
#include "workspace/tar_format.h"
#include "workspace/workspace_internal.h"

#define CHUNK ((size_t)128 * 1024)
#define MAX_OCTAL_SIZE 077777777777ULL
#define MAX_LINK 4096
#define MAX_PAX ((size_t)64 * 1024)

struct tar_out {
    int fd;
    char *chunk; /* CHUNK bytes */
    size_t len;  /* of it, not written yet */
};

static int flush(struct tar_out *out, sbr_error *err)
{
    if (fd_write_all(out->fd, out->chunk, out->len) < 0)
        return err_set_errno(err, "export", "cannot write the archive");
    out->len = 0;
    return 0;
}

static int put(struct tar_out *out, const void *data, size_t len, sbr_error *err)
{
    const char *p = data;

    while (len) {
        size_t n = CHUNK - out->len < len ? CHUNK - out->len : len;

        memcpy(out->chunk + out->len, p, n);
        out->len += n;
        p += n;
        len -= n;
        if (out->len == CHUNK && flush(out, err) < 0)
            return err->code;
    }
    return 0;
}

/* Zeros up to the next block. */
static int pad(struct tar_out *out, uint64_t len, sbr_error *err)
{
    static const char zeros[TAR_BLOCK];

    return put(out, zeros, (size_t)(-len % TAR_BLOCK), err);
}

/* "LEN KEY=VALUE\n", where LEN counts itself. */
static void put_record(struct buf *pax, const char *key, const char *value, size_t value_len)
{
    size_t rest = strlen(key) + value_len + 3, digits = 1;
    char number[24];

    while ((size_t)snprintf(number, sizeof(number), "%zu", rest + digits) > digits)
        digits++;
    buf_printf(pax, "%zu %s=", rest + digits, key);
    buf_add(pax, value, value_len);
    buf_add(pax, "\n", 1);
}

static void put_times(struct buf *pax, const struct timespec *t)
{
    char text[48];

    if (t->tv_nsec == 0 && t->tv_sec >= 0)
        return;
    if (t->tv_sec < 0 && t->tv_nsec > 0) /* counted from the second before */
        snprintf(text, sizeof(text), "-%" PRId64 ".%09ld", -(int64_t)(t->tv_sec + 1),
                 1000000000L - t->tv_nsec);
    else
        snprintf(text, sizeof(text), "%" PRId64 ".%09ld", (int64_t)t->tv_sec, t->tv_nsec);
    put_record(pax, "mtime", text, strlen(text));
}

struct item {
    const struct stat *st;
    const char *name, *link; /* link: NULL when it is none */
    uint64_t size;           /* of the content that follows */
    char type;
};

static void fill_header(struct tar_header *header, const struct item *item)
{
    const struct timespec *t = &item->st->st_mtim;
    uint64_t mtime =
        t->tv_sec < 0 || (uint64_t)t->tv_sec > MAX_OCTAL_SIZE ? 0 : (uint64_t)t->tv_sec;
    uint64_t size = item->size > MAX_OCTAL_SIZE ? 0 : item->size;

    *header = (struct tar_header){ .type = item->type, .magic = "ustar", .version = { '0', '0' } };
    memcpy(header->name, item->name, strnlen(item->name, sizeof(header->name)));
    if (item->link)
        memcpy(header->link, item->link, strnlen(item->link, sizeof(header->link)));
    snprintf(header->mode, sizeof(header->mode), "%07o", item->st->st_mode & 0777);
    snprintf(header->uid, sizeof(header->uid), "%07o", 0);
    snprintf(header->gid, sizeof(header->gid), "%07o", 0);
    snprintf(header->size, sizeof(header->size), "%011" PRIo64, size);
    snprintf(header->mtime, sizeof(header->mtime), "%011" PRIo64, mtime);
    snprintf(header->sum, sizeof(header->sum), "%06o", tar_sum(header));
    header->sum[7] = ' ';
}

/* What the header has no room for. */
static void fill_pax(struct buf *pax, const struct item *item)
{
    size_t name_len = strlen(item->name), link_len = item->link ? strlen(item->link) : 0;
    bool long_name = name_len > sizeof(((struct tar_header *)0)->name);
    bool long_link = link_len > sizeof(((struct tar_header *)0)->link);
    char size[24];

    if ((long_name && !text_is_utf8(item->name, name_len)) ||
        (long_link && !text_is_utf8(item->link, link_len)))
        put_record(pax, "hdrcharset", "BINARY", 6);
    if (long_name)
        put_record(pax, "path", item->name, name_len);
    if (long_link)
        put_record(pax, "linkpath", item->link, link_len);
    if (item->size > MAX_OCTAL_SIZE) {
        snprintf(size, sizeof(size), "%" PRIu64, item->size);
        put_record(pax, "size", size, strlen(size));
    }
    put_times(pax, &item->st->st_mtim);
}

static int put_head(struct tar_out *out, const struct item *item, sbr_error *err)
{
    static const struct stat plain = { .st_mode = 0644 };
    struct item extension = { .st = &plain, .name = "pax", .type = 'x' };
    struct tar_header header;
    struct buf pax;
    int r = 0;

    buf_init(&pax, MAX_PAX);
    fill_pax(&pax, item);
    if (pax.failed)
        r = err_set_oom(err, "export");
    extension.size = pax.len;
    if (r == 0 && pax.len) {
        fill_header(&header, &extension);
        r = put(out, &header, sizeof(header), err);
        if (r == 0)
            r = put(out, pax.data, pax.len, err);
        if (r == 0)
            r = pad(out, pax.len, err);
    }
    buf_done(&pax);
    fill_header(&header, item);
    return r < 0 ? r : put(out, &header, sizeof(header), err);
}

static int put_file(struct tar_out *out, const struct walk_entry *entry, struct item item,
                    sbr_error *err)
{
    scoped_fd int fd = walk_open_file(entry);
    scoped_free char *piece = malloc(CHUNK);
    uint64_t left = item.size;

    if (fd < 0 || !piece)
        return err_set_errno(err, "export", "cannot read '%.200s'", entry->path);
    if (put_head(out, &item, err) < 0)
        return err->code;
    while (left) {
        ssize_t n = fd_read_full(fd, piece, left < CHUNK ? (size_t)left : CHUNK);

        if (n <= 0) {
            errno = n < 0 ? errno : EIO; /* shorter than it was: nobody should have touched it */
            return err_set_errno(err, "export", "cannot read '%.200s'", entry->path);
        }
        if (put(out, piece, (size_t)n, err) < 0)
            return err->code;
        left -= (uint64_t)n;
    }
    return pad(out, item.size, err);
}

static int put_link(struct tar_out *out, const struct walk_entry *entry, struct item item,
                    sbr_error *err)
{
    char text[MAX_LINK + 1];
    ssize_t len = readlinkat(entry->dir_fd, entry->name, text, sizeof(text));

    if (len < 0 || (size_t)len >= sizeof(text))
        return err_set_errno(err, "export", "cannot read the link '%.200s'", entry->path);
    text[len] = '\0';
    item.link = text;
    item.type = '2';
    return put_head(out, &item, err);
}

static int put_entry(void *context, const struct walk_entry *entry, sbr_error *err)
{
    struct item item = { .st = &entry->st, .name = entry->path, .type = '0' };

    if (S_ISDIR(entry->st.st_mode)) {
        item.type = '5';
        return put_head(context, &item, err);
    }
    if (S_ISLNK(entry->st.st_mode))
        return put_link(context, entry, item, err);
    if (!S_ISREG(entry->st.st_mode))
        return 0; /* nothing that a workspace holds */
    item.size = (uint64_t)entry->st.st_size;
    return put_file(context, entry, item, err);
}

int tar_write(int tree_fd, int fd, sbr_error *err)
{
    static const char end[2 * TAR_BLOCK];
    scoped_free char *chunk = malloc(CHUNK);
    struct tar_out out = { .fd = fd, .chunk = chunk };

    if (!chunk)
        return err_set_oom(err, "export");
    if (workspace_walk(tree_fd, put_entry, &out, err) < 0 || put(&out, end, sizeof(end), err) < 0)
        return err->code;
    return flush(&out, err);
}
