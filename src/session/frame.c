#include "session/frame.h"

#include <inttypes.h>
#include <stdbool.h>
#include <string.h>

#define NUMBER_MAX 1000000000000ULL

/* One field of the header: its end is `until`, which is passed over. */
struct header {
    const char *at, *end;
};

static bool is_word_byte(char c)
{
    return c >= 'a' && c <= 'z';
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool read_field(struct header *header, char until, char *ret, size_t size)
{
    const char *end = memchr(header->at, until, (size_t)(header->end - header->at));
    size_t len = end ? (size_t)(end - header->at) : 0;

    if (len == 0 || len >= size)
        return false;
    memcpy(ret, header->at, len);
    ret[len] = '\0';
    header->at = end + 1;
    return true;
}

static bool is_word(const char *text)
{
    for (; *text; text++)
        if (!is_word_byte(*text))
            return false;
    return true;
}

static bool is_arg(const char *text)
{
    if (!strcmp(text, "-"))
        return true;
    for (; *text; text++)
        if (!is_word_byte(*text) && !is_digit(*text))
            return false;
    return true;
}

static bool read_number(struct header *header, char until, uint64_t max, uint64_t *ret)
{
    char text[24];

    *ret = 0;
    if (!read_field(header, until, text, sizeof(text)))
        return false;
    for (const char *p = text; *p; p++) {
        if (!is_digit(*p))
            return false;
        *ret = *ret * 10 + (uint64_t)(*p - '0');
        if (*ret > max)
            return false;
    }
    return true;
}

static bool read_header(struct header header, struct frame *ret)
{
    uint64_t len;

    if (!read_field(&header, ' ', ret->word, sizeof(ret->word)) || !is_word(ret->word) ||
        !read_number(&header, ' ', NUMBER_MAX, &ret->number) ||
        !read_field(&header, ' ', ret->arg, sizeof(ret->arg)) || !is_arg(ret->arg) ||
        !read_number(&header, '\n', FRAME_PAYLOAD_MAX, &len))
        return false;
    ret->len = (size_t)len;
    return true;
}

enum frame_found frame_read(const char *data, size_t len, struct frame *ret, size_t *ret_used)
{
    size_t seen = len < FRAME_HEADER_MAX ? len : FRAME_HEADER_MAX, header;
    const char *end = seen ? memchr(data, '\n', seen) : NULL;

    if (!end)
        return len < FRAME_HEADER_MAX ? FRAME_PARTIAL : FRAME_BAD;
    header = (size_t)(end - data) + 1;
    /* A word that ends before its length would be taken for another one. */
    if (memchr(data, '\0', header) || !read_header((struct header){ data, data + header }, ret))
        return FRAME_BAD;
    if (len - header < ret->len)
        return FRAME_PARTIAL;
    ret->payload = data + header;
    *ret_used = header + ret->len;
    return FRAME_WHOLE;
}

int frame_put(struct buf *out, const char *word, uint64_t number, const char *arg,
              const void *payload, size_t len)
{
    buf_printf(out, "%s %" PRIu64 " %s %zu\n", word, number, arg, len);
    if (len)
        buf_add(out, payload, len);
    return out->failed ? -1 : 0;
}
