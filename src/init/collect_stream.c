#include "init/collect_files.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"

#define LEAST_PIECE 4096 /* smaller pieces are not worth their header */

static uint64_t times(uint64_t n, uint64_t factor)
{
    return n > UINT64_MAX / factor ? UINT64_MAX : n * factor;
}

void collect_stream_init(struct stream *s, const struct plan *plan, struct init_report *report)
{
    s->report = report;
    s->used = 0;
    s->bytes = times(plan->scratch_bytes, COLLECT_BYTES_PER_BYTE);
    s->sizes = times(s->bytes, COLLECT_SIZE_PER_BYTE);
    s->entries = times(plan->scratch_inodes, COLLECT_ENTRIES_PER_INODE);
}

int collect_stream_tick(struct stream *s)
{
    s->report->progress++;
    return s->report->dropped ? EPIPE : 0;
}

int collect_stream_flush(struct stream *s)
{
    size_t used = s->used;

    s->used = 0;
    if (collect_stream_tick(s) || (used && fd_write_all(INIT_COLLECT, s->data, used) < 0))
        return EPIPE;
    return 0;
}

int collect_stream_bytes(struct stream *s, const void *data, size_t len)
{
    int r = len > sizeof(s->data) - s->used ? collect_stream_flush(s) : 0;

    if (r == 0) {
        memcpy(s->data + s->used, data, len);
        s->used += len;
    }
    return r;
}

static bool counts(enum collect_kind kind)
{
    return kind != COLLECT_END && kind != COLLECT_PART && kind != COLLECT_LEAVE &&
           kind != COLLECT_FAILED;
}

int collect_stream_entry(struct stream *s, struct collect_entry entry, const char *name,
                         const struct stat *st)
{
    int r;

    if (counts((enum collect_kind)entry.kind) && s->entries-- == 0) {
        s->entries = 0;
        return EDQUOT;
    }
    entry.name_len = name ? (uint32_t)strnlen(name, COLLECT_MAX_NAME) : 0;
    if (st) {
        entry.mode = st->st_mode;
        entry.mtime_s = st->st_mtim.tv_sec;
        entry.mtime_ns = (uint32_t)st->st_mtim.tv_nsec;
    }
    r = collect_stream_bytes(s, &entry, sizeof(entry));
    return r || !name ? r : collect_stream_bytes(s, name, entry.name_len);
}

int collect_stream_afford(struct stream *s, uint64_t bytes, uint64_t size)
{
    if (bytes > s->bytes || size > s->sizes)
        return EFBIG;
    s->bytes -= bytes;
    s->sizes -= size;
    return 0;
}

int collect_stream_data(struct stream *s, int fd, uint64_t from, uint64_t end)
{
    struct collect_piece piece = { .offset = from };

    while (piece.offset < end) {
        size_t free_bytes = sizeof(s->data) - s->used;
        ssize_t n;

        if (free_bytes < sizeof(piece) + LEAST_PIECE) {
            if (collect_stream_flush(s))
                return EPIPE;
            continue;
        }
        free_bytes -= sizeof(piece);
        n = pread(fd, s->data + s->used + sizeof(piece),
                  free_bytes < end - piece.offset ? free_bytes : end - piece.offset,
                  (off_t)piece.offset);
        if (n <= 0)
            return n < 0 ? errno : EIO; /* another user of the volume cut the file */
        piece.len = (uint64_t)n;
        memcpy(s->data + s->used, &piece, sizeof(piece));
        s->used += sizeof(piece) + (size_t)n;
        piece.offset += piece.len;
    }
    return 0;
}
