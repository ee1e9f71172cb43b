/* What was typed before, one entry for each cell, the oldest first.
 *
 * As a file: a line for each, in which a newline, a backslash and other control characters stand as
 * \ooo.  Prompts of the same user add to it at the same time, each line with one write. */
#ifndef EDIT_HISTORY_H
#define EDIT_HISTORY_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"

#define HISTORY_ENTRIES 2000
#define HISTORY_ENTRY_MAX ((size_t)64 << 10) /* a longer cell is not kept */

struct history {
    char *entries[HISTORY_ENTRIES];
    size_t n;
};

void history_init(struct history *h);
void history_done(struct history *h);
/* The newest from here on; the same text before it is forgotten.  False: it is not kept. */
bool history_add(struct history *h, const char *text, size_t len);
/* The next one before `at` (n: the newest is the first) that begins with `prefix`; n: none. */
size_t history_older(const struct history *h, size_t at, const char *prefix, size_t len);
/* The next one behind `at`; n: none. */
size_t history_newer(const struct history *h, size_t at, const char *prefix, size_t len);
/* Up to `most` that have every word of `pattern`, in any case, the newest first. */
size_t history_search(const struct history *h, const char *pattern, size_t *ret, size_t most);

/* Lines of a file; those of libedit's are read as well. */
void history_read(struct history *h, const char *text, size_t len);
/* One entry as a line. */
void history_write(const char *text, size_t len, struct buf *out);

#endif
