#include "plan/template.h"

#include <stdint.h>
#include <string.h>

#include "base/text.h"

/* How a character is written that cannot be written as itself. */
enum form {
    RAW,
    REFUSED,
    BLOB,       /* the whole value, as SQL's CAST(X'0a' AS TEXT) */
    DECIMAL,    /* \010 for each byte */
    HEX,        /* \x0a for each byte */
    OCTAL,      /* \012 for each byte */
    U_BRACES,   /* \u{1f600} */
    U_LONG,     /* \u00e9 or \U0001f600 */
    U_SURROGATE /* \u00e9 or \ud83d\ude00 */
};

/* A long value is written in pieces. */
struct join {
    const char *open, *between, *close;
    size_t piece; /* maximum number of bytes of the value */
};

struct literal_style {
    const char *name;
    const char *open, *close;
    const char *quote;   /* written for the quote character */
    const char *escaped; /* characters that get a backslash */
    enum form nul, control, high, invalid;
    const struct join *join; /* NULL: a literal may have any length */
};

/* A class file has no text above 64 KiB, in an encoding at most twice as long as UTF-8. */
static const struct join join_java = { "String.join(\"\", ", ", ", ")", 16000 };
/* Rscript misreads escapes in lines of more than 4096 bytes (observed with 4.2). */
static const struct join join_r = { "paste0(\n", ",\n", ")", 500 };

/* clang-format off */
/* json: U+2028 ends a line in old JavaScript, but every high character is escaped anyway.
 * c: "\?" because "??=" is a trigraph.  java: the compiler turns \u000a into a newline before it
 * reads strings.  perl: high characters stay because "use utf8" decides their meaning.
 * shell: the only quotes of POSIX; a variable cannot contain NUL.  sql: SQLite, whose shell
 * drops a return before a newline and has no escapes.  postgres: a text cannot contain NUL. */
static const struct literal_style styles[] = {
    /* name       open  close quote    escaped nul      control  high         invalid  join */
    { "c",        "\"", "\"", "\\\"",  "\\?",  OCTAL,   OCTAL,   OCTAL,       OCTAL,   NULL },
    { "go",       "\"", "\"", "\\\"",  "\\",   HEX,     HEX,     HEX,         HEX,     NULL },
    { "java",     "\"", "\"", "\\\"",  "\\",   OCTAL,   OCTAL,   U_SURROGATE, REFUSED, &join_java },
    { "json",     "\"", "\"", "\\\"",  "\\",   U_LONG,  U_LONG,  U_SURROGATE, REFUSED, NULL },
    { "lua",      "\"", "\"", "\\\"",  "\\",   DECIMAL, DECIMAL, DECIMAL,     DECIMAL, NULL },
    { "perl",     "\"", "\"", "\\\"",  "\\$@", HEX,     HEX,     RAW,         HEX,     NULL },
    { "php",      "\"", "\"", "\\\"",  "\\$",  HEX,     HEX,     HEX,         HEX,     NULL },
    { "postgres", "E'", "'",  "''",    "\\",   REFUSED, HEX,     U_LONG,      REFUSED, NULL },
    { "python",   "\"", "\"", "\\\"",  "\\",   HEX,     HEX,     U_LONG,      REFUSED, NULL },
    { "r",        "\"", "\"", "\\\"",  "\\",   REFUSED, OCTAL,   OCTAL,       OCTAL,   &join_r },
    { "ruby",     "\"", "\"", "\\\"",  "\\#",  HEX,     HEX,     HEX,         HEX,     NULL },
    { "rust",     "\"", "\"", "\\\"",  "\\",   HEX,     HEX,     U_BRACES,    REFUSED, NULL },
    { "shell",    "'",  "'",  "'\\''", "",     REFUSED, RAW,     RAW,         RAW,     NULL },
    { "sql",      "'",  "'",  "''",    "",     BLOB,    BLOB,    RAW,         BLOB,    NULL },
};
/* clang-format on */

/* A well-formed UTF-8 sequence, or one byte that starts none. */
struct character {
    const unsigned char *at;
    size_t len;
    bool valid;
};

static struct character character_at(const unsigned char *at, size_t left)
{
    size_t len = at[0] < 0x80 ? 1 : at[0] < 0xe0 ? 2 : at[0] < 0xf0 ? 3 : 4;

    if (len <= left && text_is_utf8(at, len))
        return (struct character){ at, len, true };
    return (struct character){ at, 1, false };
}

static uint32_t character_code(struct character c)
{
    static const unsigned char lead_bits[] = { 0, 0x7f, 0x1f, 0x0f, 0x07 };
    uint32_t code = c.at[0] & lead_bits[c.len];

    for (size_t i = 1; i < c.len; i++)
        code = code << 6 | (c.at[i] & 0x3f);
    return code;
}

static enum form character_form(const struct literal_style *style, struct character c)
{
    if (!c.valid)
        return style->invalid;
    if (c.at[0] >= 0x80)
        return style->high;
    if (c.at[0] == 0)
        return style->nul;
    return c.at[0] < 0x20 || c.at[0] == 0x7f ? style->control : RAW;
}

static void put_code(struct buf *out, enum form form, uint32_t code)
{
    if (form == U_BRACES)
        buf_printf(out, "\\u{%x}", code);
    else if (code < 0x10000)
        buf_printf(out, "\\u%04x", code);
    else if (form == U_LONG)
        buf_printf(out, "\\U%08x", code);
    else
        buf_printf(out, "\\u%04x\\u%04x", 0xd800 + ((code - 0x10000) >> 10),
                   0xdc00 + ((code - 0x10000) & 0x3ff));
}

static void put_byte(struct buf *out, enum form form, unsigned char byte)
{
    if (form == DECIMAL)
        buf_printf(out, "\\%03u", byte);
    else if (form == HEX)
        buf_printf(out, "\\x%02x", byte);
    else
        buf_printf(out, "\\%03o", byte);
}

static void put_character(struct buf *out, const struct literal_style *style, struct character c)
{
    enum form form = character_form(style, c);
    unsigned char first = c.at[0];

    if (form == U_BRACES || form == U_LONG || form == U_SURROGATE) {
        put_code(out, form, character_code(c));
    } else if (form == DECIMAL || form == HEX || form == OCTAL) {
        for (size_t i = 0; i < c.len; i++)
            put_byte(out, form, c.at[i]);
    } else if (first == (unsigned char)style->close[0]) {
        buf_add_text(out, style->quote);
    } else {
        if (first && strchr(style->escaped, first))
            buf_add_text(out, "\\");
        buf_add(out, c.at, c.len);
    }
}

static void put_blob(struct buf *out, const unsigned char *data, size_t len)
{
    buf_add_text(out, "CAST(X'");
    for (size_t i = 0; i < len; i++)
        buf_printf(out, "%02x", data[i]);
    buf_add_text(out, "' AS TEXT)");
}

const struct literal_style *template_literal_style_find(const char *name)
{
    for (size_t i = 0; i < ARRAY_LEN(styles); i++) {
        if (strcmp(styles[i].name, name) == 0)
            return &styles[i];
    }
    return NULL;
}

/* The first character with this form, or NULL. */
static const unsigned char *find_form(const struct literal_style *style, enum form form,
                                      const void *data, size_t len)
{
    const unsigned char *at = data, *end = at + len;
    struct character c;

    for (; at < end; at += c.len) {
        c = character_at(at, (size_t)(end - at));
        if (character_form(style, c) == form)
            return at;
    }
    return NULL;
}

enum literal_fault template_literal_check(const struct literal_style *style, const void *data,
                                          size_t len)
{
    const unsigned char *at = len ? find_form(style, REFUSED, data, len) : NULL;

    if (!at)
        return LITERAL_OK;
    return *at == 0 ? LITERAL_NUL : LITERAL_NOT_UTF8;
}

static void put_piece(struct buf *out, const struct literal_style *style, const unsigned char *at,
                      const unsigned char *end)
{
    struct character c;

    buf_add_text(out, style->open);
    for (; at < end; at += c.len) {
        c = character_at(at, (size_t)(end - at));
        put_character(out, style, c);
    }
    buf_add_text(out, style->close);
}

/* The end of the piece that starts at `at`; never inside a character. */
static const unsigned char *piece_end(const unsigned char *at, const unsigned char *end, size_t max)
{
    const unsigned char *stop = at;

    while (stop < end) {
        struct character c = character_at(stop, (size_t)(end - stop));

        if ((size_t)(stop - at) + c.len > max)
            break;
        stop += c.len;
    }
    return stop;
}

void template_literal_put(struct buf *out, const struct literal_style *style, const void *data,
                          size_t len)
{
    const unsigned char *at = data, *end = at + len, *stop;

    if (len && find_form(style, BLOB, data, len)) {
        put_blob(out, data, len);
        return;
    }
    if (!style->join || len <= style->join->piece) {
        put_piece(out, style, at, end);
        return;
    }
    buf_add_text(out, style->join->open);
    for (; at < end; at = stop) {
        if (at > (const unsigned char *)data)
            buf_add_text(out, style->join->between);
        stop = piece_end(at, end, style->join->piece);
        put_piece(out, style, at, stop);
    }
    buf_add_text(out, style->join->close);
}
