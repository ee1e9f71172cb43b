/* What a stage is planned with: limits, configuration, policy, layers, trees. */
#ifndef JOB_STAGE_PLAN_H
#define JOB_STAGE_PLAN_H

#include "job/job_types.h"

/* Where the tools' own configuration is on the host; NULL: what they read is in an image. */
const char *stage_plan_home(const sbr_job *job);
/* The limits of a stage of the language's file: presets, which are lowered to what the machine has.
 * Those for compilers are the request's where it gives them. */
int stage_plan_limits(const sbr_request *req, const struct stage_def *def, enum stage stage,
                      struct limits *ret, sbr_error *err) must_check;
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
