#include "base/jsonw.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#if defined(__SSE2__)
#include <emmintrin.h>
#endif

#include "base/text.h"

void jsonw_init(struct jsonw *j, bool pretty)
{
    *j = (struct jsonw){ .pretty = pretty, .first = true };
    buf_init(&j->out, SIZE_MAX / 2);
}

void jsonw_init_sink(struct jsonw *j, bool pretty, jsonw_sink *sink, void *context)
{
    jsonw_init(j, pretty);
    j->sink = sink;
    j->context = context;
}

static void empty_into_sink(struct jsonw *j)
{
    j->sink(j->context, j->out.data, j->out.len);
    j->given += j->out.len;
    j->out.len = 0;
}

size_t jsonw_len(const struct jsonw *j)
{
    return j->given + j->out.len;
}

int jsonw_end_sink(struct jsonw *j)
{
    int r = j->out.failed ? -1 : 0;

    if (r == 0 && j->out.len)
        empty_into_sink(j);
    buf_done(&j->out);
    return r;
}

char *jsonw_take(struct jsonw *j)
{
    char *text = buf_take(&j->out, NULL);

    buf_done(&j->out);
    return text;
}

static void new_line(struct jsonw *j)
{
    if (!j->pretty)
        return;
    buf_add(&j->out, "\n", 1);
    for (unsigned int i = 0; i < j->depth; i++)
        buf_add(&j->out, "  ", 2);
}

/* How many bytes longer a byte becomes inside a string: a control character is written as six,
 * unless it has a short form of two. */
static const unsigned char escape_extra[256] = {
    [0 ... 7] = 5, ['\b'] = 1,      ['\t'] = 1, ['\n'] = 1, [11] = 5,  ['\f'] = 1,
    ['\r'] = 1,    [14 ... 31] = 5, ['"'] = 1,  ['\\'] = 1, [127] = 5,
};

/* The letter of a short form. */
static const char escape_letter[256] = {
    ['\b'] = 'b', ['\t'] = 't', ['\n'] = 'n',  ['\f'] = 'f',
    ['\r'] = 'r', ['"'] = '"',  ['\\'] = '\\',
};

/* Sixteen bytes at a time, because most text needs few escapes; output may be gigabytes. */
typedef uint8_t chunk_t __attribute__((vector_size(16)));

static chunk_t load(const char *text)
{
    chunk_t chunk;

    memcpy(&chunk, text, sizeof(chunk));
    return chunk;
}

/* All bits of each byte that is written as itself are 0, of each other byte 1. */
static chunk_t special(chunk_t c)
{
    return (chunk_t)((c < 32) | (c == '"') | (c == '\\') | (c == 127));
}

static bool is_any(chunk_t found)
{
    uint64_t half[2];

    memcpy(half, &found, sizeof(half));
    return half[0] | half[1];
}

/* A bit for each byte of which all bits are 1. */
static uint64_t bits_of(chunk_t found)
{
#if defined(__SSE2__)
    return (uint16_t)_mm_movemask_epi8((__m128i)found);
#else
    const uint64_t tops = 0x8080808080808080U, gather = 0x0002040810204081U;
    uint64_t half[2];

    memcpy(half, &found, sizeof(half));
    return (half[0] & tops) * gather >> 56 | (half[1] & tops) * gather >> 56 << 8;
#endif
}

#define BLOCK (4 * sizeof(chunk_t))
#define AHEAD (16 * BLOCK)

/* A bit for each byte of a block that is not written as itself. */
static uint64_t escapes_of(const char *block)
{
    uint64_t bits = 0;

    for (size_t i = 0; i < BLOCK; i += sizeof(chunk_t))
        bits |= bits_of(special(load(block + i))) << i;
    return bits;
}

/* What is no ASCII, or is written as six bytes. */
static chunk_t unusual(chunk_t c)
{
    return (chunk_t)((c > 126) | ((c < 32) & ((chunk_t)(c - '\b') > '\r' - '\b')) | (c == 11));
}

bool jsonw_is_usual(const char *text, size_t len)
{
    for (; len >= BLOCK; text += BLOCK, len -= BLOCK) {
        chunk_t found = { 0 };

        __builtin_prefetch(text + AHEAD);
        for (size_t i = 0; i < BLOCK; i += sizeof(chunk_t))
            found |= unusual(load(text + i));
        if (is_any(found))
            return false;
    }
    for (size_t i = 0; i < len; i++)
        if (text[i] < 0 || escape_extra[(unsigned char)text[i]] == 5)
            return false;
    return true;
}

/* The frequent ones. */
static chunk_t short_forms(chunk_t c)
{
    return (chunk_t)((c == '\n') | (c == '"') | (c == '\\') | (c == '\t'));
}

static size_t extra_of(const char *text, size_t len)
{
    size_t total = 0;

    for (size_t i = 0; i < len; i++)
        total += escape_extra[(unsigned char)text[i]];
    return total;
}

size_t jsonw_escaped_len(const char *text, size_t len)
{
    size_t total = len, i = 0;

    while (len - i >= sizeof(chunk_t)) {
        chunk_t counts = { 0 }; /* of at most 255 chunks, so that none overflows */

        for (int n = 0; n < 255 && len - i >= sizeof(counts); n++, i += sizeof(counts)) {
            chunk_t chunk = load(text + i), two = short_forms(chunk);

            if (is_any((chunk_t)((chunk < 32) | (chunk == 127)) & ~two))
                total += extra_of(text + i, sizeof(chunk));
            else
                counts += two & 1;
        }
        for (size_t k = 0; k < sizeof(counts); k++)
            total += counts[k];
    }
    return total + extra_of(text + i, len - i);
}

static char *put_escaped(char *out, unsigned char c)
{
    static const char hex[] = "0123456789abcdef";
    const char unicode[] = { '\\', 'u', '0', '0', hex[c >> 4], hex[c & 15] };

    if (escape_extra[c] == 5) {
        memcpy(out, unicode, sizeof(unicode));
        return out + sizeof(unicode);
    }
    *out++ = '\\';
    *out++ = escape_letter[c];
    return out;
}

/* Whole blocks are copied to where fewer bytes count: `text` has two blocks. */
static char *put_block(char *out, const char *text)
{
    size_t at = 0;

    __builtin_prefetch(text + AHEAD); /* a third of the time; it may be behind the text */
    for (uint64_t escapes = escapes_of(text); escapes; escapes &= escapes - 1) {
        size_t next = (size_t)__builtin_ctzll(escapes);

        memcpy(out, text + at, BLOCK);
        out = put_escaped(out + (next - at), (unsigned char)text[next]);
        at = next + 1;
    }
    memcpy(out, text + at, BLOCK);
    return out + (BLOCK - at);
}

char *jsonw_escape(char *out, const char *text, size_t len)
{
    for (; len >= 2 * BLOCK; text += BLOCK, len -= BLOCK)
        out = put_block(out, text);
    for (; len; len--, text++) {
        *out = *text;
        out = escape_extra[(unsigned char)*text] ? put_escaped(out, (unsigned char)*text) : out + 1;
    }
    return out;
}

/* In pieces, each with room for the worst case. */
static void add_quoted(struct jsonw *j, const char *text, size_t len)
{
    enum { PIECE = 16 << 10, PART = 64 << 10 };

    buf_add(&j->out, "\"", 1);
    while (len) {
        size_t part = len < PIECE ? len : PIECE, room = 6 * part;
        char *out = buf_extend(&j->out, room);

        if (!out)
            return;
        j->out.len -= room - (size_t)(jsonw_escape(out, text, part) - out);
        if (j->sink && j->out.len >= PART)
            empty_into_sink(j);
        text += part;
        len -= part;
    }
    buf_add(&j->out, "\"", 1);
}

/* The comma and the key that stand before a value. */
static void begin_value(struct jsonw *j, const char *key)
{
    if (!j->first)
        buf_add(&j->out, ",", 1);
    if (j->depth)
        new_line(j);
    j->first = false;
    if (key) {
        add_quoted(j, key, strlen(key));
        buf_add_text(&j->out, j->pretty ? ": " : ":");
    }
}

void jsonw_open(struct jsonw *j, const char *key, char bracket)
{
    begin_value(j, key);
    buf_add(&j->out, &bracket, 1);
    j->depth++;
    j->first = true;
}

void jsonw_close(struct jsonw *j, char bracket)
{
    j->depth--;
    if (!j->first)
        new_line(j);
    buf_add(&j->out, &bracket, 1);
    j->first = false;
}

void jsonw_bytes(struct jsonw *j, const char *key, const char *text, size_t len)
{
    begin_value(j, key);
    add_quoted(j, text, len);
}

void jsonw_text(struct jsonw *j, const char *key, const char *text)
{
    if (text)
        jsonw_bytes(j, key, text, strlen(text));
    else
        jsonw_null(j, key);
}

bool jsonw_take_apart(struct jsonw_apart *apart, const struct jsonw_long *text,
                      char name[JSONW_NAME_SIZE])
{
    if (text->len < JSONW_LONG_MIN || apart->n == JSONW_LONG_MAX)
        return false;
    snprintf(name, JSONW_NAME_SIZE, "%s%0*zu", apart->mark, JSONW_MARK_DIGITS, apart->n);
    apart->at[apart->n++] = *text;
    return true;
}

void jsonw_long(struct jsonw *j, const char *key, const char *data, size_t len, bool base64)
{
    scoped_free char *text = NULL;
    char name[JSONW_NAME_SIZE];

    if (j->apart && jsonw_take_apart(j->apart, &(struct jsonw_long){ data, len, base64 }, name)) {
        jsonw_text(j, key, name);
        return;
    }
    if (!base64) {
        jsonw_bytes(j, key, data, len);
        return;
    }
    text = encoding_to_base64(data, len);
    jsonw_text(j, key, text);
    j->out.failed |= !text;
}

void jsonw_path(struct jsonw *j, const char *key, const char *path)
{
    size_t len = strlen(path);
    struct buf shown;
    char name[64];

    if (text_is_utf8(path, len)) {
        jsonw_bytes(j, key, path, len);
        return;
    }
    scoped_free char *whole = encoding_to_base64(path, len);

    buf_init(&shown, 3 * len);
    for (size_t n; len; path += n, len -= n) {
        n = text_character_len(path, len);
        buf_add(&shown, n ? path : "\xef\xbf\xbd", n ? n : 3);
        n = n ? n : 1;
    }
    snprintf(name, sizeof(name), "%s_base64", key);
    jsonw_text(j, key, shown.data);
    jsonw_text(j, name, whole);
    j->out.failed |= shown.failed || !whole;
    buf_done(&shown);
}

void jsonw_number(struct jsonw *j, const char *key, uint64_t value)
{
    jsonw_fixed(j, key, value, 0);
}

void jsonw_fixed(struct jsonw *j, const char *key, uint64_t value, unsigned int decimals)
{
    uint64_t scale = 1;

    for (unsigned int i = 0; i < decimals; i++)
        scale *= 10;
    begin_value(j, key);
    buf_printf(&j->out, "%" PRIu64, value / scale);
    value %= scale;
    for (; decimals && value % 10 == 0; decimals--)
        value /= 10;
    if (decimals)
        buf_printf(&j->out, ".%0*" PRIu64, (int)decimals, value);
}

void jsonw_bool(struct jsonw *j, const char *key, bool value)
{
    begin_value(j, key);
    buf_add_text(&j->out, value ? "true" : "false");
}

void jsonw_null(struct jsonw *j, const char *key)
{
    begin_value(j, key);
    buf_add_text(&j->out, "null");
}

void jsonw_names(struct jsonw *j, const char *key, const char *const *names, size_t n)
{
    jsonw_open(j, key, '[');
    for (size_t i = 0; i < n; i++)
        jsonw_text(j, NULL, names[i]);
    jsonw_close(j, ']');
}
