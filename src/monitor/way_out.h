/* What sandbox-run-egress counted and refused goes into the result. */
#ifndef MONITOR_WAY_OUT_H
#define MONITOR_WAY_OUT_H

#include "job/result.h"
#include "sandbox/egress.h"

/* Once it has ended; nothing when there was none. */
void way_out_read(const struct egress *egress, sbr_result *result);
/* Why it ended before the program did. */
int way_out_failure(const struct egress *egress, sbr_error *err);

#endif
