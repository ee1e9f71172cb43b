/* One line on the terminal that says what is being waited for, and for how many seconds. */
#ifndef CLI_PROGRESS_H
#define CLI_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

struct progress {
    char title[120];
    uint64_t since_us;
    bool shown;
};

/* Draws the line, or draws it again with the seconds since it said something else; a NULL title
 * removes it. */
void progress_show(struct progress *progress, const char *title);

/* What a stage before the program's own does, for the title; NULL: it takes no time. */
const char *progress_doing(const char *stage);

#endif
