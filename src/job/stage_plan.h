/* What a stage is planned with: limits, configuration, policy, layers, trees. */
#ifndef JOB_STAGE_PLAN_H
#define JOB_STAGE_PLAN_H

#include "job/job_types.h"

/* Where the tools' own configuration is on the host; NULL: what they read is in an image. */
const char *stage_plan_home(const sbr_job *job);
/* Limits and configuration of the current stage, into job->now. */
int stage_plan_set_up(sbr_job *job, sbr_error *err) must_check;

struct stage_input {
    struct plan_input in;
    char run_dir[REQUEST_MAX_PATH];
    char workdir[REQUEST_MAX_PATH + 1];
};
/* What the plan of one stage is made of, for this machine or one with other features.  It borrows
 * from the job. */
int stage_plan_input(sbr_job *job, enum stage stage, const struct features *features,
                     struct stage_input *ret, sbr_error *err) must_check;

#endif
