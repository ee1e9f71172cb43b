/* A page of the documentation for a reader at a terminal: what Markdown means, not its signs. */
#ifndef CLI_RENDER_H
#define CLI_RENDER_H

#include <stdbool.h>

#include "base/buf.h"

#define RENDER_LEAST 40 /* columns; a narrower terminal breaks lines itself */

/* Adds the page in lines of at most `width` columns; only long words and code are longer. */
void render_page(const char *page, size_t width, bool color, struct buf *out);

#endif
