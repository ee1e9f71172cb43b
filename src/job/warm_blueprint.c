#include "job/warm_blueprint.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/scope.h"
#include "job/stages.h"
#include "plan/blueprint.h"
#include "plan/blueprint_check.h"

/* A tree that was removed and made anew under the same name is another one, and what was mounted of the first is
 * empty: the source of each mount is part of the template by what it is, not only by its name. */
uint64_t warm_source_identity(const char *path)
{
    struct stat st;

    if (stat(path, &st) < 0)
        return 0;
    return ((uint64_t)st.st_ino * 0x9e3779b97f4a7c15u ^ (uint64_t)st.st_dev << 48) +
           (uint64_t)st.st_ctim.tv_sec * 1000000000u + (uint64_t)st.st_ctim.tv_nsec;
}

bool warm_stage_is_frequent(enum stage stage)
{
    return stage == STAGE_RUN || stage == STAGE_COMPILE || stage == STAGE_CHECK;
}

static int encode(struct buf *out, const struct plan *plan, const struct plan_input *in,
                  struct plan **ret, sbr_error *err)
{
    int r = blueprint_make(plan, in, ret, err);

    if (r < 0)
        return r;
    blueprint_mark_sources(*ret, warm_source_identity);
    buf_done(out);
    buf_init(out, ENGINE_MAX_BLUEPRINT);
    r = plan_encode(*ret, out, err);
    if (r < 0) {
        plan_free(*ret);
        *ret = NULL;
    }
    return r;
}

/* What the engine makes the template of once more, to compare: texts that are too long name nothing that it knows. */
static void tell_origin(const sbr_job *job, const struct plan_input *in,
                        struct engine_request *request)
{
    const char *language = in->language ? job->req->language : NULL;

    snprintf(request->language, sizeof(request->language), "%s", language ? language : "");
    snprintf(request->policy, sizeof(request->policy), "%s", in->policy->name);
    request->stage = in->stage;
    request->memory_bytes = job->now.plan->limits.value[SBR_MEMORY_BYTES];
}

const char *warm_blueprint_make(sbr_job *job, const struct plan_input *in)
{
    struct warm *warm = &job->warm;
    const char *why = warm_stage_is_frequent(in->stage) ? blueprint_refusal(job->now.plan)
                                                        : "it is not made often";
    struct plan *template;
    sbr_error ignored;
    int n = 0;

    if (why)
        return why;
    if (encode(&warm->template, job->now.plan, in, &template, &ignored) < 0)
        return "it sees trees of the host's, or is too large";
    if (in->stage == STAGE_RUN && in->layers[LAYER_BUILD])
        n = warm_files_open(job->now.plan, in->layers[LAYER_BUILD], warm->files);
    if (n >= 0) {
        warm->n_files = (size_t)n;
        warm->request.cgroup_kind = template->cgroup_kind;
        warm->request.cgroup_controllers = template->cgroup_controllers;
        tell_origin(job, in, &warm->request);
        engine_connections_key(job->rt->pool, template, &warm->template, warm->request.key);
    }
    plan_free(template);
    return n < 0 ? "its compiled program is more than a few files" : NULL;
}

/* The job of a request that wants nothing in particular, as far as its run. */
static int decide_trivial(sbr_job *job, sbr_error *err)
{
    int r = job_resolve(job, err);

    if (r == 0)
        r = job_decide(job, err);
    if (r == 0 && job->n_todo && job->todo[0] == STAGE_PREPARE)
        r = err_set(err, SBR_E_UNSUPPORTED, "park", "%s has to be made ready first",
                    job->language->name);
    if (r == 0 && job->language && job->language->compile.run.n &&
        !job->layers[LAYER_BUILD].path[0])
        snprintf(job->layers[LAYER_BUILD].path, sizeof(job->layers[0].path), "%s", "/build");
    job->now.limits = job->req->limits;
    if (r == 0 && job->language)
        r = client_config_expand(&job->language->needs, &job->now.needs, err);
    return r;
}

/* The bytes again as a plan, which owns them. */
static int decode_owned(const struct buf *bytes, const struct plan *template, struct plan **ret,
                        sbr_error *err)
{
    struct plan *holder = plan_new();
    char *data = holder ? plan_alloc(holder, bytes->len) : NULL;
    int r;

    if (!data) {
        plan_free(holder);
        return err_set_oom(err, "park");
    }
    memcpy(data, bytes->data, bytes->len);
    r = plan_decode(data, bytes->len, ret, err);
    if (r == 0) {
        (*ret)->cgroup_kind = template->cgroup_kind;
        (*ret)->cgroup_controllers = template->cgroup_controllers;
        plan_adopt(*ret, holder);
    }
    plan_free(holder);
    return r;
}

static int template_of(sbr_job *job, struct plan **ret, char key[SHA256_HEX_SIZE], sbr_error *err)
{
    struct stage_input input;
    struct plan *template = NULL;
    const char *why;
    int r = decide_trivial(job, err);

    if (r == 0)
        r = stages_input(job, STAGE_RUN, &job->rt->features, &input, err);
    if (r == 0)
        r = planner_make(&input.in, &job->now.plan, err);
    why = r == 0 ? blueprint_refusal(job->now.plan) : NULL;
    if (why)
        r = err_set(err, SBR_E_UNSUPPORTED, "park", "a run has no parked form here: %s", why);
    if (r == 0)
        r = encode(&job->warm.template, job->now.plan, &input.in, &template, err);
    if (r == 0) {
        blueprint_key_of(template, &job->warm.template, key);
        r = decode_owned(&job->warm.template, template, ret, err);
    }
    plan_free(template);
    return r;
}

static int trivial_request(const char *language, sbr_request **ret, sbr_error *err)
{
    if (request_new(language, NULL, ret, err) < 0)
        return err->code;
    return language ? request_set_code(*ret, "", 0, err) : request_add_arg(*ret, "true", err);
}

int warm_blueprint_for(const sbr_runtime *rt, const char *language, struct plan **ret,
                       char key[SHA256_HEX_SIZE], sbr_error *err)
{
    sbr_request *req = NULL;
    sbr_job *job = NULL;
    int r = trivial_request(language, &req, err);

    if (r == 0)
        r = job_new(rt, req, NULL, &job, err);
    if (r == 0) {
        job->warm.off = false; /* as for those who will ask for it */
        r = template_of(job, ret, key, err);
    }
    job_free(job);
    request_free(req);
    return r;
}
