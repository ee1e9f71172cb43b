/* Which stages a job needs, and one stage from its plan to what it leaves. */
#ifndef JOB_STAGES_H
#define JOB_STAGES_H

#include "job/job.h"
#include "toolchain/client_config.h"

/* The slot of the loop that the monitor leaves free: whoever waits for something before the stage runs. */
#define TIMER_RETRY 5

/* Once the language is resolved: keys of layers, what the store has already, and so what is left to do. */
int job_decide(sbr_job *job, sbr_error *err) must_check;

/* The stage that makes a layer. */
enum stage stages_layer_maker(enum layer layer);
/* 1: the store has it, and the job's layer is filled; 0: it has to be made. */
int stages_find_layer(sbr_job *job, enum layer layer, sbr_error *err) must_check;

#define STAGE_ASKED 2
/* Starts the next one.  1: it runs; 0: somebody else makes the same layer, try again; STAGE_ASKED: an engine was asked,
 * and stages_resume is next; negative: error.  Stages whose layer has turned up meanwhile are passed over. */
int stages_next(sbr_job *job, sbr_error *err) must_check;
/* The engine has answered. */
int stages_resume(sbr_job *job, sbr_error *err) must_check;

/* The monitor of the stage is over: keeps what it left.  *ret is the stage's result.  1: a sandbox of an engine's ended
 * before the program ran, so that the stage can be started once more. */
int stages_end(sbr_job *job, sbr_result **ret, sbr_error *err) must_check;

/* Ends what runs and frees what the stage holds. */
void stages_drop(sbr_job *job);

/* Resolves the language and its tools for a request.  Nothing when it is a command. */
int job_resolve(sbr_job *job, sbr_error *err) must_check;

struct stage_input {
    struct plan_input in;
    char place[REQUEST_MAX_PATH];
};
/* What the plan of one stage is made of, for this machine or one with other features.  It borrows from the job. */
int stages_input(sbr_job *job, enum stage stage, const struct features *features,
                 struct stage_input *ret, sbr_error *err) must_check;
/* The plan itself. */
int stages_plan(sbr_job *job, enum stage stage, const struct features *features, struct plan **ret,
                sbr_error *err) must_check;

/* Reads what a failed program or compiler said; fills result->diagnosis where a rule knows it. */
void job_diagnose(const sbr_job *job, sbr_result *result);

/* Layers by content: what they are made from, as text of their key. */
void layer_key_prepared(sbr_job *job);
/* 1; 0: the job has no dependencies; negative: error.  Reads the configuration of the installer, which is a part of it. */
int layer_key_dependencies(sbr_job *job, sbr_error *err) must_check;
void layer_key_artifact(sbr_job *job);

#endif
