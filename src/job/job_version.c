/* The version of the tool in a result. */
#include "job/job.h"

static int ask(void *context, const struct language *language, struct toolchain *toolchain)
{
    const sbr_job *job = context;

    return selftest_ask_version(job->rt, job->image, language, toolchain);
}

bool job_version_find(sbr_job *job, sbr_result *result, bool may_wait)
{
    struct toolchain_query query = { .ask = may_wait && store_keeps_notes() ? ask : NULL,
                                     .context = job };
    int r;

    if (!job->language || job->skips_version || job->cancelled || result->language.tool_version[0])
        return true;
    r = toolchain_version(job->language, &query, &job->toolchain);
    if (r == 0)
        job_outcome_name_tool(job, result);
    return r != SBR_E_BUSY || !store_keeps_notes();
}
