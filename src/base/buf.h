/* Bytes that grow to a hard maximum, and a bounds-checked reader over bytes. */
#ifndef BASE_BUF_H
#define BASE_BUF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct buf {
    char *data; /* always NUL-terminated once something was added; NULL when empty */
    size_t len;
    size_t capacity;
    size_t max;  /* never more than this                      */
    bool failed; /* sticky: out of memory or above the maximum */
};

void buf_init(struct buf *b, size_t max);
void buf_done(struct buf *b);
/* 0, or -1 and `failed` set. */
int buf_add(struct buf *b, const void *data, size_t len);
/* Space for `len` bytes that the caller fills at once; NULL when there is none. */
char *buf_extend(struct buf *b, size_t len);
int buf_add_text(struct buf *b, const char *text);
int buf_printf(struct buf *b, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Takes the room of the maximum at once, for content that is already large: growth by doubling
 * would move it, and pages of 2 MiB cost 512 times fewer faults.  Only what is written takes
 * memory.  Without the room nothing changes. */
void buf_reserve_all(struct buf *b);
/* Gives back the room behind the content. */
void buf_trim(struct buf *b);
/* Removes the first `len` bytes. */
void buf_drop(struct buf *b, size_t len);
/* The caller owns the bytes afterwards; the buffer is empty again.  Never NULL unless failed. */
char *buf_take(struct buf *b, size_t *ret_len);

/* Length-prefixed fields in host byte order: both ends are the same build on the same machine. */
int buf_put_u32(struct buf *b, uint32_t value);
int buf_put_u64(struct buf *b, uint64_t value);
int buf_put_bytes(struct buf *b, const void *data, size_t len);
int buf_put_string(struct buf *b, const char *text); /* NULL is kept as NULL */

struct buf_reader {
    const char *data;
    size_t len;
    size_t pos;
    bool failed; /* sticky: a read past the end, or an impossible length */
};

uint32_t buf_reader_u32(struct buf_reader *r);
uint64_t buf_reader_u64(struct buf_reader *r);
/* Both point into the data; strings are checked to end in NUL. */
const void *buf_reader_bytes(struct buf_reader *r, size_t *ret_len);
const char *buf_reader_string(struct buf_reader *r);
/* A count of elements that take at least one byte each, so that it cannot exceed what is left. */
uint32_t buf_reader_count(struct buf_reader *r);

#endif
