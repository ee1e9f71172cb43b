#include "base/json_text.h"

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"

#define NUMBER_MAX 64     /* bytes of one */
#define INTEGER_DIGITS 18 /* always fit the integers of a reader */

/* What may come next. */
enum wanted { WANT_VALUE, WANT_VALUE_OR_END, WANT_KEY, WANT_KEY_OR_END, WANT_COLON, WANT_COMMA };

struct reader {
    const char *at, *end;
    const struct json_bounds *most;
    struct buf *out;
    enum wanted wanted;
    uint64_t objects; /* one bit for each level: it is an object */
    unsigned int depth;
    size_t values;
    enum json_text_found found; /* the first fault; JSON_TEXT_FITS: none */
};

static bool fail(struct reader *r, enum json_text_found found)
{
    r->found = found;
    return false;
}

static bool copy(struct reader *r, const char *from, size_t len)
{
    return buf_add(r->out, from, len) == 0 || fail(r, JSON_TEXT_TOO_MUCH);
}

static bool copy_byte(struct reader *r)
{
    return copy(r, r->at++, 1);
}

static bool in_object(const struct reader *r)
{
    return r->depth && r->objects & (uint64_t)1 << (r->depth - 1);
}

/* Four digits of \uXXXX; -1: they are none. */
static int read_unit(const char *p, const char *end)
{
    int unit = 0;

    if (end - p < 4)
        return -1;
    for (int i = 0; i < 4; i++) {
        int digit = p[i] >= '0' && p[i] <= '9'   ? p[i] - '0'
                    : p[i] >= 'a' && p[i] <= 'f' ? p[i] - 'a' + 10
                    : p[i] >= 'A' && p[i] <= 'F' ? p[i] - 'A' + 10
                                                 : -1;

        if (digit < 0)
            return -1;
        unit = unit * 16 + digit;
    }
    return unit;
}

/* The length of the escape at `p`, which begins with a backslash; 0: it is none.  A half of a pair
 * is no character, and no key has a NUL. */
static size_t escape_len(const char *p, const char *end, bool is_key)
{
    int unit, low;

    if (end - p < 2)
        return 0;
    if (p[1] != 'u')
        return p[1] && strchr("\"\\/bfnrt", p[1]) ? 2 : 0;
    unit = read_unit(p + 2, end);
    if (unit < 0 || (is_key && unit == 0) || (unit >= 0xdc00 && unit <= 0xdfff))
        return 0;
    if (unit < 0xd800 || unit > 0xdbff)
        return 6;
    low = end - p >= 8 && p[6] == '\\' && p[7] == 'u' ? read_unit(p + 8, end) : -1;
    return low >= 0xdc00 && low <= 0xdfff ? 12 : 0;
}

static bool read_string(struct reader *r, bool is_key)
{
    const char *p = r->at + 1;
    size_t n;

    while (p < r->end && *p != '"') {
        if (*p == '\\')
            n = escape_len(p, r->end, is_key);
        else if ((unsigned char)*p < 0x20)
            n = 0;
        else
            n = (unsigned char)*p < 0x80 ? 1 : text_character_len(p, (size_t)(r->end - p));
        if (!n)
            return fail(r, JSON_TEXT_WRONG);
        p += n;
    }
    if (p == r->end)
        return fail(r, JSON_TEXT_WRONG);
    n = (size_t)(p + 1 - r->at);
    r->at = p + 1;
    return copy(r, p + 1 - n, n);
}

static const char *skip_digits(const char *p, const char *end)
{
    while (p < end && *p >= '0' && *p <= '9')
        p++;
    return p;
}

/* Behind the number that begins at `p`; NULL: there is none.  *ret_whole: it has neither a point
 * nor an exponent. */
static const char *number_end(const char *p, const char *end, bool *ret_whole)
{
    const char *from = p += p < end && *p == '-';

    *ret_whole = true;
    p = skip_digits(p, end);
    if (p == from || (*from == '0' && p - from > 1))
        return NULL;
    if (p < end && *p == '.') {
        *ret_whole = false;
        from = ++p;
        p = skip_digits(p, end);
        if (p == from)
            return NULL;
    }
    if (p < end && (*p == 'e' || *p == 'E')) {
        *ret_whole = false;
        p++;
        from = p += p < end && (*p == '-' || *p == '+');
        p = skip_digits(p, end);
        if (p == from)
            return NULL;
    }
    return p;
}

static bool read_number(struct reader *r)
{
    const char *from = r->at;
    char text[NUMBER_MAX + 1];
    size_t len;
    bool whole;

    r->at = number_end(from, r->end, &whole);
    if (!r->at)
        return fail(r, JSON_TEXT_WRONG);
    len = (size_t)(r->at - from);
    if (len > NUMBER_MAX || (whole && len > INTEGER_DIGITS + (*from == '-')))
        return fail(r, JSON_TEXT_TOO_MUCH);
    memcpy(text, from, len);
    text[len] = '\0';
    if (!whole && !isfinite(strtod(text, NULL)))
        return fail(r, JSON_TEXT_TOO_MUCH);
    return copy(r, from, len);
}

static bool read_word(struct reader *r)
{
    static const char *const words[] = { "true", "false", "null" };

    for (size_t i = 0; i < ARRAY_LEN(words); i++) {
        size_t len = strlen(words[i]);

        if ((size_t)(r->end - r->at) >= len && !memcmp(r->at, words[i], len)) {
            r->at += len;
            return copy(r, words[i], len);
        }
    }
    return fail(r, JSON_TEXT_WRONG);
}

static bool count(struct reader *r)
{
    return ++r->values <= r->most->values || fail(r, JSON_TEXT_TOO_MUCH);
}

static bool open_level(struct reader *r)
{
    bool object = *r->at == '{';
    uint64_t bit;

    if (r->depth == r->most->depth || r->depth == JSON_TEXT_DEPTH)
        return fail(r, JSON_TEXT_TOO_MUCH);
    bit = (uint64_t)1 << r->depth++;
    r->objects = object ? r->objects | bit : r->objects & ~bit;
    r->wanted = object ? WANT_KEY_OR_END : WANT_VALUE_OR_END;
    return count(r) && copy_byte(r);
}

static bool close_level(struct reader *r)
{
    if (!r->depth || *r->at != (in_object(r) ? '}' : ']'))
        return fail(r, JSON_TEXT_WRONG);
    r->depth--;
    r->wanted = WANT_COMMA;
    return copy_byte(r);
}

static bool read_value(struct reader *r)
{
    if (*r->at == '{' || *r->at == '[')
        return open_level(r);
    if (*r->at == ']' && r->wanted == WANT_VALUE_OR_END)
        return close_level(r);
    r->wanted = WANT_COMMA;
    if (*r->at == '"')
        return read_string(r, false);
    return *r->at == '-' || (*r->at >= '0' && *r->at <= '9') ? read_number(r) : read_word(r);
}

static bool read_key(struct reader *r)
{
    if (*r->at == '}' && r->wanted == WANT_KEY_OR_END)
        return close_level(r);
    r->wanted = WANT_COLON;
    return *r->at == '"' ? read_string(r, true) : fail(r, JSON_TEXT_WRONG);
}

static bool read_between(struct reader *r)
{
    if (r->wanted == WANT_COMMA && *r->at != ',')
        return close_level(r);
    if (*r->at != (r->wanted == WANT_COLON ? ':' : ',') || !r->depth)
        return fail(r, JSON_TEXT_WRONG);
    if (r->wanted == WANT_COMMA && !count(r))
        return false;
    r->wanted = r->wanted == WANT_COMMA && in_object(r) ? WANT_KEY : WANT_VALUE;
    return copy_byte(r);
}

static bool read_next(struct reader *r)
{
    switch (r->wanted) {
    case WANT_VALUE:
    case WANT_VALUE_OR_END:
        return read_value(r);
    case WANT_KEY:
    case WANT_KEY_OR_END:
        return read_key(r);
    case WANT_COLON:
    case WANT_COMMA:
        break;
    }
    return read_between(r);
}

enum json_text_found json_text_add(struct buf *out, const char *text, size_t len,
                                   const struct json_bounds *most, size_t *ret_values)
{
    struct reader r = { .at = text, .end = text + len, .most = most, .out = out, .values = 1 };
    size_t before = out->len;
    bool failed = out->failed;

    if (len > most->bytes || !most->values)
        return JSON_TEXT_TOO_MUCH;
    while (r.found == JSON_TEXT_FITS && r.at < r.end)
        if (*r.at == ' ' || *r.at == '\t' || *r.at == '\r' || *r.at == '\n')
            r.at++;
        else if (!read_next(&r))
            break;
    if (r.found == JSON_TEXT_FITS && (r.depth || r.wanted != WANT_COMMA))
        r.found = JSON_TEXT_WRONG;
    if (r.found == JSON_TEXT_FITS) {
        *ret_values = r.values;
        return JSON_TEXT_FITS;
    }
    out->failed = failed;
    out->len = before;
    if (out->data)
        out->data[before] = '\0';
    return r.found;
}
