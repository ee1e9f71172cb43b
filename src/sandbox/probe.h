/* Asks each mechanism what this machine offers.  Changes nothing. */
#ifndef SANDBOX_PROBE_H
#define SANDBOX_PROBE_H

#include "plan/features.h"

void probe_features(struct features *features);

/* Starts a process to find out what no file says.  Not for a run, which finds out by itself. */
void probe_by_trial(struct features *features);

#endif
