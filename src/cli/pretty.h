/* What a program writes to a terminal, as a person would rather look at it: traces and the line
 * that failed in colour, and an output that is one document of JSON laid out.  Only colours are
 * added to any other output, and nothing is changed where stdout is no terminal. */
#ifndef CLI_PRETTY_H
#define CLI_PRETTY_H

#include "cli/terminal.h"

struct pretty {
    struct terminal_filter *filter; /* what may pass at all; NULL: everything */
    bool layout;                    /* documents are laid out */
    bool color;
    struct buf held; /* what may be the begin of a document */
    bool passes;     /* it is none, or the rest of the output */
    bool mid_line, source;
    int timer_fd; /* due when a document has taken too long; -1: none */
};

/* `layout`: for stdout alone. */
void pretty_init(struct pretty *p, struct terminal_filter *filter, bool layout, bool color);
/* A filter of struct runner_stream; `state` is a struct pretty. */
void pretty_clean(void *state, const char *data, size_t len, struct buf *out);
/* The timer may be due: what is held is shown as it is. */
void pretty_look(struct pretty *p);
/* The program has ended: what is held is shown, laid out if it is a document. */
void pretty_done(struct pretty *p);

#endif
