/* What a person sees of an editor: rows of a terminal.  Pure: it makes bytes and writes none. */
#ifndef EDIT_VIEW_H
#define EDIT_VIEW_H

#include "edit/editor.h"

struct view_look {
    const char *prompt, *more; /* before the first line, and before those behind it */
    unsigned int columns, rows;
    /* Adds the text with colours; NULL: without. */
    void (*color)(void *context, const char *text, size_t len, struct buf *out);
    void *context;
};

struct view_row {
    size_t at, len;       /* in `text` */
    unsigned int columns; /* that it fills */
    bool wrapped;         /* the line of the row before it goes on */
};

struct view {
    struct buf text;
    struct view_row *rows;
    size_t n, capacity;
    size_t first, end; /* those that are shown; the list below is behind them */
    size_t list;       /* rows of the list: the last ones */
    size_t cursor_row; /* of those that are shown */
    unsigned int cursor_column;
    bool failed;
};

void edit_view_init(struct view *v);
void edit_view_done(struct view *v);
/* `over`: the cell is typed: no list, the cursor at the end, all rows. */
void edit_view_make(struct view *v, const struct editor *e, const struct view_look *look,
                    bool over);
/* Adds the bytes that draw it, from the first column of its first row on. */
void edit_view_draw(const struct view *v, struct buf *out);

#endif
