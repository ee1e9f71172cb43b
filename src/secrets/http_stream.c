#include "secrets/http_stream.h"

#include <ctype.h>
#include <string.h>

#define CHUNK_LINE_MAX 1024
#define HELD_MAX (1 << 20) /* more than what is read at once and the longest text */

void http_stream_init(struct http_stream *stream)
{
    buf_init(&stream->line, HTTP_MAX_HEAD + (32 << 10));
    buf_init(&stream->held, HELD_MAX);
}

static void wipe(struct buf *buf)
{
    if (buf->data)
        explicit_bzero(buf->data, buf->capacity);
    buf_done(buf);
}

void http_stream_done(struct http_stream *stream)
{
    wipe(&stream->line);
    wipe(&stream->held);
}

static void put(const struct http_stream *stream, const char *data, size_t len, struct buf *out)
{
    if (!len)
        return;
    if (stream->chunked)
        buf_printf(out, "%zx\r\n", len);
    buf_add(out, data, len);
    if (stream->chunked)
        buf_add(out, "\r\n", 2);
}

/* Passes on all that is held but `kept` bytes.  What http_stream_release() gave out early stays
 * held, so that the rest of a text is still found. */
static void give(struct http_stream *stream, size_t kept, struct buf *out)
{
    struct buf *held = &stream->held;
    size_t n = held->len - kept;

    if (n > stream->given)
        put(stream, held->data + stream->given, n - stream->given, out);
    stream->given = stream->given > n ? stream->given - n : 0;
    buf_drop(held, n);
}

/* Bytes of a body, without the frames of chunks.  `last`: none follow. */
static void put_body(struct http_stream *stream, const char *data, size_t len, bool last,
                     struct buf *out)
{
    struct buf *held = &stream->held;
    size_t kept;

    if (!stream->mask || !stream->mask->n) {
        put(stream, data, len, out);
        return;
    }
    buf_add(held, data, len);
    out->failed |= held->failed;
    if (held->failed || !held->len)
        return;
    kept = mask_apply(stream->mask, held->data, held->len, stream->seen, stream->context);
    give(stream, last ? 0 : kept, out);
    if (stream->only_watches)
        http_stream_release(stream, out);
}

size_t http_stream_held(const struct http_stream *stream)
{
    return stream->held.len - stream->given;
}

void http_stream_release(struct http_stream *stream, struct buf *out)
{
    put(stream, stream->held.data + stream->given, stream->held.len - stream->given, out);
    stream->given = stream->held.len;
}

static void begin_body(struct http_stream *stream, const struct http_next *next)
{
    static const enum http_state states[] = { [HTTP_NO_BODY] = HTTP_IN_HEAD,
                                              [HTTP_LENGTH] = HTTP_IN_BODY,
                                              [HTTP_CHUNKED] = HTTP_IN_CHUNK_SIZE,
                                              [HTTP_UNTIL_CLOSE] = HTTP_IN_BODY };

    stream->state = next->other ? HTTP_IN_OTHER : states[next->body];
    stream->chunked = !next->other && next->body == HTTP_CHUNKED;
    stream->left = next->body == HTTP_LENGTH ? next->length : UINT64_MAX;
    if (stream->state == HTTP_IN_BODY && stream->left == 0)
        stream->state = HTTP_IN_HEAD;
}

/* Adds to a line until it ends as `end` says.  Bytes taken; *whole says whether it is complete. */
static size_t gather(struct buf *line, const char *data, size_t len, const char *end, bool *whole)
{
    size_t before = line->len, n = strlen(end), back = before < n - 1 ? before : n - 1;
    const char *found;

    if (buf_add(line, data, len) < 0)
        return 0;
    found = memmem(line->data + before - back, len + back, end, n);
    *whole = found != NULL;
    if (!found)
        return len;
    len = (size_t)(found - line->data) + n - before;
    line->len = before + len;
    line->data[line->len] = '\0';
    return len;
}

static void clear(struct buf *line)
{
    line->len = 0;
}

static size_t feed_head(struct http_stream *stream, const char *data, size_t len, struct buf *out)
{
    struct http_next next = { 0 };
    bool whole = false;
    size_t n;

    /* Clients may send an empty line before a request. */
    if (!stream->line.len && (data[0] == '\r' || data[0] == '\n'))
        return 1;
    n = gather(&stream->line, data, len, "\r\n\r\n", &whole);
    if (!whole)
        return n;
    if (!stream->head(stream->context, stream->line.data, stream->line.len, &next, out))
        return 0;
    clear(&stream->line);
    begin_body(stream, &next);
    return n;
}

static size_t feed_body(struct http_stream *stream, const char *data, size_t len, struct buf *out)
{
    size_t n = stream->left < len ? (size_t)stream->left : len;

    if (stream->left != UINT64_MAX)
        stream->left -= n;
    put_body(stream, data, n, stream->left == 0, out);
    if (stream->left == 0)
        stream->state = HTTP_IN_HEAD;
    return n;
}

/* Hexadecimal digits, then the end of the line or an extension, which is dropped. */
static bool parse_size(const struct buf *line, uint64_t *ret)
{
    size_t i = 0;

    *ret = 0;
    for (; i < line->len && isxdigit((unsigned char)line->data[i]); i++) {
        char c = (char)tolower((unsigned char)line->data[i]);

        if (i == 15)
            return false;
        *ret = *ret << 4 | (unsigned int)(c <= '9' ? c - '0' : c - 'a' + 10);
    }
    return i > 0 &&
           (line->data[i] == '\r' || line->data[i] == ';' || line->data[i] == ' ' ||
            line->data[i] == '\t') &&
           line->data[line->len - 2] == '\r';
}

static size_t feed_size(struct http_stream *stream, const char *data, size_t len, struct buf *out)
{
    bool whole = false;
    size_t n = gather(&stream->line, data, len, "\n", &whole);

    if (stream->line.len > CHUNK_LINE_MAX)
        return 0;
    if (!whole)
        return n;
    if (stream->line.len < 3 || !parse_size(&stream->line, &stream->left))
        return 0;
    clear(&stream->line);
    stream->state = HTTP_IN_CHUNK;
    if (stream->left == 0) {
        put_body(stream, "", 0, true, out);
        buf_add(out, "0\r\n", 3);
        stream->state = HTTP_IN_TRAILER;
    }
    return n;
}

static size_t feed_chunk(struct http_stream *stream, const char *data, size_t len, struct buf *out)
{
    size_t n = stream->left < len ? (size_t)stream->left : len;

    stream->left -= n;
    put_body(stream, data, n, false, out);
    if (stream->left == 0)
        stream->state = HTTP_IN_CHUNK_END;
    return n;
}

static size_t feed_chunk_end(struct http_stream *stream, const char *data, size_t len)
{
    bool whole = false;
    size_t n = gather(&stream->line, data, len > 2 ? 2 : len, "\r\n", &whole);

    if (whole && stream->line.len == 2) {
        clear(&stream->line);
        stream->state = HTTP_IN_CHUNK_SIZE;
    } else if (stream->line.len >= 2) {
        return 0;
    }
    return n;
}

/* Lines until an empty one. */
static size_t feed_trailer(struct http_stream *stream, const char *data, size_t len,
                           struct buf *out)
{
    bool whole = false;
    size_t n = gather(&stream->line, data, len, "\n", &whole);
    const struct buf *line = &stream->line;

    if (!whole)
        return n;
    if (line->len < 2 || line->data[line->len - 2] != '\r')
        return 0;
    if (stream->mask)
        (void)mask_apply(stream->mask, line->data, line->len, stream->seen, stream->context);
    buf_add(out, line->data, line->len);
    if (line->len == 2) {
        stream->state = HTTP_IN_HEAD;
        stream->chunked = false;
    }
    clear(&stream->line);
    return n;
}

static size_t step(struct http_stream *stream, const char *data, size_t len, struct buf *out)
{
    switch (stream->state) {
    case HTTP_IN_HEAD:
        return feed_head(stream, data, len, out);
    case HTTP_IN_BODY:
        return feed_body(stream, data, len, out);
    case HTTP_IN_CHUNK_SIZE:
        return feed_size(stream, data, len, out);
    case HTTP_IN_CHUNK:
        return feed_chunk(stream, data, len, out);
    case HTTP_IN_CHUNK_END:
        return feed_chunk_end(stream, data, len);
    case HTTP_IN_TRAILER:
        return feed_trailer(stream, data, len, out);
    case HTTP_IN_OTHER:
        put_body(stream, data, len, false, out);
        return len;
    }
    return 0;
}

bool http_stream_feed(struct http_stream *stream, const char *data, size_t len, struct buf *out)
{
    while (len > 0) {
        size_t n = step(stream, data, len, out);

        if (n == 0 || out->failed || stream->line.failed)
            return false;
        data += n;
        len -= n;
    }
    return true;
}

bool http_stream_end(struct http_stream *stream, struct buf *out)
{
    bool whole = stream->state == HTTP_IN_OTHER ||
                 (stream->state == HTTP_IN_HEAD && !stream->line.len) ||
                 (stream->state == HTTP_IN_BODY && stream->left == UINT64_MAX);

    if (stream->state == HTTP_IN_OTHER || stream->state == HTTP_IN_BODY)
        put_body(stream, "", 0, true, out);
    return whole && !out->failed;
}
