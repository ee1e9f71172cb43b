/* sbr_job: one run in progress. */
#include "base/loop.h"
#include "job/job.h"

int sbr_job_start(sbr_runtime *rt, const sbr_request *req, sbr_job **ret, sbr_error *err)
{
    sbr_error unused;

    if (!rt || !req || !ret)
        return SBR_E_INVALID;
    return job_start(rt, req, NULL, ret, err ? err : &unused);
}

int sbr_job_fd(const sbr_job *job)
{
    return job ? loop_fd(&job->loop) : -1;
}

static int dispatch(sbr_job *job, bool wait, sbr_result **ret, sbr_error *err)
{
    int r = job_turn(job, wait, err);

    if (r <= 0)
        return r;
    r = job_take_result(job, ret, err);
    return r < 0 ? r : 1;
}

int sbr_job_dispatch(sbr_job *job, sbr_result **ret, sbr_error *err)
{
    sbr_error unused;

    return job && ret ? dispatch(job, false, ret, err ? err : &unused) : SBR_E_INVALID;
}

void sbr_job_cancel(sbr_job *job)
{
    if (job)
        job_cancel(job);
}

void sbr_job_free(sbr_job *job)
{
    job_free(job);
}

int sbr_run(sbr_runtime *rt, const sbr_request *req, sbr_result **ret, sbr_error *err)
{
    sbr_error unused = { 0 }, *e = err ? err : &unused;
    sbr_job *job;
    int r;

    if (!ret)
        return SBR_E_INVALID;
    r = sbr_job_start(rt, req, &job, e);
    if (r < 0)
        return r;
    do
        r = dispatch(job, true, ret, e);
    while (r == 0);
    job_free(job);
    return r < 0 ? r : 0;
}
