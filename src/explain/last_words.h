/* The end of what a program wrote, for its diagnosis and for refusals that its words reveal. */
#ifndef EXPLAIN_LAST_WORDS_H
#define EXPLAIN_LAST_WORDS_H

#include "model/result.h"

struct last_words {
    const char *text; /* NULL: nothing is kept */
    size_t len;
    char *copy; /* owned; NULL: `text` is the result's */
};

#define scoped_last_words __attribute__((cleanup(last_words_done)))

/* The end of stderr.  A terminal has both streams in one: its end, with plain line ends and without
 * escape sequences. */
struct last_words last_words_of(const sbr_result *result);
void last_words_done(struct last_words *words);

/* Changes terminal output to plain text in place; returns its length. */
size_t last_words_clean(char *text, size_t len);

#endif
