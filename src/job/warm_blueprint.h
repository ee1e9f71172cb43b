/* What the engine is sent about a stage that it may have a sandbox for. */
#ifndef JOB_WARM_BLUEPRINT_H
#define JOB_WARM_BLUEPRINT_H

#include "job/job_types.h"

/* Fills key and blueprint of the job's request to the engine, and opens the files of a compiled
 * program.  NULL, or why the stage has none. */
const char *warm_blueprint_make(sbr_job *job, const struct plan_input *in);
/* The blueprint of a plan and its bytes, which replace those in `out`. */
int warm_blueprint_encode(struct buf *out, const struct plan *plan, const struct plan_input *in,
                          struct plan **ret, sbr_error *err) must_check;

/* Stages whose result is made once and kept are not worth a pool of their own. */
bool warm_stage_is_frequent(enum stage stage);
/* Of a file or directory, links followed; 0: there is none. */
uint64_t warm_source_identity(const char *path);

#endif
