/* The text that is edited: lines of UTF-8, a cursor, what was cut, and what can be taken back.
 * Positions are bytes; the cursor stands before a character that a person sees, never within one.
 */
#ifndef EDIT_TEXT_H
#define EDIT_TEXT_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"

#define EDIT_TEXT_MAX ((size_t)16 << 20)
#define EDIT_UNDO_MAX 500

struct edit_state {
    char *text;
    size_t len, cursor;
};

struct edit_text {
    struct buf text;
    size_t cursor;
    struct buf cut; /* what Ctrl-Y puts back */
    struct edit_state undo[EDIT_UNDO_MAX];
    size_t n_undo, undo_bytes;
    bool types; /* the last change was a character: the next one belongs to it */
};

enum edit_step { EDIT_CHARACTER, EDIT_WORD, EDIT_LINE, EDIT_ALL };

void edit_text_init(struct edit_text *t);
void edit_text_done(struct edit_text *t);
/* Text and cursor anew; what was before can be taken back. */
void edit_text_set(struct edit_text *t, const char *text, size_t len);
/* As set, without a way back: another text begins. */
void edit_text_begin(struct edit_text *t, const char *text, size_t len);
/* At the cursor; what is no UTF-8, and control characters other than newline and tab, become
 * U+FFFD. */
void edit_text_insert(struct edit_text *t, const char *text, size_t len);
/* One that a person types: a row of them is taken back at once. */
void edit_text_type(struct edit_text *t, const char *text, size_t len);
/* Replaces what is before the cursor from `from` on. */
void edit_text_replace(struct edit_text *t, size_t from, const char *text, size_t len);

/* Where a step from the cursor leads. */
size_t edit_text_before(const struct edit_text *t, enum edit_step step);
size_t edit_text_after(const struct edit_text *t, enum edit_step step);
/* Removes from the cursor to there; `cut`: Ctrl-Y puts it back. */
void edit_text_remove(struct edit_text *t, size_t to, bool cut);
void edit_text_paste_cut(struct edit_text *t);
/* To the line above or below, in the same column; false: there is none. */
bool edit_text_up(struct edit_text *t);
bool edit_text_down(struct edit_text *t);
/* False: there is nothing to take back. */
bool edit_text_undo(struct edit_text *t);

/* Where the line of the cursor begins and ends. */
size_t edit_text_line_begin(const struct edit_text *t);
size_t edit_text_line_end(const struct edit_text *t);
/* Bytes and columns of the character at `text`, with what combines with it. */
size_t edit_character(const char *text, size_t left, unsigned int *ret_columns);

#endif
