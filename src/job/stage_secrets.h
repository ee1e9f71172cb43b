/* The secrets of one stage: those of the request for the program, those of the clients'
 * configuration for an installer. */
#ifndef JOB_STAGE_SECRETS_H
#define JOB_STAGE_SECRETS_H

#include "job/job_types.h"

/* Once the helper is started, with their placeholders and without their values. */
const struct secrets *stage_secrets_of(const sbr_job *job, enum stage stage);
/* Draws placeholders and starts the helper, for a stage with secrets. */
int stage_secrets_start(sbr_job *job, sbr_error *err) must_check;

#endif
