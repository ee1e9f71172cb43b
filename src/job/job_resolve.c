/* Which language and which tools a request means. */
#include "job/job.h"
#include "job/job_steps.h"

static int ask_version(void *context, const struct language *language, struct toolchain *toolchain)
{
    return selftest_ask_version(context, language, toolchain);
}

int job_resolve(sbr_job *job, sbr_error *err)
{
    const char *name = job->req->language;
    struct toolchain_query query = { .ask = ask_version, .context = (void *)job->rt };

    if (request_check(job->req, err) < 0)
        return err->code;
    if (!name)
        return 0;
    if (language_resolve(name, &job->language, err) < 0)
        return err->code;
    query.wanted = language_version_of(name);
    return toolchain_find(job->language, &query, &job->toolchain, err);
}
