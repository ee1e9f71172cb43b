/* What is being waited for: at a terminal one line with the seconds, which goes again; elsewhere
 * one line of stderr for what takes longer than a second. */
#ifndef CLI_PROGRESS_H
#define CLI_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

#include "model/request.h"

struct progress {
    char title[120];
    uint64_t since_us;
    bool shown;
    bool piped, said; /* stderr is no terminal; the line was printed */
};

/* Draws the line, or draws it again with the seconds since it said something else; a NULL title
 * removes it. */
void progress_show(struct progress *progress, const char *title);

/* The title of an event of a run; `text` holds it.  NULL: nothing is waited for any more. */
const char *progress_title(const struct progress *progress, const sbr_request *req,
                           const sbr_event *event, char text[120]);

/* What a stage before the program's own does, for the title; NULL: it takes no time. */
const char *progress_doing(const char *stage);

#endif
