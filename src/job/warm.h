/* Runs in sandboxes that an engine (`sandbox-run serve`) has made ahead.
 *
 * The job asks for a sandbox for a stage (warm_ask) and goes on when the answer is there; its loop
 * does not block.  Whatever goes wrong before the program runs, the stage is started as if there
 * were no engine: a job never fails for the lack of one, except when the engine itself refuses it
 * because it has too much to do. */
#ifndef JOB_WARM_H
#define JOB_WARM_H

#include "base/loop.h"
#include "plan/planner.h"
#include "sandbox/sandbox.h"
#include "wire/engine.h"

#define WARM_MAX_FILES 36 /* of a compiled program, by fd */
#define WARM_NOTE_SIZE 200

struct sbr_job;
struct engine_connections;

enum warm_state {
    WARM_IDLE,
    WARM_ASKED,   /* an answer will come                         */
    WARM_GRANTED, /* the fds of the sandbox are in `given`        */
    WARM_HOLDS    /* a place: the engine waits for the stage's end */
};

/* Of a job. */
struct warm {
    bool off; /* the job never asks */
    int fd;   /* to the engine; -1: none */
    struct loop_watch watch;
    bool used_before; /* the connection was idle in the pool: the engine may have ended meanwhile */
    bool queued;
    bool lingers; /* after the program's own stage place and sandbox are kept until job_free */
    enum warm_state state;
    char sent_key[SHA256_HEX_SIZE]; /* of the last blueprint that was sent over this connection */
    struct engine_request request;
    struct buf blueprint; /* the blueprint that the key is of */
    struct engine_reply reply;
    int given[SANDBOX_MAX_GIVEN];
    size_t n_given;
    int files[WARM_MAX_FILES];
    size_t n_files;
    uint64_t asked_us, queue_us;
    char note[WARM_NOTE_SIZE]; /* why the engine is of no use, which its owner can mend; or empty */
    void (*answered)(struct sbr_job *job); /* the answer is there: warm_enter is next */
};

/* True: the engine will answer; false: the stage is started cold.  The job's plan is the stage's,
 * made of `in`. */
bool warm_ask(struct sbr_job *job, const struct plan_input *in);

enum warm_entry {
    WARM_ENTERED, /* the program is being set up in the stage's sandbox */
    WARM_COLD,    /* start the stage without the engine                 */
    WARM_REFUSED  /* *err says why                                      */
};
/* After the answer. */
enum warm_entry warm_enter(struct sbr_job *job, sbr_error *err) must_check;
/* The stage's sandbox is gone, or the stage does not want it any more. */
void warm_release(struct sbr_job *job);

/* Connections that are idle until the next job of a runtime, and keys of blueprints.  Every
 * function takes NULL: no pool. */
struct engine_connections *engine_connections_new(void);
void engine_connections_free(struct engine_connections *pool);
/* False when there is none to take. */
bool engine_connections_take(struct engine_connections *pool, struct warm *warm);
/* Connects the job to an engine, once, by the pool or anew; sets `off` when there is no engine. */
void engine_connections_find(struct engine_connections *pool, struct warm *warm);
/* Takes the connection over, or closes it. */
void engine_connections_give(struct engine_connections *pool, struct warm *warm);
void engine_connections_key(struct engine_connections *pool, const struct plan *blueprint,
                            const struct buf *encoded, char key[SHA256_HEX_SIZE]);

/* Opens the files below the directory and adds an operation for each to the plan.  Number of fds,
 * or -1 when they are too many or not only files. */
int warm_files_open(struct plan *plan, const char *dir, int fds[WARM_MAX_FILES]);

#endif
