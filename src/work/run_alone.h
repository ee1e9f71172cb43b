/* One run that its caller can stop. */
#ifndef WORK_RUN_ALONE_H
#define WORK_RUN_ALONE_H

#include "base/err.h"

/* As sbr_run; the run is cancelled once `stop_fd` is readable; 0: there is none. */
int run_alone(sbr_runtime *rt, const sbr_request *req, int stop_fd, sbr_result **ret,
              sbr_error *err) must_check;
/* The stage that failed, or the program itself. */
const sbr_result *run_alone_failed_part(const sbr_result *result);

#endif
