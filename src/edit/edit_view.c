#include "edit/edit_view.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"

#define LIST_ROWS 8
#define LABEL_MAX 400
#define COLORED_MAX ((size_t)64 << 10) /* a longer cell has no colours */
#define VIEW_MAX ((size_t)256 << 20)
#define TAB_COLUMNS 4
#define REVERSED "\033[7m"
#define PLAIN "\033[0m"

void edit_view_init(struct view *v)
{
    *v = (struct view){ 0 };
    buf_init(&v->text, VIEW_MAX);
}

void edit_view_done(struct view *v)
{
    buf_done(&v->text);
    free(v->rows);
    *v = (struct view){ 0 };
}

static struct view_row *last(struct view *v)
{
    return &v->rows[v->n - 1];
}

static void begin_row(struct view *v, bool wrapped)
{
    if (v->n == v->capacity) {
        size_t capacity = v->capacity ? 2 * v->capacity : 64;
        struct view_row *rows = realloc(v->rows, capacity * sizeof(*rows));

        if (!rows) {
            v->failed = true;
            v->n--; /* over the last one */
        } else {
            v->rows = rows;
            v->capacity = capacity;
        }
    }
    v->rows[v->n++] = (struct view_row){ .at = v->text.len, .wrapped = wrapped };
}

/* Bytes that fill no column, or some. */
static void add(struct view *v, const char *bytes, size_t len, unsigned int columns)
{
    (void)buf_add(&v->text, bytes, len);
    last(v)->len += len;
    last(v)->columns += columns;
}

/* The text, laid out. */

struct layout {
    struct view *view;
    const struct view_look *look;
    char color[16]; /* the sequence that holds; empty: none */
    size_t at;      /* in the plain text */
    size_t cursor;  /* there; beyond the end: no cursor */
};

static void begin_line(struct layout *l, const char *prompt)
{
    if (l->color[0])
        add(l->view, PLAIN, sizeof(PLAIN) - 1, 0);
    begin_row(l->view, false);
    for (size_t at = 0, n, len = strlen(prompt); at < len; at += n) {
        unsigned int columns;

        n = edit_character(prompt + at, len - at, &columns);
        if (last(l->view)->columns + columns > l->look->columns / 2)
            break;
        add(l->view, prompt + at, n, columns);
    }
    add(l->view, l->color, strlen(l->color), 0);
}

static void wrap(struct layout *l, unsigned int columns)
{
    if (last(l->view)->columns + columns <= l->look->columns)
        return;
    while (last(l->view)->columns < l->look->columns)
        add(l->view, " ", 1, 1);
    if (l->color[0])
        add(l->view, PLAIN, sizeof(PLAIN) - 1, 0);
    begin_row(l->view, true);
    add(l->view, l->color, strlen(l->color), 0);
}

static void note_cursor(struct layout *l)
{
    if (l->at != l->cursor)
        return;
    wrap(l, 1);
    l->view->cursor_row = l->view->n - 1;
    l->view->cursor_column = last(l->view)->columns;
}

/* A colour; its length. */
static size_t add_color(struct layout *l, const char *text, size_t len)
{
    const char *end = memchr(text, 'm', len);
    size_t n = end ? (size_t)(end - text) + 1 : len;

    l->color[0] = '\0';
    if (n < sizeof(l->color) && (n != sizeof(PLAIN) - 1 || memcmp(text, PLAIN, n) != 0)) {
        memcpy(l->color, text, n);
        l->color[n] = '\0';
    }
    add(l->view, text, n, 0);
    return n;
}

static size_t add_character(struct layout *l, const char *text, size_t len)
{
    unsigned int columns;
    size_t n = edit_character(text, len, &columns);

    if (text[0] == '\n') {
        begin_line(l, l->look->more);
    } else if (text[0] == '\t') {
        wrap(l, TAB_COLUMNS);
        add(l->view, "    ", TAB_COLUMNS, TAB_COLUMNS);
    } else if (text_character_len(text, len) && (unsigned char)text[0] >= 0x20 && text[0] != 0x7f) {
        wrap(l, columns);
        add(l->view, text, n, columns);
    } else {
        wrap(l, 1);
        add(l->view, "?", 1, 1);
    }
    l->at += n;
    return n;
}

static void lay_out(struct layout *l, const char *text, size_t len)
{
    struct buf colored;
    const char *from = text;
    size_t left = len;

    buf_init(&colored, 16 * COLORED_MAX);
    if (l->look->color && len && len <= COLORED_MAX) {
        l->look->color(l->look->context, text, len, &colored);
        if (!colored.failed) {
            from = colored.data;
            left = colored.len;
        }
    }
    begin_line(l, l->look->prompt);
    while (left) {
        size_t n;

        if (from[0] == '\033') {
            n = add_color(l, from, left);
        } else {
            note_cursor(l);
            n = add_character(l, from, left);
        }
        from += n;
        left -= n;
    }
    note_cursor(l);
    if (l->color[0])
        add(l->view, PLAIN, sizeof(PLAIN) - 1, 0);
    buf_done(&colored);
}

/* What stands below the text. */

/* One label, cut to the width that is left; its columns. */
static unsigned int add_label(struct view *v, const char *text, size_t len, unsigned int most)
{
    char visible[LABEL_MAX];
    unsigned int used = 0, columns;

    text_copy_visibly(visible, sizeof(visible), text, len);
    for (size_t at = 0, n, all = strlen(visible); at < all; at += n, used += columns) {
        n = edit_character(visible + at, all - at, &columns);
        if (used + columns > most)
            break;
        add(v, visible + at, n, columns);
    }
    return used;
}

static unsigned int label_columns(const char *text)
{
    struct view unused;
    unsigned int columns;

    edit_view_init(&unused);
    begin_row(&unused, false);
    columns = add_label(&unused, text, strlen(text), LABEL_MAX);
    edit_view_done(&unused);
    return columns;
}

static void add_match(struct view *v, const struct editor *e, size_t i, unsigned int width)
{
    unsigned int used;

    if (i == e->chosen)
        add(v, REVERSED, sizeof(REVERSED) - 1, 0);
    used = add_label(v, e->matches[i], strlen(e->matches[i]), width - 1);
    if (i == e->chosen)
        add(v, PLAIN, sizeof(PLAIN) - 1, 0);
    while (used++ < width)
        add(v, " ", 1, 1);
}

/* Rows of equally wide columns; those around the chosen one when there is no room for all. */
static void add_menu(struct view *v, const struct editor *e, const struct view_look *look,
                     size_t most)
{
    unsigned int width = 1, columns;
    size_t across, rows, first;
    bool says_more;

    for (size_t i = 0; i < e->n_matches; i++)
        if ((columns = label_columns(e->matches[i]) + 2) > width)
            width = columns;
    if (width > look->columns - 1)
        width = look->columns - 1;
    across = (look->columns - 1) / width;
    rows = (e->n_matches + across - 1) / across;
    first = e->chosen < e->n_matches ? e->chosen / across : 0;
    says_more = rows > most && most > 1;
    most -= says_more;
    first = first < most ? 0 : first - most + 1;
    for (size_t row = first; row < rows && row < first + most; row++) {
        begin_row(v, false);
        for (size_t i = row * across; i < (row + 1) * across && i < e->n_matches; i++)
            add_match(v, e, i, width);
    }
    if (says_more) {
        char text[60];

        begin_row(v, false);
        snprintf(text, sizeof(text), "(%zu in all; Tab goes on)", e->n_matches);
        (void)add_label(v, text, strlen(text), look->columns - 1);
    }
}

static void add_found(struct view *v, const struct editor *e, size_t i, unsigned int columns)
{
    const char *entry = e->history->entries[e->found[i]];
    size_t len = strcspn(entry, "\n"), lines = 1;
    char more[40] = "";

    for (const char *at = entry + len; *at; at++)
        lines += *at == '\n';
    if (lines > 1)
        snprintf(more, sizeof(more), " (%zu lines)", lines);
    begin_row(v, false);
    if (i == e->selected)
        add(v, REVERSED, sizeof(REVERSED) - 1, 0);
    (void)add_label(v, i == e->selected ? "> " : "  ", 2, columns);
    if (columns > 2 + strlen(more))
        (void)add_label(v, entry, len, columns - 2 - (unsigned int)strlen(more));
    (void)add_label(v, more, strlen(more), columns - last(v)->columns);
    if (i == e->selected)
        add(v, PLAIN, sizeof(PLAIN) - 1, 0);
}

/* The pattern, with the cursor behind it, and what has it. */
static void add_search(struct view *v, const struct editor *e, const struct view_look *look,
                       size_t most)
{
    static const char label[] = "search: ";
    size_t first = e->selected + 1 < most ? 0 : e->selected + 2 - most;
    unsigned int columns = look->columns - 1;

    begin_row(v, false);
    (void)add_label(v, label, sizeof(label) - 1, columns);
    (void)add_label(v, e->pattern.len ? e->pattern.data : "", e->pattern.len,
                    columns > 30 ? columns - 30 : 1);
    v->cursor_row = v->n - 1;
    v->cursor_column = last(v)->columns;
    if (!e->n_found)
        (void)add_label(v, "   (nothing has it)", 19, columns - last(v)->columns);
    for (size_t i = first; i < e->n_found && i < first + most - 1; i++)
        add_found(v, e, i, columns);
}

/* The rows around the cursor, as many as the screen has besides the list. */
static void choose_rows(struct view *v, const struct view_look *look, size_t text_rows)
{
    size_t most = look->rows > v->list ? look->rows - v->list : 1;
    size_t shown = v->cursor_row < text_rows ? v->cursor_row : 0;

    v->first = 0;
    v->end = text_rows;
    if (text_rows <= most)
        return;
    v->first = shown < most ? 0 : shown - most + 1;
    v->end = v->first + most;
}

void edit_view_make(struct view *v, const struct editor *e, const struct view_look *look, bool over)
{
    struct layout l = { .view = v, .look = look };
    const struct buf *text = &e->text.text;
    const char *shown = text->data;
    size_t len = text->len, text_rows,
           most = look->rows > 2 * LIST_ROWS ? LIST_ROWS : look->rows / 2;

    v->text.len = v->n = 0;
    l.cursor = over ? len : e->text.cursor;
    if (!over && e->mode == EDIT_SEARCH && e->n_found) {
        shown = e->history->entries[e->found[e->selected]];
        len = strlen(shown);
    }
    lay_out(&l, shown, len);
    text_rows = v->n;
    if (!over && e->mode == EDIT_MENU)
        add_menu(v, e, look, most ? most : 1);
    else if (!over && e->mode == EDIT_SEARCH)
        add_search(v, e, look, most ? most : 1);
    v->list = v->n - text_rows;
    if (over) {
        v->first = 0;
        v->end = text_rows;
    } else {
        choose_rows(v, look, text_rows);
    }
    v->cursor_row -= v->cursor_row < text_rows ? v->first : v->first + (text_rows - v->end);
}

static void draw_row(const struct view *v, const struct view_row *row, bool first, struct buf *out)
{
    if (!first && row->wrapped && !row->columns)
        (void)buf_add_text(out, " \r"); /* the terminal goes on in the next row */
    else if (!first && !row->wrapped)
        (void)buf_add_text(out, "\r\n");
    (void)buf_add(out, v->text.data + row->at, row->len);
}

void edit_view_draw(const struct view *v, struct buf *out)
{
    size_t shown = v->end - v->first + v->list, down = shown - 1 - v->cursor_row;

    for (size_t i = v->first; i < v->end; i++)
        draw_row(v, &v->rows[i], i == v->first, out);
    for (size_t i = v->n - v->list; i < v->n; i++)
        draw_row(v, &v->rows[i], false, out);
    if (down)
        (void)buf_printf(out, "\033[%zuA", down);
    (void)buf_add_text(out, "\r");
    if (v->cursor_column)
        (void)buf_printf(out, "\033[%uC", v->cursor_column);
}
