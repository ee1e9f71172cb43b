#include "base/buf.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define NULL_STRING UINT32_MAX /* the length that stands for "no string" */

void buf_init(struct buf *b, size_t max)
{
    *b = (struct buf){ .max = max };
}

void buf_done(struct buf *b)
{
    free(b->data);
    *b = (struct buf){ 0 };
}

/* Reserves `extra` bytes and a NUL.  Doubles, so that adding is cheap, but never above the maximum.
 */
static int buf_reserve(struct buf *b, size_t extra)
{
    size_t need, capacity;
    char *grown;

    if (b->failed || extra > b->max - b->len) {
        b->failed = true;
        return -1;
    }
    need = b->len + extra + 1;
    if (need <= b->capacity)
        return 0;
    /* Starts with a page: growth from a few bytes would touch a page for each size. */
    capacity = b->capacity < 4096 ? 4096 : b->capacity;
    while (capacity < need)
        capacity *= 2;
    if (capacity > b->max + 1)
        capacity = b->max + 1;
    grown = realloc(b->data, capacity);
    if (!grown) {
        b->failed = true;
        return -1;
    }
    b->data = grown;
    b->capacity = capacity;
    return 0;
}

void buf_reserve_all(struct buf *b)
{
    const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    char *grown;

    if (b->failed || b->capacity > b->max)
        return;
    grown = realloc(b->data, b->max + 1);
    if (!grown)
        return;
    b->data = grown;
    b->capacity = b->max + 1;
    /* A kernel without large pages refuses, and loses nothing. */
    (void)madvise((void *)((uintptr_t)grown & -page), b->capacity, MADV_HUGEPAGE);
}

void buf_trim(struct buf *b)
{
    char *less = b->data ? realloc(b->data, b->len + 1) : NULL;

    if (!less)
        return;
    b->data = less;
    b->capacity = b->len + 1;
}

char *buf_extend(struct buf *b, size_t len)
{
    char *at;

    if (buf_reserve(b, len) < 0)
        return NULL;
    at = b->data + b->len;
    b->len += len;
    b->data[b->len] = '\0';
    return at;
}

int buf_add(struct buf *b, const void *data, size_t len)
{
    char *at = buf_extend(b, len);

    if (at && len)
        memcpy(at, data, len);
    return at ? 0 : -1;
}

int buf_add_text(struct buf *b, const char *text)
{
    return buf_add(b, text, strlen(text));
}

int buf_printf(struct buf *b, const char *fmt, ...)
{
    va_list args;
    int len;

    va_start(args, fmt);
    len = vsnprintf(NULL, 0, fmt, args);
    va_end(args);
    if (len < 0 || buf_reserve(b, (size_t)len) < 0)
        return -1;
    va_start(args, fmt);
    vsnprintf(b->data + b->len, (size_t)len + 1, fmt, args);
    va_end(args);
    b->len += (size_t)len;
    return 0;
}

void buf_drop(struct buf *b, size_t len)
{
    if (len > b->len)
        len = b->len;
    if (len == 0)
        return;
    b->len -= len;
    memmove(b->data, b->data + len, b->len + 1);
}

char *buf_take(struct buf *b, size_t *ret_len)
{
    char *data;

    if (!b->data && buf_add(b, "", 0) < 0)
        return NULL;
    data = b->failed ? NULL : b->data;
    if (ret_len)
        *ret_len = b->len;
    if (!data)
        free(b->data);
    buf_init(b, b->max);
    return data;
}

int buf_put_u32(struct buf *b, uint32_t value)
{
    return buf_add(b, &value, sizeof(value));
}

int buf_put_u64(struct buf *b, uint64_t value)
{
    return buf_add(b, &value, sizeof(value));
}

int buf_put_bytes(struct buf *b, const void *data, size_t len)
{
    if (len >= NULL_STRING) {
        b->failed = true;
        return -1;
    }
    if (buf_put_u32(b, (uint32_t)len) < 0)
        return -1;
    return buf_add(b, data, len);
}

int buf_put_string(struct buf *b, const char *text)
{
    if (!text)
        return buf_put_u32(b, NULL_STRING);
    return buf_put_bytes(b, text, strlen(text) + 1);
}

static const void *reader_take(struct buf_reader *r, size_t len)
{
    const void *at = r->data + r->pos;

    if (r->failed || len > r->len - r->pos) {
        r->failed = true;
        return NULL;
    }
    r->pos += len;
    return at;
}

uint32_t buf_reader_u32(struct buf_reader *r)
{
    const void *at = reader_take(r, sizeof(uint32_t));
    uint32_t value = 0;

    if (at)
        memcpy(&value, at, sizeof(value));
    return value;
}

uint64_t buf_reader_u64(struct buf_reader *r)
{
    const void *at = reader_take(r, sizeof(uint64_t));
    uint64_t value = 0;

    if (at)
        memcpy(&value, at, sizeof(value));
    return value;
}

const void *buf_reader_bytes(struct buf_reader *r, size_t *ret_len)
{
    uint32_t len = buf_reader_u32(r);
    const void *at = reader_take(r, len);

    *ret_len = at ? len : 0;
    return at;
}

const char *buf_reader_string(struct buf_reader *r)
{
    uint32_t len = buf_reader_u32(r);
    const char *text;

    if (r->failed || len == NULL_STRING)
        return NULL;
    text = reader_take(r, len);
    if (!text || len == 0 || memchr(text, '\0', len) != text + len - 1) {
        r->failed = true;
        return NULL;
    }
    return text;
}

uint32_t buf_reader_count(struct buf_reader *r)
{
    uint32_t count = buf_reader_u32(r);

    if (r->failed || count > r->len - r->pos) {
        r->failed = true;
        return 0;
    }
    return count;
}
