/* sbr_job: one run in progress, from its start to its result. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/loop.h"
#include "base/signal_fd.h"
#include "config/audit.h"
#include "lib/job_client.h"

/* A caller that polls the loop wakes up, and dispatches for the first time. */
static void wake(void *context, uint32_t events)
{
    (void)context;
    (void)events;
}

/* Puts the end on record, once, where the request wants that.  What could not be recorded is an
 * error: a run that the audit does not have has no result. */
static int record(sbr_job *job, const sbr_result *result, sbr_error *err)
{
    sbr_error failure = { 0 };
    int fd = job->client->audit_fd, r;

    if (fd < 0)
        return 0;
    if (!result)
        failure = *err;
    job->client->audit_fd = -1;
    r = audit_append(job->req, result, &failure, err);
    close(fd);
    if (r == 0)
        *err = failure;
    return r;
}

static int start(const sbr_runtime *rt, const sbr_request *req, sbr_job **ret, sbr_error *err)
{
    sbr_job *job;

    if (job_new(rt, req, NULL, &job, err) < 0)
        return err->code;
    job->client = calloc(1, sizeof(*job->client));
    if (!job->client)
        err_set_oom(err, "job");
    else
        job->client->out.fd = job->client->err.fd = job->client->audit_fd = -1;
    if (!job->client ||
        (req->audit && audit_chain_open(AUDIT_RUNS, &job->client->audit_fd, err) < 0)) {
        sbr_job_free(job);
        return err->code;
    }
    if (job_resolve(job, err) < 0) {
        (void)record(job, NULL, err);
        sbr_job_free(job);
        return err->code;
    }
    job->begins_later = true;
    loop_set_timer(&job->loop, TIMER_RETRY, 1, wake, job);
    *ret = job;
    return 0;
}

int sbr_job_start(sbr_runtime *rt, const sbr_request *req, sbr_job **ret, sbr_error *err)
{
    sbr_error unused = { 0 }, *e = err ? err : &unused;

    if (!rt || !req || !ret)
        return err_set(e, SBR_E_INVALID, "job",
                       "a job needs a runtime, a request and a place for itself");
    return start(rt, req, ret, e);
}

int sbr_job_fd(const sbr_job *job)
{
    return job ? loop_fd(&job->loop) : -1;
}

static int turn(sbr_job *job, bool wait, sbr_error *err)
{
    int r;

    if (!job->client->begun)
        job_client_begin(job);
    job->client->begun = true;
    r = job_turn(job, wait, err);
    job_client_turned(job);
    return r;
}

static int guarded_turn(sbr_job *job, bool wait, sbr_error *err)
{
    struct sigpipe guard;
    int r;

    if (!job->client->guards_pipe)
        return turn(job, wait, err);
    sigpipe_block(&guard);
    r = turn(job, wait, err);
    sigpipe_restore(&guard);
    return r;
}

static int dispatch(sbr_job *job, bool wait, sbr_result **ret, sbr_error *err)
{
    sbr_result *result = NULL;
    int r = guarded_turn(job, wait, err);

    if (r < 0)
        (void)record(job, NULL, err);
    if (r != JOB_IS_OVER)
        return r;
    if (job_take_result(job, &result, err) < 0) {
        (void)record(job, NULL, err);
        return err->code;
    }
    if (job->client->id[0])
        memcpy(result->id, job->client->id, sizeof(result->id));
    if (record(job, result, err) < 0 || job_client_check(job, err) < 0) {
        result_free(result);
        return err->code;
    }
    if (wait)
        (void)job_version_find(job, result, true);
    *ret = result;
    return 1;
}

static int no_job(sbr_error *err)
{
    return err_set(err, SBR_E_INVALID, "job", "there is no job, or no place for its result");
}

int sbr_job_dispatch(sbr_job *job, sbr_result **ret, sbr_error *err)
{
    sbr_error unused = { 0 }, *e = err ? err : &unused;

    return job && ret ? dispatch(job, false, ret, e) : no_job(e);
}

int sbr_job_finish(sbr_job *job, sbr_result **ret, sbr_error *err)
{
    sbr_error unused = { 0 }, *e = err ? err : &unused;
    int r;

    if (!job || !ret)
        return no_job(e);
    do
        r = dispatch(job, true, ret, e);
    while (r == 0);
    return r < 0 ? r : 0;
}

void sbr_job_cancel(sbr_job *job)
{
    if (job)
        job_cancel(job);
}

void sbr_job_free(sbr_job *job)
{
    struct job_client *client = job ? job->client : NULL;
    sbr_error abandoned;

    if (client && client->audit_fd >= 0) {
        err_set(&abandoned, SBR_E_SYSTEM, "job", "the caller gave the job up before its end");
        (void)record(job, NULL, &abandoned);
    }
    job_free(job); /* it uses the client's streams until here */
    job_client_free(client);
}

int sbr_run(sbr_runtime *rt, const sbr_request *req, sbr_result **ret, sbr_error *err)
{
    sbr_error unused = { 0 }, *e = err ? err : &unused;
    sbr_job *job;
    int r;

    if (!ret)
        return err_set(e, SBR_E_INVALID, "job", "there is no place for the result");
    if (sbr_job_start(rt, req, &job, e) < 0)
        return e->code;
    r = sbr_job_finish(job, ret, e);
    sbr_job_free(job);
    return r;
}
