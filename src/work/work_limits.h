/* What builds and tests may use. */
#ifndef WORK_WORK_LIMITS_H
#define WORK_WORK_LIMITS_H

#include "model/request.h"

/* Sets the limits that are not given: compilers and suites take more than programs. */
int work_limits_set(struct limits *limits, sbr_error *err) must_check;

#endif
