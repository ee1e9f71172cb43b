/* Asks each mechanism what this machine offers.  Changes nothing. */
#ifndef SANDBOX_PROBE_H
#define SANDBOX_PROBE_H

#include "plan/features.h"

void probe_features(struct features *features);

#endif
