#include "job/warm_blueprint.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "image/image.h"
#include "plan/blueprint.h"

/* A tree that was removed and made anew under the same name is another one, and what was mounted of
 * the first is empty: the source of each mount is part of the blueprint by what it is, not only by
 * its name. */
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

int warm_blueprint_encode(struct buf *out, const struct plan *plan, const struct plan_input *in,
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

/* The engine makes the blueprint once more of this, to compare.  A text that is too long names
 * nothing that the engine knows. */
static void tell_origin(const sbr_job *job, const struct plan_input *in,
                        struct engine_request *request)
{
    const char *language = in->language ? job->req->language : NULL;

    snprintf(request->language, sizeof(request->language), "%s", language ? language : "");
    snprintf(request->policy, sizeof(request->policy), "%s", in->policy->name);
    snprintf(request->image, sizeof(request->image), "%.*s", (int)sizeof(request->image) - 1,
             job->image ? job->image->id : "");
    request->stage = in->stage;
}

const char *warm_blueprint_make(sbr_job *job, const struct plan_input *in)
{
    struct warm *warm = &job->warm;
    const char *why = warm_stage_is_frequent(in->stage) ? blueprint_refusal(job->now.plan)
                                                        : "it is not made often";
    struct plan *blueprint;
    sbr_error ignored;
    int n = 0;

    if (why)
        return why;
    if (warm_blueprint_encode(&warm->blueprint, job->now.plan, in, &blueprint, &ignored) < 0)
        return "it sees trees of the host's, or is too large";
    if (in->stage == STAGE_RUN && in->layers[LAYER_BUILD])
        n = warm_files_open(job->now.plan, in->layers[LAYER_BUILD], warm->files);
    if (n >= 0) {
        warm->n_files = (size_t)n;
        warm->request.cgroup_kind = blueprint->cgroup_kind;
        warm->request.cgroup_controllers = blueprint->cgroup_controllers;
        tell_origin(job, in, &warm->request);
        engine_connections_key(job->rt->pool, blueprint, &warm->blueprint, warm->request.key);
    }
    plan_free(blueprint);
    return n < 0 ? "its compiled program is more than a few files" : NULL;
}
