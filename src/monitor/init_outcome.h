/* What init says of its set-up, in the page that it shares with the supervisor (wire/control.h). */
#ifndef MONITOR_INIT_OUTCOME_H
#define MONITOR_INIT_OUTCOME_H

#include "model/result.h"
#include "wire/control.h"

/* What this machine did not let init set up as the plan has it. */
void init_outcome_missing(const struct init_report *report, struct isolation *ret);

/* How long its steps took, into the log. */
void init_outcome_steps(const struct init_report *report);

#endif
