#include "mcp/mcp_internal.h"

#include <string.h>

#include "base/text.h"

size_t mcp_shape_visibly(const char *text, size_t len, struct buf *out)
{
    size_t n = 0;

    for (size_t i = 0; i < len;) {
        size_t plain = text_visible_len(text + i, len - i), step;
        char shown[20];

        if (!plain && (text[i] == '\n' || text[i] == '\t'))
            plain = 1;
        if (plain) {
            (void)buf_add(out, text + i, plain);
            i += plain;
            n++;
            continue;
        }
        step = text_character_len(text + i, len - i);
        step = step ? step : 1;
        if (text[i] != '\r' || i + 1 == len || text[i + 1] != '\n') {
            text_copy_visibly(shown, sizeof(shown), text + i, step);
            (void)buf_add_text(out, shown);
            n += strlen(shown);
        }
        i += step;
    }
    return n;
}

bool mcp_shape_is_visible(const char *text, size_t len)
{
    size_t n = 1;

    for (size_t i = 0; i < len && n; i += n) {
        bool ends_line = text[i] == '\r' && i + 1 < len && text[i + 1] == '\n';

        n = ends_line || text[i] == '\n' || text[i] == '\t' ? 1
                                                            : text_visible_len(text + i, len - i);
    }
    return n != 0;
}

static void shape_string(json_t *string)
{
    const char *text = json_string_value(string);
    size_t len = json_string_length(string);
    struct buf shown;

    if (mcp_shape_is_visible(text, len))
        return;
    buf_init(&shown, SIZE_MAX / 2);
    (void)mcp_shape_visibly(text, len, &shown);
    if (json_string_setn(string, shown.len ? shown.data : "", shown.len) < 0)
        (void)json_string_set(string, "");
    buf_done(&shown);
}

void mcp_shape_json(json_t *value)
{
    json_t *one;
    const char *key;
    size_t i;

    if (json_is_string(value))
        shape_string(value);
    json_array_foreach(value, i, one)
        mcp_shape_json(one);
    json_object_foreach(value, key, one)
        mcp_shape_json(one);
}

/* The bytes of the first `n` characters. */
static size_t first(const char *text, size_t len, size_t n)
{
    size_t at = 0;

    while (at < len && n--)
        at += text_character_len(text + at, len - at);
    return at;
}

/* The place where the last `n` characters begin. */
static size_t last(const char *text, size_t len, size_t n)
{
    size_t at = len;

    while (at > 0 && n--)
        do
            at--;
        while (at > 0 && ((unsigned char)text[at] & 0xc0) == 0x80);
    return at;
}

bool mcp_shape_stream(const struct mcp_stream *stream, size_t max, const char *handle,
                      struct buf *out)
{
    struct buf head, tail;
    size_t n_head, n_tail, cut, from;
    bool truncated;

    buf_init(&head, SIZE_MAX / 2);
    buf_init(&tail, SIZE_MAX / 2);
    n_head = mcp_shape_visibly(stream->head, stream->head_len, &head);
    n_tail = stream->tail ? mcp_shape_visibly(stream->tail, stream->tail_len, &tail) : 0;
    truncated = stream->omitted || n_head + n_tail > max;
    if (!truncated) {
        (void)buf_add(out, head.data, head.len);
        (void)buf_add(out, tail.data, tail.len);
    } else { /* the end says more than the beginning: two thirds */
        const struct buf *end = stream->tail ? &tail : &head;

        cut = first(head.data, head.len, max / 3);
        from = last(end->data, end->len, max - max / 3);
        if (end == &head && from < cut)
            from = cut;
        (void)buf_add(out, head.data, cut);
        (void)buf_printf(out, "\n[... left out here; all that was written: %llu bytes%s%s ...]\n",
                         (unsigned long long)stream->bytes, handle[0] ? "; " : "", handle);
        (void)buf_add(out, end->data + from, end->len - from);
    }
    buf_done(&head);
    buf_done(&tail);
    return truncated;
}
