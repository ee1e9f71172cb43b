/* An untrusted program may print, colour and move the cursor on the user's terminal.  Titles,
 * clipboards, device queries and other control strings are removed.
 *
 * A program that the user works with, as with an editor, may also switch modes of the screen and
 * of the keys.  What it has switched is noted in `modes`, so that it can be undone at any time. */
#ifndef CLI_TERMINAL_H
#define CLI_TERMINAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/buf.h"

enum terminal_state {
    TERMINAL_TEXT,
    TERMINAL_ESCAPE,
    TERMINAL_ESCAPE_MORE,
    TERMINAL_CSI,
    TERMINAL_STRING,
    TERMINAL_STRING_ESCAPE
};

struct terminal_filter {
    enum terminal_state state;
    char held[64]; /* a control sequence whose end has not come yet */
    size_t n_held;
    unsigned int
        utf8_left;      /* continuation bytes still to come: 0x80-0x9f are C1 only outside them */
    unsigned char lead; /* of the character that they belong to */
    bool mid_line;      /* the last text did not end its line */
    /* One bit for each mode that is not as usual; NULL: modes stay as they are. */
    _Atomic uint32_t *modes;
};

/* A filter of struct runner_stream; `state` is a struct terminal_filter. */
void terminal_clean(void *state, const char *data, size_t len, struct buf *out);

/* The mode that shows the other one of the terminal's two screens. */
uint32_t terminal_other_screen(void);

/* Prints what a program wrote: cleaned where `to` is a terminal, unless `raw`. */
void terminal_print(FILE *to, bool raw, const char *data, size_t len);

#define TERMINAL_MOST_MODES 512 /* bytes that either function needs at most */
/* What brings the modes back to usual, and what sets them again.  Bytes of `out` that were used. */
size_t terminal_leave_modes(uint32_t modes, char out[TERMINAL_MOST_MODES]);
size_t terminal_enter_modes(uint32_t modes, char out[TERMINAL_MOST_MODES]);

#endif
