/* What init tells the supervisor. */
#ifndef INIT_REPORT_H
#define INIT_REPORT_H

#include "sandbox/confiner.h"
#include "sandbox/protocol.h"

/* A supervisor that is gone needs no report. */
void report_send(int control_fd, const struct init_event *event);

/* Resources of all that was reaped, and how full the scratch space is. */
void report_fill(struct init_event *event, const struct inside *in);

#endif
