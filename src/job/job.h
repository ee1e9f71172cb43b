/* One job: the stages that its program needs, one after the other, each in a sandbox of its own.
 *
 *   prepare       once for each toolchain: what a language needs   -> a layer of the store
 *   dependencies  packages, with a network                         -> a layer of the store
 *   compile       or a check in its place                          -> an artifact of the store
 *   run           the program
 *
 * What the store has is not made again.  A stage that fails ends the job. */
#ifndef JOB_JOB_H
#define JOB_JOB_H

#include "job/job_types.h"

/* The plan of the program's own stage, from request and machine; starts nothing.  The caller frees
 * the plan, before the request and the runtime. */
int job_plan(const sbr_runtime *rt, const sbr_request *req, struct plan **ret, sbr_error *err)
    must_check;

/* `options` may be NULL: the output is kept, stdin is what the request holds.  The loop is the
 * job's own. */
int job_new(const sbr_runtime *rt, const sbr_request *req, const struct monitor_options *options,
            sbr_job **ret, sbr_error *err) must_check;
/* Finds the language and its tools for the request.  Nothing when it is a command. */
int job_resolve(sbr_job *job, sbr_error *err) must_check;
/* Begins with the first stage of a job that is resolved. */
int job_begin(sbr_job *job, sbr_error *err) must_check;
/* The same with a language and tools that were found already: only its run stage. */
int job_begin_with(sbr_job *job, const struct language *language, const struct toolchain *toolchain,
                   sbr_error *err) must_check;
/* job_new, job_resolve and job_begin. */
int job_start(const sbr_runtime *rt, const sbr_request *req, const struct monitor_options *options,
              sbr_job **ret, sbr_error *err) must_check;
enum job_progress { JOB_GOES_ON, JOB_IS_OVER };
/* Handles what is ready.  A job_progress, or negative: the loop is broken. */
int job_turn(sbr_job *job, bool wait, sbr_error *err) must_check;
/* From any thread, and more than once: the second time ends the stage at once. */
void job_cancel(sbr_job *job);
/* The monitor of the program itself; NULL: it does not run.  Not for other threads. */
struct monitor *job_monitor(sbr_job *job);
/* The monitor of whichever stage runs now, or NULL.  Not for other threads. */
struct monitor *job_stage_monitor(sbr_job *job);
/* Stops everything inside, and the clocks of limits and results; or lets them go on. */
void job_pause(sbr_job *job, bool pause);
/* The caller owns the result; or the reason why there is none. */
int job_take_result(sbr_job *job, sbr_result **ret, sbr_error *err) must_check;
/* Fills result->language by what the job knows of its tools. */
void job_outcome_name_tool(const sbr_job *job, sbr_result *result);
/* Turns until the end. */
int job_finish(sbr_job *job, sbr_result **ret, sbr_error *err) must_check;
void job_free(sbr_job *job);
/* The same for a process that ends right after: what the kernel frees by itself is left to it. */
void job_leave(sbr_job *job);

/* Called at the beginning of a stage and then every second.  `tell` may be NULL. */
struct selftest_watch {
    void (*tell)(void *context, enum stage stage);
    void *context;
};
/* Runs the language's own test.  1: it passes; 0: it does not; negative: it could not be run.
 * `why` says so. */
int selftest_run(const sbr_runtime *rt, const struct language *language, const char *version,
                 const struct selftest_watch *watch, char *why, size_t size);
/* Lets the tool, of the host or of an image, print its version in a sandbox, and fills
 * toolchain->version.  0 or negative. */
int selftest_ask_version(const sbr_runtime *rt, struct image *image,
                         const struct language *language, struct toolchain *toolchain);
/* Fills the version of the tool in a job's result, if no earlier run has found it out: asks the
 * tool, once.  Nothing after a cancel, or where no answer can be stored.  False: the tool would
 * have to be asked, and `may_wait` forbids it. */
bool job_version_find(sbr_job *job, sbr_result *result, bool may_wait);

/* The language's real interpreter on this machine, or NULL; valid until the next call of this
 * thread. */
const char *job_locate(const struct language *language);

#endif
