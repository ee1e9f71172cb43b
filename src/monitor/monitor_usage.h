/* What a run used, from cgroups, init's report and the egress process. */
#ifndef MONITOR_MONITOR_USAGE_H
#define MONITOR_MONITOR_USAGE_H

#include "monitor/monitor.h"

/* CPU time of the cgroup from the program's start: a sandbox made ahead used some before. */
uint64_t monitor_usage_cpu_us(const struct sandbox *box);
/* Fills the result, and what the cgroups refused into m->seen. */
void monitor_usage_fill(struct monitor *m, sbr_result *result);

#endif
