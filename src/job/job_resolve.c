/* Which language and which tools a request means. */
#include "base/text.h"
#include "job/job.h"
#include "job/job_steps.h"

static int unknown_language(const char *name, sbr_error *err)
{
    const struct language *language;
    const char *names[128];
    const char *near;
    size_t n = 0;

    for (; n < ARRAY_LEN(names) && (language = language_at(n)); n++)
        names[n] = language->name;
    near = text_nearest(name, names, n);
    return err_set(err, SBR_E_NOT_FOUND, "language",
                   "there is no language '%.60s'%s%s%s; `sandbox-run languages` lists them", name,
                   near ? ", did you mean '" : "", near ? near : "", near ? "'?" : "");
}

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
    job->language = language_find(name);
    if (!job->language)
        return unknown_language(name, err);
    query.wanted = language_version_of(name);
    return toolchain_find(job->language, &query, &job->toolchain, err);
}
