/* What sandbox-run-egress counted and refused goes into the result. */
#ifndef MONITOR_EGRESS_REPORT_H
#define MONITOR_EGRESS_REPORT_H

#include "model/result.h"
#include "sandbox/egress_process.h"

/* Once it has ended; nothing when there was none. */
void egress_report_read(const struct egress *egress, sbr_result *result);
/* Processor time that it took until now, or until a moment ago. */
uint64_t egress_report_cpu_us(const struct egress *egress);
/* Why it ended before the program did. */
int egress_report_failure(const struct egress *egress, sbr_error *err);

#endif
