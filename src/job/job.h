/* One job: the stages that its program needs, one after the other, each in a sandbox of its own.
 *
 *   prepare       once for each toolchain: what a language wants ready        -> a layer of the store
 *   dependencies  packages, with a network                                    -> a layer of the store
 *   compile       or a check in its place                                     -> an artifact of the store
 *   run           the program
 *
 * What the store has is not made again.  A stage that fails ends the job. */
#ifndef JOB_JOB_H
#define JOB_JOB_H

#include "job/warm.h"
#include "model/request.h"
#include "monitor/monitor.h"
#include "plan/features.h"
#include "plan/planner.h"
#include "store/store.h"
#include "toolchain/client_config.h"
#include "toolchain/toolchain.h"

struct job_trees;
struct diff_options;

struct sbr_runtime {
    struct features features;
    bool cold;                       /* no engine is asked, as in the engine itself */
    struct engine_connections *pool; /* NULL: connections to an engine are not kept */
};

/* What one stage holds while it runs. */
struct stage_run {
    enum stage stage;
    struct limits limits;
    struct plan *plan;
    struct sandbox box;
    struct monitor monitor;
    bool watching;       /* monitor_start was called */
    bool asked;          /* an engine has answered for this stage, or there is none */
    bool has_trees;      /* job_trees_prepare was called, and what it made is still good */
    uint64_t started_us; /* when the stage began */
    struct stage_config config;
    struct words needs;
    struct collect_reader collect_reader;
    struct collect_part part; /* of a stage that makes a layer */
    bool collecting;          /* the intake is ours to end */
    struct store_staging staging;
    bool staged;
    int lock_fd; /* nobody else makes the same layer; -1: not held */
};

/* The request must outlive the job; so must the runtime. */
struct sbr_job {
    const sbr_runtime *rt;
    const sbr_request *req;
    struct monitor_options options; /* of the program's own stage */
    struct loop loop;
    int cancel_fd; /* eventfd: cancelled from another thread */
    bool cancelled;

    const struct language *language; /* NULL: a command */
    struct toolchain toolchain;
    char keys[N_LAYERS][SHA256_HEX_SIZE]; /* empty: the job does not use that layer */
    struct store_entry layers[N_LAYERS];  /* path empty: not made yet */
    enum stage todo[N_STAGES];
    size_t n_todo, at;
    bool cached;
    struct job_trees *trees;      /* NULL: none; see job/job_trees.h */
    bool decided;                 /* which stages there are */
    char place[REQUEST_MAX_PATH]; /* of the last stage without a private root; empty otherwise */

    struct warm warm;           /* the engine, if there is one */
    struct installer installer; /* until the stage has it */
    struct stage_run now;
    sbr_result *done[RESULT_MAX_STAGES];
    size_t n_done;
    sbr_result *result; /* once it is over */
    sbr_error failure;  /* code 0: none    */
    /* Told when a stage begins; for progress.  May be NULL. */
    void (*on_stage)(void *context, enum stage stage);
    void *on_stage_context;
    /* Told now and then while a tree is copied, with the same context; may cancel the job.  May be NULL. */
    void (*on_copy)(void *context, uint64_t files, uint64_t bytes);
    /* Told how many are before this one while it waits for the engine, with the same context.  May be NULL. */
    void (*on_queue)(void *context, unsigned int position);
    /* All that the program leaves at /work goes here, in place of changes and outputs.  May be NULL. */
    struct collect_part *work_part;
    const struct diff_options *render; /* how the changes are told to people; NULL: they are not */
};

/* Request and machine to the plan of the program's own stage; nothing is started.  The caller frees the plan. */
int job_plan(const sbr_runtime *rt, const sbr_request *req, struct plan **ret, sbr_error *err)
    must_check;

/* `options` may be NULL: output is kept, stdin is what the request holds.  Its loop is the job's. */
int job_new(const sbr_runtime *rt, const sbr_request *req, const struct monitor_options *options,
            sbr_job **ret, sbr_error *err) must_check;
/* Begins with the first stage. */
int job_begin(sbr_job *job, sbr_error *err) must_check;
/* The same with a language and tools that were found already: only its run stage. */
int job_begin_with(sbr_job *job, const struct language *language, const struct toolchain *toolchain,
                   sbr_error *err) must_check;
/* Both at once. */
int job_start(const sbr_runtime *rt, const sbr_request *req, const struct monitor_options *options,
              sbr_job **ret, sbr_error *err) must_check;
/* Handles what is ready.  1: the job is over; 0: more to come; negative: the loop is broken. */
int job_turn(sbr_job *job, bool wait, sbr_error *err) must_check;
/* From any thread, and more than once: the second time ends the stage at once. */
void job_cancel(sbr_job *job);
/* The caller owns the result; or the reason why there is none. */
int job_take_result(sbr_job *job, sbr_result **ret, sbr_error *err) must_check;
/* Turns until the end. */
int job_finish(sbr_job *job, sbr_result **ret, sbr_error *err) must_check;
void job_free(sbr_job *job);
/* The same for a process that ends right after: what the kernel frees by itself is left to it. */
void job_leave(sbr_job *job);

/* Runs the language's own test.  1: it passes; 0: it does not; negative: it could not be run.  `why` says so. */
int selftest_run(const sbr_runtime *rt, const struct language *language, const char *version,
                 char *why, size_t size);
/* Lets the tool print its version, in a sandbox, and fills toolchain->version.  0 or negative. */
int selftest_ask_version(const sbr_runtime *rt, const struct language *language,
                         struct toolchain *toolchain);

/* The language's real interpreter on this machine, or NULL; valid until the next call of this thread. */
const char *job_locate(const struct language *language);

#endif
