/* One more run of a program, under its language's sampling profiler. */
#ifndef WORK_FUNCTION_SAMPLES_H
#define WORK_FUNCTION_SAMPLES_H

#include "base/err.h"
#include "sandboxrun.h"

/* The samples that the program left, as functions_read takes them; the caller frees them.  The run
 * ends when `stop_fd` is readable; 0: nothing stops it. */
int function_samples_take(sbr_runtime *rt, const sbr_request *req, int stop_fd, char **ret,
                          size_t *ret_len, sbr_error *err) must_check;

#endif
