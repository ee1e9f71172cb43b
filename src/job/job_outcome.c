/* The result of a job, by how it ended. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "explain/ending.h"
#include "job/job.h"
#include "job/job_steps.h"
#include "job/job_trees.h"

/* The results of the earlier stages become part of the job's. */
static void adopt_stages(sbr_job *job, sbr_result *result)
{
    memcpy(result->before, job->done, sizeof(result->before));
    result->n_before = job->n_done;
    result->cached = job->cached;
    result->compile_output = take_ptr(job->compile_output);
    job->n_done = 0;
    job->result = result;
}

/* The refusals of the stage that failed are the result's own too: they are why there was no run. */
static void tell_failed_stage(const sbr_job *job, const sbr_result *last, sbr_result *result)
{
    ending_explain_stage(result, job->todo[job->at - 1], last);
    for (size_t i = 0; i < last->denials.n; i++)
        denials_add(&result->denials, &last->denials.items[i]);
    result->denials.dropped = last->denials.dropped;
}

/* The stage that ended the job stands for the program: its figures are the result's. */
static void take_figures(const sbr_result *last, sbr_result *result)
{
    result->exit_code = last->exit_code;
    result->signal = last->signal;
    result->usage = last->usage;
    result->limits = last->limits;
    result->isolation = last->isolation;
    result->startup = last->startup;
    result->stage = last->stage;
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
    result->exit_code = -1;
    result->startup = "cold";
    result->limits = job->req->limits;
    if (last)
        take_figures(last, result);
    ending_explain(result, STAGE_RUN, false);
    if (last && (verdict == SBR_COMPILE_FAILED || verdict == SBR_INSTALL_FAILED))
        tell_failed_stage(job, last, result);
    adopt_stages(job, result);
    result_complete(result);
}

static enum sbr_verdict failed_stage(const sbr_job *job)
{
    return job->todo[job->at - 1] == STAGE_INSTALL ? SBR_INSTALL_FAILED : SBR_COMPILE_FAILED;
}

void job_outcome_name_tool(const sbr_job *job, sbr_result *result)
{
    const char *binary = strrchr(job->toolchain.binary, '/');
    struct result_language *language = &result->language;

    if (!job->language)
        return;
    language->name = job->language->name;
    snprintf(language->tool, sizeof(language->tool), "%.31s", binary ? binary + 1 : "");
    snprintf(language->tool_version, sizeof(language->tool_version), "%s", job->toolchain.version);
    snprintf(language->version, sizeof(language->version), "%.31s",
             job->language->release ? job->language->release : job->toolchain.version);
}

/* Without memory the list is shorter: the run itself is over. */
static void name_excluded(const sbr_job *job, sbr_result *result)
{
    const struct job_trees *trees = job->trees;
    sbr_error ignored;

    for (size_t i = 0; i < job->req->left_out.n; i++)
        (void)string_list_add(&result->excluded, job->req->left_out.items[i], &ignored);
    for (size_t i = 0; trees && i < trees->n; i++)
        for (size_t k = 0; k < trees->at[i].n_masks; k++) {
            scoped_free char *path = NULL;

            if (asprintf(&path, "%s/%s", trees->at[i].target, trees->at[i].masks[k].path) < 0)
                return;
            (void)string_list_add(&result->excluded, path, &ignored);
        }
}

/* When the job began, how long it took, and what ran the program. */
static void stamp(const sbr_job *job, sbr_result *result)
{
    result->started_at_us = job->started_at_us;
    result->total_us = clock_now_us() - job->started_us - job_paused_us(job);
    job_outcome_name_tool(job, result);
    name_excluded(job, result);
}

enum job_event job_outcome_end(sbr_job *job, enum job_event event, sbr_error *err)
{
    stage_run_drop(job);
    if (event == EV_ENDED)
        adopt_stages(job, job->result);
    else if (event == EV_CANCEL || (event == EV_ERROR && job->cancelled))
        end_without_run(job, SBR_CANCELLED, err);
    else if (event == EV_STAGE_FAILED)
        end_without_run(job, failed_stage(job), err);
    else if (event == EV_NONE_LEFT)
        end_without_run(job, SBR_EXITED, err);
    if (job->result)
        stamp(job, job->result);
    return EV_NOTHING;
}

int job_take_result(sbr_job *job, sbr_result **ret, sbr_error *err)
{
    if (!job->result) {
        *err = job->failure;
        return err->code;
    }
    job_diagnose(job, job->result);
    job_find_uses(job, job->result);
    *ret = take_ptr(job->result);
    return 0;
}
