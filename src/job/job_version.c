/* The version of the tool in a result. */
#include "job/job.h"

static int ask(void *context, const struct language *language, struct toolchain *toolchain)
{
    const sbr_job *job = context;

    return store_keeps_notes() ? selftest_ask_version(job->rt, job->image, language, toolchain)
                               : SBR_E_UNSUPPORTED;
}

void job_version_find(sbr_job *job, sbr_result *result)
{
    struct toolchain_query query = { .ask = ask, .context = job };

    if (!job->language || job->skips_version || job->cancelled || result->language.tool_version[0])
        return;
    if (toolchain_version(job->language, &query, &job->toolchain) == 0)
        job_outcome_name_tool(job, result);
}
