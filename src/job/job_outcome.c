/* The result of a job, by how it ended. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/scope.h"
#include "job/job.h"
#include "job/job_steps.h"

/* The results of the earlier stages become part of the job's. */
static void adopt_stages(sbr_job *job, sbr_result *result)
{
    memcpy(result->before, job->done, sizeof(result->before));
    result->n_before = job->n_done;
    result->cached = job->cached;
    job->n_done = 0;
    job->result = result;
}

/* The refusals of the stage that failed are the result's own too: they are why there was no run. */
static void tell_failed_stage(const sbr_result *last, sbr_result *result)
{
    if (last->explanation[0])
        snprintf(result->explanation, sizeof(result->explanation), "stage %s: %.200s", last->stage,
                 last->explanation);
    else
        snprintf(result->explanation, sizeof(result->explanation),
                 "stage %s ended with exit code %d", last->stage, last->exit_code);
    for (size_t i = 0; i < last->denials.n; i++)
        denials_add(&result->denials, &last->denials.items[i]);
    result->denials.dropped = last->denials.dropped;
}

/* The result of a job whose program did not run. */
static void end_without_run(sbr_job *job, enum sbr_verdict verdict, sbr_error *err)
{
    const sbr_result *last = job->n_done ? job->done[job->n_done - 1] : NULL;
    sbr_result *result = calloc(1, sizeof(*result));

    if (!result || encoding_random_id(result->id) < 0) {
        free(result);
        err_set_oom(err, "result");
        return;
    }
    result->verdict = verdict;
    result->exit_code = last ? last->exit_code : -1;
    result->startup = last ? last->startup : "cold";
    result->stage = "run";
    result->limits = last ? last->limits : job->req->limits;
    if (last) {
        result->signal = last->signal;
        result->isolation = last->isolation;
    }
    if (last && verdict == SBR_COMPILE_FAILED)
        tell_failed_stage(last, result);
    adopt_stages(job, result);
    result_complete(result);
}

enum job_event job_outcome_end(sbr_job *job, enum job_event event, sbr_error *err)
{
    stage_run_drop(job);
    if (event == EV_ENDED)
        adopt_stages(job, job->result);
    else if (event == EV_CANCEL || (event == EV_ERROR && job->cancelled))
        end_without_run(job, SBR_CANCELLED, err);
    else if (event == EV_STAGE_FAILED)
        end_without_run(job, SBR_COMPILE_FAILED, err);
    else if (event == EV_NONE_LEFT)
        end_without_run(job, SBR_EXITED, err);
    return EV_NOTHING;
}

int job_take_result(sbr_job *job, sbr_result **ret, sbr_error *err)
{
    if (!job->result) {
        *err = job->failure;
        return err->code;
    }
    job_diagnose(job, job->result);
    *ret = take_ptr(job->result);
    return 0;
}
