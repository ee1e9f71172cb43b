/* Tables of text that are wider than the terminal. */
#ifndef CLI_TABLE_FIT_H
#define CLI_TABLE_FIT_H

#include <stdbool.h>

#include "base/buf.h"

/* Adds a table, whose columns stand between " | " and whose second line is of '-' and '+', with
 * its widest columns cut so that it has at most `width` columns.  False, and nothing is added: it
 * is no such table, it fits, or it has too many columns. */
bool table_fit(const char *text, size_t len, size_t width, struct buf *out);

#endif
