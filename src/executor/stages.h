/* Which stages a job needs, and one stage from its plan to what it leaves. */
#ifndef EXECUTOR_STAGES_H
#define EXECUTOR_STAGES_H

#include "executor/executor.h"

/* Once the language is resolved: keys of layers, what the store has already, and so what is left to do. */
int stages_decide(sbr_job *job, sbr_error *err) must_check;

/* The stage that makes a layer. */
enum stage layer_maker(enum layer layer);
/* 1: the store has it, and the job's layer is filled; 0: it has to be made. */
int layer_find(sbr_job *job, enum layer layer, sbr_error *err) must_check;

/* Starts the next one.  1: it runs; 0: somebody else makes the same layer, try again; negative: error.  Stages whose
 * layer has turned up meanwhile are passed over. */
int stages_next(sbr_job *job, sbr_error *err) must_check;

/* The monitor of the stage is over: keeps what it left.  *ret is the stage's result. */
int stages_end(sbr_job *job, sbr_result **ret, sbr_error *err) must_check;

/* Ends what runs and frees what the stage holds. */
void stages_drop(struct stage_run *now);

/* Resolves the language and its tools for a request.  Nothing when it is a command. */
int stages_resolve(sbr_job *job, sbr_error *err) must_check;

/* The plan of one stage, for this machine or one with other features. */
int stages_plan(sbr_job *job, enum stage stage, const struct features *features, struct plan **ret,
                sbr_error *err) must_check;

/* Reads what a failed program or compiler said; fills result->diagnosis where a rule knows it. */
void job_diagnose(const sbr_job *job, sbr_result *result);

/* Layers by content: what they are made from, as text of their key. */
void key_prepared(sbr_job *job);
/* False when the job has no dependencies. */
bool key_dependencies(sbr_job *job);
void key_artifact(sbr_job *job);

/* What configures the clients of a stage with a network, and which hosts that opens; `home` is the toolchain's, or "". */
int config_gather(const struct stage_def *def, const char *home, struct stage_config *ret,
                  struct words *needs, sbr_error *err) must_check;
void config_done(struct stage_config *config);
/* Paths of the host that match the patterns; the caller frees with words_done. */
int needs_expand(const struct words *patterns, struct words *ret, sbr_error *err) must_check;
void words_done(struct words *words);

#endif
