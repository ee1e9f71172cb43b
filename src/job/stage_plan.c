
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "base/user_dir.h"
#include "image/image.h"
#include "job/job_steps.h"
#include "job/job_trees.h"

#define RUN_DIR_PREFIX "sandbox-run-"

static int resolve_policy(const sbr_job *job, struct plan_input *in, sbr_error *err)
{
    const char *name = job->req->policy;

    return policy_resolve(in->stage == STAGE_RUN ? name : NULL, &in->policy, err);
}

/* In a build with test hooks a test can leave a mechanism out or let a step fail. */
static void read_test_hooks(struct plan_input *in)
{
#ifdef SBR_TEST_HOOKS
    in->test_without = getenv("SANDBOX_RUN_TEST_WITHOUT");
    in->test_fail = getenv("SANDBOX_RUN_TEST_FAIL");
#else
    (void)in;
#endif
}

/* A name that no file has: only a run without a private root makes the directory. */
static int name_run_dir(char *run_dir, size_t size, sbr_error *err)
{
    char id[ENCODING_ID_SIZE];
    int n;

    if (encoding_random_id(id) < 0)
        return err_set_errno(err, "plan", "cannot choose a name");
    n = snprintf(run_dir, size, "%s/" RUN_DIR_PREFIX "%s", user_dir_temporary(), id);
    if (n < 0 || (size_t)n >= size)
        return err_set(err, SBR_E_INVALID, "plan", "the path in TMPDIR is too long; shorten it");
    return 0;
}

/* A work directory that is not there is made; in an image where its links lead to. */
static void find_new_workdir(const sbr_job *job, struct stage_input *ret)
{
    const char *wanted = plan_workdir(&ret->in);
    sbr_error not_of_image;

    if (!ret->in.features->user_namespaces || ret->in.stage != STAGE_RUN ||
        !strcmp(wanted, INSIDE_WORK) || !text_is_safe_relative_path(wanted + 1, REQUEST_MAX_PATH) ||
        (job->image && image_has_directory(job->image, wanted)))
        return;
    if (!job->image ||
        image_place(job->image, job->language, wanted, ret->workdir, &not_of_image) < 0)
        snprintf(ret->workdir, sizeof(ret->workdir), "%s", wanted); /* below /work or /tmp */
    ret->in.new_workdir = ret->workdir;
}

int stage_plan_input(sbr_job *job, enum stage stage, const struct features *features,
                     struct stage_input *ret, sbr_error *err)
{
    struct plan_input *in = &ret->in;

    *in = (struct plan_input){ .request = job->req,
                               .language = job->language,
                               .toolchain = job->language ? &job->toolchain : NULL,
                               .stage = stage,
                               .limits = &job->now.limits,
                               .needs = job->now.needs,
                               .config = &job->now.config,
                               .features = features,
                               .collect_work = job->work_part != NULL,
                               .run_dir = ret->run_dir };
    in->secrets = stage_secrets_of(job, stage);
    in->trust = job->now.helper.started ? &job->now.helper.trust : NULL;
    in->image = job->image ? &job->image->plan : NULL;
    if (job->trees) {
        in->trees = job->trees->planned;
        in->n_trees = job->trees->n_planned;
        in->code_name = job->trees->code_name[0] ? job->trees->code_name : NULL;
        in->manifests = job->trees->manifests;
        in->n_manifests = job->trees->n_manifests;
        in->given = job->trees->given;
        in->n_given = stage == STAGE_RUN ? job->trees->n_given : 0;
    }
    if (stage == STAGE_RUN) {
        in->commands = job->commands.files;
        in->n_commands = job->commands.n;
    }
    for (unsigned int i = 0; i < N_LAYERS; i++)
        in->layers[i] = job->layers[i].path[0] ? job->layers[i].path : NULL;
    find_new_workdir(job, ret);
    read_test_hooks(in);
    if (resolve_policy(job, in, err) < 0)
        return err->code;
    if (!features->user_namespaces && name_run_dir(ret->run_dir, sizeof(ret->run_dir), err) < 0)
        return err->code;
    return 0;
}

int stage_plan_limits(const sbr_request *req, const struct stage_def *def, enum stage stage,
                      struct limits *ret, sbr_error *err)
{
    limits_init(ret);
    for (unsigned int i = 0; i < def->limits.n; i++)
        if (limits_set_pair(ret, "the limit", def->limits.at[i], err) < 0)
            return err->code;
    ret->given = 0;
    if (stage == STAGE_COMPILE || stage == STAGE_CHECK)
        limits_override(ret, &req->compile_limits);
    limits_lower(ret, &req->ceilings);
    return 0;
}

/* The program has the request's limits. */
static int set_limits(sbr_job *job, const struct stage_def *def, sbr_error *err)
{
    if (def)
        return stage_plan_limits(job->req, def, job->now.stage, &job->now.limits, err);
    job->now.limits = job->req->limits;
    job_trees_limits(job, &job->now.limits);
    return 0;
}

const char *stage_plan_home(const sbr_job *job)
{
    return job->image ? NULL : job->toolchain.home;
}

/* The installer gets the configuration that the key of its layer was made of. */
static int take_config(sbr_job *job, const struct stage_def *def, sbr_error *err)
{
    struct installer *installer = &job->installer;
    struct stage_run *now = &job->now;

    if (!def || !def->network)
        return 0;
    if (client_config_read(def, stage_plan_home(job), installer, err) < 0)
        return err->code;
    now->config = installer->config;
    now->needs = installer->needs;
    *installer = (struct installer){ 0 };
    return client_config_find_registries(def, stage_plan_home(job), &now->config, err);
}

int stage_plan_set_up(sbr_job *job, sbr_error *err)
{
    const struct stage_def *def = stage_def(job->language, job->now.stage);

    if (set_limits(job, def, err) < 0 || take_config(job, def, err) < 0)
        return err->code;
    if (!job->language || job->image) /* an image has what its tools need */
        return 0;
    return client_config_expand(&job->language->needs, &job->now.needs, err);
}
