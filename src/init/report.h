/* What init tells the supervisor. */
#ifndef INIT_REPORT_H
#define INIT_REPORT_H

#include "sandbox/confiner.h"
#include "sandbox/protocol.h"

/* A supervisor that is gone needs no report. */
void report_send(int control_fd, const struct init_event *event);

/* Resources of all that was reaped, and how full the scratch space is. */
void report_fill(struct init_event *event, const struct inside *in);

/* Takes away what init itself had read and written before the program started, and its reports. */
void report_subtract(struct init_event *event, const struct init_event *before);

#endif
