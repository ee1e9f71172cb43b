/* Pictures on a terminal.  kitty and iTerm2 draw a PNG themselves; for others `chafa` makes sixels
 * or coloured blocks of it.  The bytes come from an untrusted program, so chafa reads them in a
 * sandbox of its own, and what it answers is checked before it reaches the terminal. */
#ifndef CLI_PICTURE_H
#define CLI_PICTURE_H

#include <stdbool.h>
#include <stddef.h>

/* What a terminal can do, by its name and its variables, or by SANDBOX_RUN_PICTURES. */
enum picture_way { PICTURE_FILE, PICTURE_KITTY, PICTURE_ITERM, PICTURE_SIXEL, PICTURE_BLOCKS };

enum picture_way picture_way(bool color);
/* Shows a PNG on stdout; false: it cannot be shown, and nothing was written. */
bool picture_show(enum picture_way way, const char *bytes, size_t len);

#endif
