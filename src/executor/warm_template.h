/* What an engine is told of a stage that it may have a sandbox for. */
#ifndef EXECUTOR_WARM_TEMPLATE_H
#define EXECUTOR_WARM_TEMPLATE_H

#include "executor/executor.h"

/* Fills key and template of the job's request to the engine, and opens the files of a compiled program.  NULL, or why
 * the stage has none. */
const char *warm_template_make(sbr_job *job, const struct plan_input *in);

#endif
