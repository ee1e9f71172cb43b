/* An untrusted program may print, colour and move the cursor on the user's terminal.  Titles,
 * clipboards, device queries and other control strings are removed. */
#ifndef CLI_TERMINAL_H
#define CLI_TERMINAL_H

#include <stddef.h>

#include "base/buf.h"

enum terminal_state {
    TERMINAL_TEXT,
    TERMINAL_ESCAPE,
    TERMINAL_CSI,
    TERMINAL_STRING,
    TERMINAL_STRING_ESCAPE
};

struct terminal_filter {
    enum terminal_state state;
    char held[32]; /* a control sequence whose end has not come yet */
    size_t n_held;
    unsigned int
        utf8_left;      /* continuation bytes still to come: 0x80-0x9f are C1 only outside them */
    unsigned char lead; /* of the character that they belong to */
};

/* A filter of struct runner_stream; `state` is a struct terminal_filter. */
void terminal_clean(void *state, const char *data, size_t len, struct buf *out);

#endif
