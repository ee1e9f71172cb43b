/* The steps of a job.  job_table.c says which one follows which; no step calls another one. */
#ifndef JOB_JOB_STEPS_H
#define JOB_JOB_STEPS_H

#include "job/job_types.h"
#include "model/request.h"

enum job_event {
    /* From outside. */
    EV_GO,       /* begin, or try again          */
    EV_CANCEL,   /* the caller wants it to end   */
    EV_ANSWERED, /* the engine has answered      */
    EV_OVER,     /* the monitor of the stage is done */
    /* What a step came to. */
    EV_BUSY,         /* another process has what the job needs     */
    EV_NEXT,         /* the next stage can begin                   */
    EV_NONE_LEFT,    /* there is no further stage                  */
    EV_ASKED,        /* an engine may have a sandbox for the stage */
    EV_STARTED,      /* the sandbox of the stage is being set up   */
    EV_ENDED,        /* the program has a result                   */
    EV_STAGE_FAILED, /* a stage before the program's own has failed */
    EV_ERROR,        /* *err says why                              */
    N_JOB_EVENTS,
    EV_NOTHING = N_JOB_EVENTS /* the loop brings the next event */
};

typedef enum job_event job_step(sbr_job *job, enum job_event event, sbr_error *err);

/* Moves the job on by an event from outside, as far as it goes without waiting. */
void job_table_handle(sbr_job *job, enum job_event event);

/* RESOLVING: takes the workspace, finds out which stages there are. */
job_step job_decide_stages;
/* STARTING: the next stage, as far as its sandbox or a question to the engine. */
job_step stage_start_next;
/* STARTING: the engine's answer. */
job_step stage_start_answered;
/* RUNNING: lets the monitor watch the sandbox. */
job_step stage_start_watch;
/* COLLECTING: keeps what the stage left, and its result. */
job_step stage_end_collect;
/* DONE: the result of the job, or its failure, by the event that ended it. */
job_step job_outcome_end;

/* Ends what runs and frees what the stage holds. */
void stage_run_drop(sbr_job *job);

/* For a job that installs nothing: what its image brings for the language, if that is anything. */
void job_decide_packages(sbr_job *job);
/* Once they are found: keys of layers, what the store has already, and so what is left to do. */
int job_decide(sbr_job *job, sbr_error *err) must_check;
/* Starts the table with `event`; the failure, if that is all there is. */
int job_run_begin(sbr_job *job, enum job_event event, sbr_error *err) must_check;
/* Reads what a failed program or compiler wrote; fills result->diagnosis where a rule knows it. */
void job_diagnose(const sbr_job *job, sbr_result *result);
/* Modules that deserve a look, by the names in its source. */
void job_find_uses(const sbr_job *job, sbr_result *result);

/* The whole output of a program, kept in the state directory when the request wants it. */

/* One line that says what the job runs, for lists. */
void job_output_describe(const sbr_job *job, char *about, size_t size);

/* Before the program starts: lets the monitor write both streams to a kept output.  Where that
 * fails, the program runs all the same, and job_output_end reports it. */
void job_output_begin(sbr_job *job, struct monitor_options *options);
/* `result` is NULL when there is none. */
void job_output_end(sbr_job *job, sbr_result *result);

/* The secrets of one stage: those of the request for the program, those of the clients'
 * configuration for an installer. */

/* Once the helper is started, with their placeholders and without their values. */
const struct secrets *stage_secrets_of(const sbr_job *job, enum stage stage);
/* Draws placeholders and starts the helper, for a stage with secrets. */
int stage_secrets_start(sbr_job *job, sbr_error *err) must_check;

/* What a request names and does not hold yet: its language, its policy, its template. */

/* Adds the language of its own file, makes the program of its template, and knows its names.
 * 0 or SBR_E_*. */
int request_complete(sbr_request *req, sbr_error *err) must_check;
/* `sets` are NAME=VALUE.  A name with a slash is a file. */
int request_complete_template(sbr_request *req, const char *name, const char *const *sets, size_t n,
                              sbr_error *err) must_check;

#endif
