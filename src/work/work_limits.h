/* What builds and tests may use. */
#ifndef WORK_WORK_LIMITS_H
#define WORK_WORK_LIMITS_H

#include "model/request.h"

/* Sets the limits that the request does not give: compilers and suites take more than programs. */
int work_limits_set(sbr_request *req, sbr_error *err) must_check;

#endif
