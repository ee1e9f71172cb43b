#include "job/job.h"

#include <stdio.h>
#include <stdlib.h>

#include "job/job_steps.h"
#include "job/job_trees.h"

/* A layer that a stage would make has a name in the plan, although nothing is made. */
static void name_layer(sbr_job *job, enum layer layer, const struct stage_def *maker,
                       const char *path)
{
    if (maker->run.n)
        snprintf(job->layers[layer].path, sizeof(job->layers[layer].path), "%s", path);
}

/* What a plan borrows from that is kept without its job. */
struct planned {
    sbr_job *job;
    struct stage_input input;
};

static void free_planned(void *source)
{
    struct planned *planned = source;

    job_free(planned->job);
    free(planned);
}

static int plan_run(sbr_job *job, struct stage_input *input, struct plan **ret, sbr_error *err)
{
    const struct language *language;

    job->now.limits = job->req->limits;
    if (job_resolve(job, err) < 0)
        return err->code;
    language = job->language;
    if (language) {
        if (!job->image && client_config_expand(&language->needs, &job->now.needs, err) < 0)
            return err->code;
        name_layer(job, LAYER_BUILD, &language->compile, "/made-by-the-compile-stage");
        name_layer(job, LAYER_PREPARED, &language->prepare, "/made-by-the-prepare-stage");
        job_decide_packages(job);
    }
    if (job_trees_look(job, err) < 0 ||
        stage_plan_input(job, STAGE_RUN, &job->rt->features, input, err) < 0)
        return err->code;
    return planner_make(&input->in, ret, err);
}

int job_plan(const sbr_runtime *rt, const sbr_request *req, struct plan **ret, sbr_error *err)
{
    struct planned *planned = calloc(1, sizeof(*planned));

    if (!planned)
        return err_set_oom(err, "plan");
    if (job_new(rt, req, NULL, &planned->job, err) < 0) {
        free(planned);
        return err->code;
    }
    if (plan_run(planned->job, &planned->input, ret, err) < 0) {
        free_planned(planned);
        return err->code;
    }
    (*ret)->source = planned;
    (*ret)->free_source = free_planned;
    return 0;
}

int job_begin(sbr_job *job, sbr_error *err)
{
    return job_run_begin(job, EV_GO, err);
}

int job_start(const sbr_runtime *rt, const sbr_request *req, const struct monitor_options *options,
              sbr_job **ret, sbr_error *err)
{
    sbr_job *job;

    if (job_new(rt, req, options, &job, err) < 0)
        return err->code;
    if (job_resolve(job, err) < 0 || job_begin(job, err) < 0) {
        job_free(job);
        return err->code;
    }
    *ret = job;
    return 0;
}

const char *job_locate(const struct language *language)
{
    static __thread struct toolchain found;
    sbr_error ignored;

    return toolchain_find(language, NULL, &found, &ignored) == 0 ? found.binary : NULL;
}
