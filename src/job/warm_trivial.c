/* The blueprint that the engine makes sandboxes of before the first job asks. */
#include "job/warm_trivial.h"

#include <stdio.h>
#include <string.h>

#include "job/job_steps.h"
#include "job/job_trees.h"
#include "job/warm_blueprint.h"
#include "plan/blueprint.h"

/* Resolves the job as far as its run. */
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

/* Decodes the bytes into a plan that owns them. */
static int decode_owned(const struct buf *bytes, const struct plan *blueprint, struct plan **ret,
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
        (*ret)->cgroup_kind = blueprint->cgroup_kind;
        (*ret)->cgroup_controllers = blueprint->cgroup_controllers;
        plan_adopt(*ret, holder);
    }
    plan_free(holder);
    return r;
}

static int blueprint_of(sbr_job *job, struct plan **ret, char key[SHA256_HEX_SIZE], sbr_error *err)
{
    struct stage_input input;
    struct plan *blueprint = NULL;
    const char *why;
    int r = decide_trivial(job, err);

    if (r == 0)
        r = stage_plan_input(job, STAGE_RUN, &job->rt->features, &input, err);
    if (r == 0)
        r = planner_make(&input.in, &job->now.plan, err);
    why = r == 0 ? blueprint_refusal(job->now.plan) : NULL;
    if (why)
        r = err_set(err, SBR_E_UNSUPPORTED, "park", "a run has no parked form here: %s", why);
    if (r == 0)
        r = warm_blueprint_encode(&job->warm.blueprint, job->now.plan, &input.in, &blueprint, err);
    if (r == 0) {
        blueprint_key_of(blueprint, &job->warm.blueprint, key);
        r = decode_owned(&job->warm.blueprint, blueprint, ret, err);
    }
    plan_free(blueprint);
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
        job->warm.off = false; /* as for the jobs that will ask for it */
        r = blueprint_of(job, ret, key, err);
    }
    job_free(job);
    request_free(req);
    return r;
}
