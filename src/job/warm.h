/* Runs in sandboxes that an engine (`sandbox-run serve`) has made ahead.
 *
 * A stage that can be run so is asked for (warm_ask) and goes on when the answer is there; the job's loop does not wait.
 * Whatever goes wrong before the program runs, the stage is started as if there were no engine: a job never fails for
 * the lack of one, except when the engine itself refuses it because it has too much to do. */
#ifndef JOB_WARM_H
#define JOB_WARM_H

#include "base/loop.h"
#include "plan/planner.h"
#include "sandbox/sandbox.h"
#include "wire/engine.h"

#define WARM_COLD_ENV "SANDBOX_RUN_COLD" /* set: as --cold */
#define WARM_MAX_FILES 36                /* of a compiled program, by descriptor */

struct sbr_runtime;
struct sbr_job;
struct engine_connections;

enum warm_state {
    WARM_IDLE,
    WARM_ASKED,   /* an answer will come        */
    WARM_GRANTED, /* its descriptors are held   */
    WARM_HOLDS    /* a place: the end is awaited */
};

/* Of a job. */
struct warm {
    bool off; /* the job never asks */
    int fd;   /* to the engine; -1: none */
    struct loop_watch watch;
    bool used_before; /* it waited in the pool: the engine may have gone since */
    bool queued;
    enum warm_state state;
    char sent_key
        [SHA256_HEX_SIZE]; /* whose template the engine was last given over this connection */
    struct engine_request request;
    struct buf template; /* what the key is of */
    struct engine_reply reply;
    int given[SANDBOX_MAX_GIVEN];
    size_t n_given;
    int files[WARM_MAX_FILES];
    size_t n_files;
    uint64_t asked_us, queue_us;
    /* Told when the answer is there: warm_enter is next. */
    void (*answered)(struct sbr_job *job);
};

void warm_init(struct warm *warm, bool off);
/* Looks whether an engine is there, once; `off` says when none is. */
void warm_find(struct sbr_job *job);
/* 1: asked; 0: the stage is started as usual.  The job's plan is the stage's, made of `in`. */
int warm_ask(struct sbr_job *job, const struct plan_input *in);
/* After the answer.  1: the program is on its way in the stage's sandbox; 0: start it as usual; negative: refused. */
int warm_enter(struct sbr_job *job, sbr_error *err) must_check;
/* How the stage was started, as the result says it. */
const char *warm_startup(const struct sbr_job *job);
/* The sandbox ended without a word of how the program ended: says why. */
int warm_failure(const struct sbr_job *job, sbr_error *err);
/* The stage's sandbox is gone, or it is not wanted any more. */
void warm_release(struct sbr_job *job);
/* The job is over. */
void warm_done(struct sbr_job *job);

/* The template of a request that wants nothing in particular; `language` NULL: of a command.  The caller frees it.
 * SBR_E_UNSUPPORTED: such a request has none, or not yet. */
int warm_blueprint_for(const struct sbr_runtime *rt, const char *language, struct plan **ret,
                       char key[SHA256_HEX_SIZE], sbr_error *err) must_check;

/* Connections that wait for the next job of a runtime, and keys of templates.  Every function takes NULL: no pool. */
struct engine_connections *engine_connections_new(void);
void engine_connections_free(struct engine_connections *pool);
/* False when there is none to take. */
bool engine_connections_take(struct engine_connections *pool, struct warm *warm);
/* Takes the connection over, or closes it. */
void engine_connections_give(struct engine_connections *pool, struct warm *warm);
void engine_connections_key(struct engine_connections *pool, const struct plan *template,
                            const struct buf *encoded, char key[SHA256_HEX_SIZE]);

/* Opens the files below the directory and adds an operation for each to the plan.  Number of descriptors, or -1 when
 * they are too many or not only files. */
int warm_files_open(struct plan *plan, const char *dir, int fds[WARM_MAX_FILES]);

#endif
