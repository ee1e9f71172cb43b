/* The whole output of a program, kept in the state directory when the request wants it. */
#ifndef JOB_JOB_OUTPUT_H
#define JOB_JOB_OUTPUT_H

#include "job/job_types.h"

/* One line that says what the job runs, for lists. */
void job_output_describe(const sbr_job *job, char *about, size_t size);

/* Before the program starts: lets the monitor write both streams to a kept output.  Where that
 * fails, the program runs all the same, and job_output_end reports it. */
void job_output_begin(sbr_job *job, struct monitor_options *options);
/* `result` is NULL when there is none. */
void job_output_end(sbr_job *job, sbr_result *result);

#endif
