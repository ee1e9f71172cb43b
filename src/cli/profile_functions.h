/* profile --functions: one more run, under the language's sampling profiler. */
#ifndef CLI_PROFILE_FUNCTIONS_H
#define CLI_PROFILE_FUNCTIONS_H

#include "base/save.h"
#include "sandboxrun.h"
#include "work/functions.h"

/* Runs the program of the request once more.  `stacks` gets the samples, for tools that draw
 * flame graphs; may be NULL. */
int profile_functions_run(sbr_runtime *rt, const sbr_request *req, struct save_file *stacks,
                          struct functions *ret, sbr_error *err) must_check;
void profile_functions_print(const struct functions *f);

#endif
