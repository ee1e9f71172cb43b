/* How it works.  The page is read line by line.  Lines of one paragraph, or of one item of a list,
 * are joined and filled again to the width; tables are laid out with their cells filled in columns;
 * code stays as it is, indented.  Colours are put in last, word by word, so that they never count
 * as width: \1 and \2 switch bold and code on and off in between. */
#include "cli/present.h"

#include <stdlib.h>
#include <string.h>

#define CELLS_MAX 8
#define ROWS_MAX 256
#define NARROW 6  /* columns of a cell, at least */
#define BETWEEN 2 /* columns */

#define BOLD "\x1b[1m"
#define CODE "\x1b[36m"
#define PLAIN "\x1b[0m"
#define SIGN_BOLD '\1'
#define SIGN_CODE '\2'

struct page {
    struct buf *out;
    size_t width;
    bool color;
    bool bold, code;        /* what is switched on in what was written */
    struct buf paragraph;   /* joined, with signs */
    size_t indent, hanging; /* of its first line, and of the others */
};

static size_t width_of(const char *text, size_t len)
{
    size_t n = 0;

    for (size_t i = 0; i < len; i++)
        n += (unsigned char)text[i] >= 0x20 && ((unsigned char)text[i] & 0xc0) != 0x80;
    return n;
}

static void put_blanks(struct buf *out, size_t n)
{
    while (n--)
        buf_add(out, " ", 1);
}

static void put_style(struct page *p)
{
    if (!p->color)
        return;
    buf_add_text(p->out, PLAIN);
    if (p->bold)
        buf_add_text(p->out, BOLD);
    if (p->code)
        buf_add_text(p->out, CODE);
}

/* Text with signs, as it is to be shown. */
static void put_signed(struct page *p, const char *text, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        if (text[i] != SIGN_BOLD && text[i] != SIGN_CODE) {
            buf_add(p->out, text + i, 1);
            continue;
        }
        if (text[i] == SIGN_BOLD)
            p->bold = !p->bold;
        else
            p->code = !p->code;
        put_style(p);
    }
}

/* The length of "[words](target)" or "![words](target)", and its words; 0: it is none. */
static size_t link_len(const char *text, size_t len, const char **words, size_t *words_len)
{
    size_t start = text[0] == '!' ? 1 : 0;
    const char *middle = start < len && text[start] == '[' ? memmem(text, len, "](", 2) : NULL;
    const char *end = middle ? memchr(middle, ')', len - (size_t)(middle - text)) : NULL;

    if (!end || memchr(text + start + 1, '[', (size_t)(middle - text) - start - 1))
        return 0;
    *words = text + start + 1;
    *words_len = (size_t)(middle - *words);
    return (size_t)(end - text) + 1;
}

/* Signs in place of Markdown's. */
static void add_inline(struct buf *out, const char *text, size_t len)
{
    const char bold = SIGN_BOLD, code = SIGN_CODE, *words;
    bool in_code = false;
    size_t n, words_len;

    for (size_t i = 0; i < len; i += n) {
        n = 1;
        if (text[i] == '`') {
            in_code = !in_code;
            buf_add(out, &code, 1);
        } else if (!in_code && i + 1 < len && text[i] == '*' && text[i + 1] == '*') {
            buf_add(out, &bold, 1);
            n = 2;
        } else if (!in_code && (n = link_len(text + i, len - i, &words, &words_len))) {
            add_inline(out, words, words_len);
        } else {
            n = text[i] == '\\' && !in_code && i + 1 < len && text[i + 1] == '|' ? 2 : 1;
            buf_add(out, text + i + n - 1, 1);
        }
    }
}

/* The end of the next line of at most `width` columns, from `at`; *ret_next is where the one behind
 * it begins. */
static size_t fill_line(const char *text, size_t len, size_t at, size_t width, size_t *ret_next)
{
    size_t end = at, from = at;

    while (from < len) {
        size_t stop = from;

        while (stop < len && text[stop] != ' ')
            stop++;
        if (end > at && width_of(text + at, stop - at) > width)
            break;
        end = stop;
        from = stop;
        while (from < len && text[from] == ' ')
            from++;
    }
    *ret_next = from;
    return end;
}

static void end_paragraph(struct page *p)
{
    const char *text = p->paragraph.data;
    size_t len = p->paragraph.len, indent = p->indent, next = 0;

    while (next < len) {
        size_t at = next, end = fill_line(text, len, at, p->width - indent, &next);

        put_blanks(p->out, indent);
        put_signed(p, text + at, end - at);
        buf_add_text(p->out, "\n");
        indent = p->hanging;
    }
    p->paragraph.len = 0;
}

static void add_to_paragraph(struct page *p, const char *line, size_t len)
{
    if (p->paragraph.len)
        buf_add_text(&p->paragraph, " ");
    add_inline(&p->paragraph, line, len);
}

static void put_heading(struct page *p, const char *line, size_t len)
{
    const char bold = SIGN_BOLD;
    size_t level = strspn(line, "#"), start = level < len ? level + 1 : len;

    p->indent = p->hanging = 0;
    buf_add(&p->paragraph, &bold, 1);
    add_inline(&p->paragraph, line + start, len - start);
    buf_add(&p->paragraph, &bold, 1);
    end_paragraph(p);
}

struct table {
    struct buf cells[ROWS_MAX][CELLS_MAX];
    size_t rows, columns;
    size_t width[CELLS_MAX];
};

static void take_row(struct table *t, const char *line, size_t len)
{
    size_t at = 1, column = 0;

    while (at < len && column < CELLS_MAX) {
        size_t end = at;
        struct buf *cell = &t->cells[t->rows][column++];

        while (end < len && (line[end] != '|' || line[end - 1] == '\\'))
            end++;
        while (at < end && line[at] == ' ')
            at++;
        buf_init(cell, 1 << 16);
        add_inline(cell, line + at, end > at && line[end - 1] == ' ' ? end - at - 1 : end - at);
        at = end + 1;
    }
    if (column > t->columns)
        t->columns = column;
    t->rows++;
}

static size_t total_width(const struct table *t)
{
    size_t sum = t->columns ? (t->columns - 1) * BETWEEN : 0;

    for (size_t i = 0; i < t->columns; i++)
        sum += t->width[i];
    return sum;
}

/* The widest column gives first. */
static void fit_columns(struct table *t, size_t width)
{
    for (size_t row = 0; row < t->rows; row++) {
        for (size_t i = 0; i < t->columns; i++) {
            size_t n = width_of(t->cells[row][i].data, t->cells[row][i].len);

            if (n > t->width[i])
                t->width[i] = n;
        }
    }
    while (total_width(t) > width) {
        size_t widest = 0;

        for (size_t i = 1; i < t->columns; i++)
            if (t->width[i] > t->width[widest])
                widest = i;
        if (t->width[widest] <= NARROW)
            return;
        t->width[widest]--;
    }
}

/* One line of each cell at a time, until all of them have been shown. */
static void put_row(struct page *p, const struct table *t, size_t row)
{
    size_t next[CELLS_MAX] = { 0 };
    bool bold[CELLS_MAX] = { false }, code[CELLS_MAX] = { false }, more = true;

    while (more) {
        size_t owed = 0;

        more = false;
        for (size_t i = 0; i < t->columns; i++) {
            const struct buf *cell = &t->cells[row][i];
            size_t at = next[i], end = fill_line(cell->data, cell->len, at, t->width[i], &next[i]);
            size_t shown = width_of(cell->data + at, end - at);

            if (end > at) {
                put_blanks(p->out, owed);
                owed = 0;
                p->bold = bold[i];
                p->code = code[i];
                if (p->bold || p->code)
                    put_style(p);
                put_signed(p, cell->data + at, end - at);
                bold[i] = p->bold;
                code[i] = p->code;
                p->bold = p->code = false;
                if (bold[i] || code[i])
                    put_style(p);
            }
            owed += BETWEEN + (t->width[i] > shown ? t->width[i] - shown : 0);
            more |= next[i] < cell->len;
        }
        buf_add_text(p->out, "\n");
    }
}

static bool is_rule(const char *line, size_t len)
{
    size_t n = 0;

    while (n < len && strchr("|-: ", line[n]))
        n++;
    return n == len;
}

static void put_table(struct page *p, const struct table *t)
{
    for (size_t row = 0; row < t->rows; row++) {
        put_row(p, t, row);
        if (row == 0 && t->rows > 1) {
            for (size_t i = 0; i < t->columns; i++) {
                for (size_t n = 0; n < t->width[i]; n++)
                    buf_add_text(p->out, "-");
                put_blanks(p->out, i + 1 < t->columns ? BETWEEN : 0);
            }
            buf_add_text(p->out, "\n");
        }
    }
}

/* Reads the table that begins here; returns what follows it. */
static const char *take_table(struct page *p, const char *line)
{
    struct table *t = calloc(1, sizeof(*t));

    while (t && *line == '|') {
        size_t len = strcspn(line, "\n");

        if (!is_rule(line, len) && t->rows < ROWS_MAX)
            take_row(t, line, len);
        line += len + (line[len] == '\n');
    }
    if (!t) {
        p->out->failed = true;
        return line + strlen(line);
    }
    fit_columns(t, p->width);
    put_table(p, t);
    for (size_t row = 0; row < t->rows; row++)
        for (size_t i = 0; i < CELLS_MAX; i++)
            buf_done(&t->cells[row][i]);
    free(t);
    return line;
}

/* Code between fences, as it stands; returns what follows. */
static const char *take_code(struct page *p, const char *line)
{
    line += strcspn(line, "\n");
    line += *line == '\n';
    while (*line && strncmp(line, "```", 3) != 0) {
        size_t len = strcspn(line, "\n");

        put_blanks(p->out, len ? 4 : 0);
        p->code = true;
        put_style(p);
        buf_add(p->out, line, len);
        p->code = false;
        put_style(p);
        buf_add_text(p->out, "\n");
        line += len + (line[len] == '\n');
    }
    line += strcspn(line, "\n");
    return line + (*line == '\n');
}

/* "- ", "* " and "1. " begin an item; its other lines stand below its text. */
static size_t item_len(const char *line)
{
    size_t digits = strspn(line, "0123456789");

    if ((line[0] == '-' || line[0] == '*') && line[1] == ' ')
        return 2;
    return digits && line[digits] == '.' && line[digits + 1] == ' ' ? digits + 2 : 0;
}

static void take_line(struct page *p, const char *line, size_t len)
{
    size_t blanks = strspn(line, " "), item = item_len(line + blanks);

    if (blanks >= len) {
        end_paragraph(p);
        buf_add_text(p->out, "\n");
        p->indent = p->hanging = 0;
        return;
    }
    if (item) {
        end_paragraph(p);
        p->indent = blanks;
        p->hanging = blanks + item;
    }
    add_to_paragraph(p, line + blanks, len - blanks);
}

void render_page(const char *page, size_t width, bool color, struct buf *out)
{
    struct page p = { .out = out,
                      .width = width < RENDER_LEAST ? RENDER_LEAST : width,
                      .color = color };

    buf_init(&p.paragraph, 1 << 20);
    for (const char *line = page; *line;) {
        size_t len = strcspn(line, "\n");
        bool apart = line[0] == '#' || line[0] == '|' || !strncmp(line, "```", 3);

        if (apart)
            end_paragraph(&p);
        if (line[0] == '|') {
            line = take_table(&p, line);
            continue;
        }
        if (!strncmp(line, "```", 3)) {
            line = take_code(&p, line);
            continue;
        }
        if (line[0] == '#')
            put_heading(&p, line, len);
        else
            take_line(&p, line, len);
        line += len + (line[len] == '\n');
    }
    end_paragraph(&p);
    buf_done(&p.paragraph);
}
