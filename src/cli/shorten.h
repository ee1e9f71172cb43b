/* --max-chars: what a command prints, shortened for a reader with a bounded memory.
 *
 * Everything that the command writes to stdout and stderr is collected first.  What fits is printed
 * as it is.  Otherwise stdout gets errors, then failed cases, then the beginning and the end of the
 * rest, and the id under which all of it is kept (`sandbox-run output ID`).  Characters are those
 * of UTF-8; a byte that is none counts as one. */
#ifndef CLI_SHORTEN_H
#define CLI_SHORTEN_H

#include "cli/cli.h"

#define SHORTEN_LEAST 200 /* characters */

/* Runs o->command; the exit status. */
int shorten_run(struct options *o);

struct shorten_text {
    const char *data;
    size_t len;
};

/* What is printed of a text that has more than `most` characters.  `lines`: of JSON, which are
 * never cut; otherwise cuts are at ends of lines where one is near.  `id`: of the kept output. */
int shorten_text(struct shorten_text text, uint64_t most, bool lines, const char *id,
                 struct buf *out);
uint64_t shorten_count(struct shorten_text text);

#endif
