/* Two texts as lines with numbers: equal lines have equal numbers. */
#ifndef CHANGES_TEXTDIFF_LINES_H
#define CHANGES_TEXTDIFF_LINES_H

#include "changes/textdiff.h"

struct textdiff_lines {
    struct text text;
    size_t *starts; /* n + 1 of them */
    uint32_t *ids;
    bool *changed; /* not in the other text, or not at this place of it */
    size_t n;
};

/* -1 without memory; the caller calls textdiff_lines_done in any case.  A last line without a
 * newline differs from one with it. */
int textdiff_lines_init(struct textdiff_lines *a, struct textdiff_lines *b, struct text before,
                        struct text after);
void textdiff_lines_done(struct textdiff_lines *lines);

/* Marks what differs, in at most *work steps; -1 without memory. */
int textdiff_lines_compare(struct textdiff_lines *a, struct textdiff_lines *b, uint64_t *work);
/* Moves marks to where people expect them, where that is equivalent. */
void textdiff_lines_settle(struct textdiff_lines *a, struct textdiff_lines *b);

#endif
