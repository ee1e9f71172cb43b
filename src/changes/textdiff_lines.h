/* Two texts as lines with numbers: equal lines have equal numbers. */
#ifndef CHANGES_TEXTDIFF_LINES_H
#define CHANGES_TEXTDIFF_LINES_H

#include "changes/textdiff.h"

struct text_lines {
    struct text text;
    size_t *starts; /* n + 1 of them */
    uint32_t *ids;
    bool *changed; /* not in the other text, or not at this place of it */
    size_t n;
};

/* -1 without memory; text_lines_done in any case.  A last line without its newline is another line than with it. */
int text_lines_init(struct text_lines *a, struct text_lines *b, struct text before,
                    struct text after);
void text_lines_done(struct text_lines *lines);

/* Marks what differs, in at most *work steps; -1 without memory. */
int text_lines_compare(struct text_lines *a, struct text_lines *b, uint64_t *work);
/* Moves what is marked to where people would have it, where that is the same. */
void text_lines_settle(struct text_lines *a, struct text_lines *b);

#endif
