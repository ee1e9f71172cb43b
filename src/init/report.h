/* What init tells the supervisor, in the page that they share. */
#ifndef INIT_REPORT_H
#define INIT_REPORT_H

#include "sandbox/confiner.h"
#include "sandbox/protocol.h"

/* Maps the page and closes its descriptor; NULL when that is impossible. */
struct init_report *report_open(void);

/* Remembers what init itself has read and written so far. */
void report_start(struct init_report *report, const struct inside *in);
/* Resources of all that was reaped, and how full the scratch space is. */
void report_end(struct init_report *report, const struct inside *in);

#endif
