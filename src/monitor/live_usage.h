/* What everything inside uses at this moment, and has used so far. */
#ifndef MONITOR_LIVE_USAGE_H
#define MONITOR_LIVE_USAGE_H

#include "monitor/monitor.h"

/* Fills all but `struct_size`, `stage` and `wall_us`.  Counters come from the cgroups; where there
 * is none, from the last sample of init.  `known` has what either could give. */
void live_usage_read(const struct monitor *m, sbr_metrics *ret);

#endif
