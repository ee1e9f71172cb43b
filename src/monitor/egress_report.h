/* Puts what sandbox-run-egress counted and refused into the result. */
#ifndef MONITOR_EGRESS_REPORT_H
#define MONITOR_EGRESS_REPORT_H

#include "model/result.h"
#include "sandbox/egress_process.h"

/* Call once egress has ended; does nothing when there was none. */
void egress_report_read(const struct egress *egress, sbr_result *result);
/* CPU time that egress has used until a moment ago. */
uint64_t egress_report_cpu_us(const struct egress *egress);
/* The reason why egress ended before the program. */
int egress_report_failure(const struct egress *egress, sbr_error *err);

#endif
