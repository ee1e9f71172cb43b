/* Limits of the caller's shell, which a program of a cold run inherits. */
#ifndef MONITOR_OWN_LIMITS_H
#define MONITOR_OWN_LIMITS_H

#include "model/result.h"

/* Where the program failed, and not by a limit of ours, adds those that are lower than ours to the
 * explanation. */
void own_limits_explain(sbr_result *result);

#endif
