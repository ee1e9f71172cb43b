/* What a client of the library wants of a job's streams and events: set between sbr_job_start and
 * the first dispatch, used inside dispatch.  api_job.c, api_job_streams.c and api_job_events.c
 * share it. */
#ifndef LIB_JOB_CLIENT_H
#define LIB_JOB_CLIENT_H

#include "job/job.h"

struct job_client {
    bool begun;                /* the first dispatch was */
    char id[ENCODING_ID_SIZE]; /* of the result; empty: any */
    int audit_fd;              /* where the run goes on record; -1: nowhere, or it is there */
    sbr_output_fn *on_output;
    void *output_context;
    sbr_event_fn *on_event;
    void *event_context;
    const char *stage; /* the last that began; NULL: none yet */
    uint64_t metrics_every_us;
    struct forward out, err; /* streams that are passed on; fd -1: they are not */
    bool guards_pipe;        /* a reader that leaves must not end the calling process */
    bool held;               /* no output is wanted now */
    struct stdin_feed feed;
    bool feeds;              /* the feed was opened */
    struct loop_watch watch; /* of an fd of the client's own; see runner_watch */
    void (*readable)(void *context);
    void *readable_context;
};

/* True until the first dispatch, the time for settings. */
bool job_client_is_new(const sbr_job *job);
/* Before the first stage: what the settings come to. */
void job_client_begin(sbr_job *job);
/* After each turn of the loop. */
void job_client_turned(sbr_job *job);
/* After the end: the error when output was lost on its way. */
int job_client_check(const sbr_job *job, sbr_error *err) must_check;
void job_client_free(struct job_client *client);

/* Reports an event, whose type and values are filled, if the client wants any. */
void job_client_report(const sbr_job *job, sbr_event *event);
/* The monitor of the program's own stage, whose streams are there; NULL: not yet, or no more. */
struct monitor *job_client_running(sbr_job *job);
/* Lets the program's streams wait, or go on, as the client wants. */
void job_client_apply_hold(sbr_job *job);
/* What the running stage uses now. */
void job_client_metrics(const sbr_job *job, sbr_metrics *ret);

#endif
