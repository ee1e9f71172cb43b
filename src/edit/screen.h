/* A terminal that an editor draws on: below what is there already, never the whole screen.  The
 * sequences are those of ECMA-48 that every terminal has but one that can only print. */
#ifndef EDIT_SCREEN_H
#define EDIT_SCREEN_H

#include <termios.h>

#include "edit/edit_view.h"
#include "edit/keys.h"

struct screen {
    int in, out;
    struct termios before, raw;
    bool is_raw;
    struct keys keys;
    bool drawn; /* something of ours is on the screen, of this width: */
    unsigned int columns;
    size_t cursor_row; /* of it, where the cursor stands */
    size_t n_rows, capacity;
    unsigned int *widths; /* of its rows */
};

enum screen_event { SCREEN_KEY, SCREEN_RESIZED, SCREEN_INTERRUPTED, SCREEN_ENDED };

/* False: it is no terminal. */
bool screen_init(struct screen *s, int in, int out);
void screen_done(struct screen *s);
/* Takes keys one by one, and shows none; or as before. */
void screen_take(struct screen *s);
void screen_leave(struct screen *s);
/* The size that it has now. */
void screen_size(const struct screen *s, unsigned int *ret_columns, unsigned int *ret_rows);
/* Waits for the next key.  `is_interrupted` is asked before and after each wait. */
enum screen_event screen_next(struct screen *s, bool (*is_interrupted)(void), struct key *ret);
/* Whether the next key is there already. */
bool screen_has_input(const struct screen *s);
/* In place of what was drawn before. */
void screen_draw(struct screen *s, const struct view *v, unsigned int columns);
/* What was drawn stays; the next text stands below it. */
void screen_forget(struct screen *s);
void screen_clear(struct screen *s);

#endif
