/* Colours for code and values: texts, numbers, comments and the words of a language. */
#ifndef CLI_HIGHLIGHT_H
#define CLI_HIGHLIGHT_H

#include "base/buf.h"

/* Adds the text with colours to `out`.  What is shown is the same: only sequences that colour come
 * between.  A text with control characters, the newline and the tab apart, stays as it is. */
void highlight(const char *language, const char *text, size_t len, struct buf *out);

#endif
