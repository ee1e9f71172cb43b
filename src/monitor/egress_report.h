/* Puts what sandbox-run-egress counted and refused into the result. */
#ifndef MONITOR_EGRESS_REPORT_H
#define MONITOR_EGRESS_REPORT_H

#include "model/result.h"
#include "sandbox/egress_process.h"

/* Call once egress has ended; does nothing when there was none. */
void egress_report_read(const struct egress *egress, sbr_result *result);
/* While it runs: adds what was refused since the call that returned `from`, at first 0. */
uint32_t egress_report_refusals(const struct egress *egress, uint32_t from, struct denials *to);
/* Whether the rule was allowed while the program ran. */
bool egress_report_granted(const struct egress *egress, const char *rule);
/* The same of what connections wait for. */
uint32_t egress_report_asked(const struct egress *egress, uint32_t from, struct denials *to);
/* While it runs: how often each of its refusals came, in their order; returns how many more there
 * were than have a place. */
uint64_t egress_report_count(const struct egress *egress, uint64_t counts[DENIALS_MAX]);
/* Adds what was refused since those were the counts. */
void egress_report_since(const struct egress *egress, const uint64_t counts[DENIALS_MAX],
                         struct denials *to);
/* CPU time that egress has used until a moment ago. */
uint64_t egress_report_cpu_us(const struct egress *egress);
/* The reason why egress ended before the program. */
int egress_report_failure(const struct egress *egress, sbr_error *err);

#endif
