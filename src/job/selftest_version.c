/* Which version a tool has: it says so itself, in a sandbox. */
#include "image/image.h"
#include "job/job.h"

/* The language's own command for its version, as a stage without files. */
static int version_request(const struct language *language, struct language *ret_asking,
                           sbr_request **ret, sbr_error *err)
{
    static const char *preset[] = { "${binary}", "--version" };
    *ret_asking = (struct language){ .name = language->name,
                                     .env = language->env,
                                     .needs = language->needs,
                                     .source = language->source,
                                     .run = language->version };
    if (!ret_asking->run.n)
        ret_asking->run = (struct words){ preset, 2 };
    if (request_new(language->name, NULL, ret, err) < 0)
        return err->code;
    request_set_require(*ret, TIER_PROCESS);
    return request_set_code(*ret, "", 0, err);
}

int selftest_ask_version(const sbr_runtime *rt, struct image *image,
                         const struct language *language, struct toolchain *toolchain)
{
    struct language asking;
    sbr_request *req = NULL;
    sbr_result *result = NULL;
    sbr_job *job = NULL;
    sbr_error err;
    int r = version_request(language, &asking, &req, &err);

    if (r == 0)
        r = job_new(rt, req, NULL, &job, &err);
    if (r == 0)
        job->warm.off = job->skips_version = true; /* asked once for each tool */
    if (r == 0 && image)
        job->image = image_hold(image);
    if (r == 0)
        r = job_begin_with(job, &asking, toolchain, &err);
    if (r == 0)
        r = job_finish(job, &result, &err);
    if (r == 0 &&
        !toolchain_read_version(result->out.data, toolchain->version, sizeof(toolchain->version)) &&
        !toolchain_read_version(result->err.data, toolchain->version, sizeof(toolchain->version)))
        r = SBR_E_NOT_FOUND;
    result_free(result);
    job_free(job);
    request_free(req);
    return r;
}
