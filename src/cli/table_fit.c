#include "cli/present.h"

#include <string.h>

#define COLUMNS_MAX 64
#define NARROWEST 4
#define BETWEEN 3 /* " | " */

struct columns {
    size_t n;
    size_t was[COLUMNS_MAX], is[COLUMNS_MAX];
};

static size_t line_len(const char *text, size_t len)
{
    const char *end = memchr(text, '\n', len);

    return end ? (size_t)(end - text) : len;
}

/* The width of each column: between two signs '+' the rule has a '-' more on either side. */
static bool read_rule(const char *rule, size_t len, struct columns *ret)
{
    size_t from = 0;

    ret->n = 0;
    for (size_t at = 0; at <= len; at++) {
        if (at < len && rule[at] == '-')
            continue;
        if ((at < len && rule[at] != '+') || ret->n == COLUMNS_MAX || at == from)
            return false;
        ret->was[ret->n] = at - from - (from ? 1 : 0) - (at < len ? 1 : 0);
        ret->is[ret->n] = ret->was[ret->n];
        ret->n++;
        from = at + 1;
    }
    return ret->n > 0 && len > 0;
}

static size_t total(const struct columns *columns)
{
    size_t sum = (columns->n - 1) * BETWEEN;

    for (size_t i = 0; i < columns->n; i++)
        sum += columns->is[i];
    return sum;
}

/* The widest column gives first. */
static bool shrink(struct columns *columns, size_t width)
{
    while (total(columns) > width) {
        size_t widest = 0;

        for (size_t i = 1; i < columns->n; i++)
            if (columns->is[i] > columns->is[widest])
                widest = i;
        if (columns->is[widest] <= NARROWEST)
            return false;
        columns->is[widest]--;
    }
    return true;
}

static size_t next_character(const char *text, size_t len, size_t at)
{
    do
        at++;
    while (at < len && ((unsigned char)text[at] & 0xc0) == 0x80);
    return at;
}

/* One cell of a line: `was` characters, of which `is` are shown. */
static size_t put_cell(const char *line, size_t len, size_t was, size_t is, struct buf *out)
{
    size_t at = 0, shown = 0, end = 0, text_end = 0;

    for (size_t i = 0; i < was && at < len; i++) {
        bool blank = line[at] == ' ';

        at = next_character(line, len, at);
        if (i + 1 < is)
            shown = at;
        if (i < is)
            end = at;
        if (!blank)
            text_end = at;
    }
    if (text_end <= end) {
        buf_add(out, line, end);
    } else {
        buf_add(out, line, shown);
        buf_add_text(out, "\u2026");
    }
    return at;
}

static void put_line(const char *line, size_t len, const struct columns *columns, struct buf *out)
{
    size_t at = 0;

    for (size_t i = 0; i < columns->n; i++) {
        at += put_cell(line + at, len - at, columns->was[i], columns->is[i], out);
        if (i + 1 == columns->n || at >= len)
            break;
        buf_add_text(out, " | ");
        at = at + BETWEEN < len ? at + BETWEEN : len;
    }
    buf_add_text(out, "\n");
}

static void put_rule(const struct columns *columns, struct buf *out)
{
    for (size_t i = 0; i < columns->n; i++) {
        size_t n = columns->is[i] + (i > 0) + (i + 1 < columns->n);

        while (n--)
            buf_add_text(out, "-");
        buf_add_text(out, i + 1 < columns->n ? "+" : "\n");
    }
}

bool table_fit(const char *text, size_t len, size_t width, struct buf *out)
{
    size_t first = line_len(text, len), at = first + 1;
    struct columns columns;

    if (at >= len || !read_rule(text + at, line_len(text + at, len - at), &columns) ||
        total(&columns) <= width || !shrink(&columns, width))
        return false;
    put_line(text, first, &columns, out);
    put_rule(&columns, out);
    for (at += line_len(text + at, len - at) + 1; at < len;) {
        size_t n = line_len(text + at, len - at);

        put_line(text + at, n, &columns, out);
        at += n + 1;
    }
    return true;
}
