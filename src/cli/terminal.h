/* What a stranger's program may do to the user's terminal: print, colour, move the cursor.  Titles,
 * clipboards, device queries and other strings of control are taken out. */
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

/* A forward_filter: cleans across calls. */
void terminal_clean(void *state, const char *data, size_t len, struct buf *out);

#endif
