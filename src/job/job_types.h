/* One job and the stage that it is in: what the files of this folder share. */
#ifndef JOB_JOB_TYPES_H
#define JOB_JOB_TYPES_H

#include "base/clock.h"
#include "changes/kept_output.h"
#include "job/warm.h"
#include "model/request.h"
#include "monitor/monitor.h"
#include "plan/features.h"
#include "plan/planner.h"
#include "sandbox/secrets_process.h"
#include "store/store.h"
#include "toolchain/allowed_commands.h"
#include "toolchain/client_config.h"
#include "toolchain/toolchain.h"

/* Slots of the loop that the monitor leaves free: for waiting before a stage runs, and for the
 * metrics that the client wants now and then. */
#define TIMER_RETRY 5
#define TIMER_METRICS 7
#define TIMER_EVENTS 8

struct diff_options;
struct image;
struct job_client;
struct job_trees;

struct sbr_runtime {
    struct features features;
    bool cold;                       /* no job asks an engine, as in the engine itself */
    bool once;                       /* the process ends after its one job             */
    struct engine_connections *pool; /* NULL: connections to an engine are not kept    */
};

/* See the table in job_table.c. */
enum job_state {
    JOB_RESOLVING,      /* the workspace is not ours yet, or the stages are not known */
    JOB_WAITING_LAYER,  /* another process makes the layer of the next stage         */
    JOB_WAITING_ENGINE, /* the engine was asked for a sandbox                        */
    JOB_STARTING,
    JOB_RUNNING,
    JOB_COLLECTING, /* the monitor is done: results and trees of the stage are kept */
    JOB_DONE,       /* there is a result, or a failure */
    N_JOB_STATES
};

/* What one stage holds while it runs. */
struct stage_run {
    enum stage stage;
    enum layer layer; /* that the stage makes; N_LAYERS: none */
    struct limits limits;
    struct plan *plan;
    struct sandbox box;
    struct monitor monitor;
    bool watching;       /* monitor_start was called */
    bool lingers;        /* its result is taken: what it holds may wait for job_free */
    bool asked;          /* an engine has answered for this stage, or there is none */
    bool has_trees;      /* job_trees_prepare was called, and what it made is still good */
    uint64_t started_us; /* when the stage began */
    uint64_t paused_us;  /* of the job, until then */
    const char *startup; /* of an engine's sandbox, as the result says it; NULL: cold */
    struct stage_config config;
    struct words needs;
    struct secrets secrets; /* of the stage; values are wiped once the helper has them */
    struct secrets_process helper;
    struct collect_reader collect_reader;
    struct collect_part part; /* of a stage that makes a layer */
    bool collecting;          /* collect_reader is to be freed */
    struct store_staging staging;
    bool staged;
    int lock_fd; /* held while the layer is made; -1: not held */
};

/* The request must outlive the job; so must the runtime. */
struct sbr_job {
    enum job_state state;
    const sbr_runtime *rt;
    const sbr_request *req;
    struct monitor_options options; /* of the program's own stage */
    uint64_t started_us;            /* when the request came */
    uint64_t started_at_us;         /* the same, since 1970 */
    uint64_t paused_us;             /* how long it has stood still, but for a pause that lasts */
    uint64_t paused_since_us;       /* 0: it goes on */
    bool notices_changes;           /* see runner_notice_changes */
    bool skips_version;             /* the result need not name the tool's version */
    struct loop loop;
    struct loop_watch cancel_watch;
    int cancel_fd; /* eventfd: cancelled from another thread */
    bool cancelled;
    bool begins_later; /* the first turn begins the first stage */

    const struct language *language; /* NULL: a command */
    struct language tools;           /* what `language` is for a command with tools */
    struct toolchain toolchain;
    struct allowed_commands commands;     /* the only ones inside; none: all of /usr */
    char keys[N_LAYERS][SHA256_HEX_SIZE]; /* empty: the job does not use that layer */
    struct store_entry layers[N_LAYERS];  /* path empty: not made yet */
    int held[N_LAYERS]; /* fd + 1 that keeps a layer from being cleaned away; 0: none */
    enum stage todo[N_STAGES];
    size_t n_todo, at;
    bool cached;
    char *compile_output;    /* of the compiler that made the program, now or earlier; NULL: none */
    bool owes_prepared;      /* the language's prepare stage was left out, and no process does it */
    struct image *image;     /* NULL: the program sees the host's /usr */
    struct job_trees *trees; /* NULL: none; see job/job_trees.h */
    char run_dir[REQUEST_MAX_PATH]; /* of the last stage without a private root; empty otherwise */

    struct kept_writer kept;            /* of the program's output; without an id: not kept */
    sbr_error keep_failure;             /* why it is not; code 0: it did not fail */
    struct warm warm;                   /* the engine, if there is one */
    struct installer installer;         /* until the stage has it */
    struct publish_listeners listeners; /* of the published ports */
    struct stage_run now;
    sbr_result *done[RESULT_MAX_STAGES];
    size_t n_done;
    sbr_result *result; /* JOB_DONE: NULL when the job failed */
    sbr_error failure;  /* JOB_DONE without a result: why     */
    /* Called when a stage begins; for progress.  May be NULL. */
    void (*on_stage)(void *context, enum stage stage);
    void *on_stage_context;
    /* Called now and then while a tree is copied, with the same context; may cancel the job.  May
     * be NULL. */
    void (*on_copy)(void *context, uint64_t files, uint64_t bytes);
    /* Called while the loop does not turn because a container is made; may cancel the job.  May be
     * NULL. */
    void (*on_wait)(void *context);
    void *on_wait_context;
    /* Called with the number of jobs before this one while it waits for the engine, with the same
     * context.  May be NULL. */
    void (*on_queue)(void *context, unsigned int position);
    /* Called for each thing that was refused in a stage, with the same context.  May be NULL. */
    void (*on_denial)(void *context, const struct denial *one);
    /* Called for each published port, before any stage, with the same context.  May be NULL. */
    void (*on_port)(void *context, const struct publish_rule *rule);
    struct job_client *client; /* what lib/ keeps with the job; not the job's own */
    bool writes_own;           /* a tool of ours may write to our own directories */
    /* Gets all that the program leaves at /work, in place of changes and outputs.  May be NULL. */
    struct collect_part *work_part;
    const struct diff_options *render; /* how the changes become text; NULL: they do not */
};

/* How long the job has stood still. */
static inline uint64_t job_paused_us(const sbr_job *job)
{
    uint64_t since = job->paused_since_us;

    return job->paused_us + (since ? clock_now_us() - since : 0);
}

#endif
