/* What an engine is told of a stage that it may have a sandbox for. */
#ifndef JOB_WARM_BLUEPRINT_H
#define JOB_WARM_BLUEPRINT_H

#include "job/job.h"

/* Fills key and template of the job's request to the engine, and opens the files of a compiled program.  NULL, or why
 * the stage has none. */
const char *warm_blueprint_make(sbr_job *job, const struct plan_input *in);

/* Those that are made once and kept are not worth a place of their own. */
bool warm_stage_is_frequent(enum stage stage);
/* Of a file or directory, links followed; 0: there is none. */
uint64_t warm_source_identity(const char *path);

#endif
