/* What init reports of its setup in the page that it shares with the supervisor
 * (wire/control.h). */
#ifndef MONITOR_INIT_OUTCOME_H
#define MONITOR_INIT_OUTCOME_H

#include "model/result.h"
#include "wire/control.h"

/* Adds what this machine did not let init set up as planned. */
void init_outcome_missing(const struct init_report *report, struct isolation *ret);

/* Logs how long its steps took. */
void init_outcome_steps(const struct init_report *report);

#endif
