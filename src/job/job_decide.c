/* Which stages a job needs. */
#include <string.h>

#include "image/image.h"
#include "job/job_steps.h"
#include "job/job_trees.h"

/* A sandbox that is ready in the engine for programs of this stage sees the same as the program. */
static bool driver_uses(const sbr_job *job, enum stage stage, enum word_name name)
{
    const struct warm_def *warm = &job->language->warm;

    return !job->warm.off && ((stage == STAGE_RUN && words_use(&warm->run, name)) ||
                              (stage == STAGE_COMPILE && words_use(&warm->compile, name)));
}

static bool stage_uses(const sbr_job *job, enum stage stage, enum word_name name)
{
    const struct stage_def *def = stage_def(job->language, stage);

    return words_use(stage_words(job->language, stage, job->req), name) ||
           words_use(&job->language->env, name) || (def && words_use(&def->env, name)) ||
           driver_uses(job, stage, name);
}

static void todo_add(sbr_job *job, enum stage stage)
{
    job->todo[job->n_todo++] = stage;
}

void job_decide_packages(sbr_job *job)
{
    struct store_entry *deps = &job->layers[LAYER_DEPS];

    if (!job->image ||
        !image_packages_of(job->image, job->language->name, deps->path, sizeof(deps->path)))
        deps->path[0] = '\0';
}

static int decide_dependencies(sbr_job *job, sbr_error *err)
{
    const struct language *language = job->language;
    enum layer_found found;
    int r;

    if (!language->install.run.n) {
        if (job->req->deps.n)
            return err_set(err, SBR_E_UNSUPPORTED, "dependencies",
                           "%s has no package registry here; bring what '%.60s' is in as files",
                           language->name, job->req->deps.items[0]);
        return 0;
    }
    r = layer_key_dependencies(job, err);
    if (r == 0)
        job_decide_packages(job);
    if (r <= 0)
        return r;
    found = job_layers_find(job, LAYER_DEPS, err);
    if (found == LAYER_TO_MAKE)
        todo_add(job, STAGE_INSTALL);
    return found == LAYER_ERROR ? err->code : 0;
}

/* The stage that stands for compiling; N_STAGES: the language has none. */
static enum stage compile_stage(const sbr_job *job)
{
    if (job->req->kernel)
        return N_STAGES; /* there is no program yet */
    if (job->req->check && job->language->check.run.n)
        return STAGE_CHECK;
    /* A project is set up with what was installed for it. */
    if (job->req->of_project && !job->keys[LAYER_DEPS][0] &&
        words_use(&job->language->compile.run, WORD_DEPS))
        return N_STAGES;
    return job->language->compile.run.n ? STAGE_COMPILE : N_STAGES;
}

static int decide_compile(sbr_job *job, sbr_error *err)
{
    enum stage stage = compile_stage(job);
    enum layer_found found = LAYER_TO_MAKE;

    if (stage == N_STAGES && job->req->check)
        return err_set(err, SBR_E_UNSUPPORTED, "check",
                       "%s has no check other than running the program; leave %s out",
                       job->language->name, request_word(job->req, CALLED_CHECK));
    if (stage == N_STAGES)
        return 0;
    if (stage == STAGE_COMPILE)
        layer_key_artifact(job);
    /* A check that the caller asks for is made.  What a compiler finds in a project is no part of
     * any key; what its set-up depends on is. */
    if (!job->req->check && (job->req->of_project || (!job->req->project && !job->req->workspace)))
        found = job_layers_find(job, LAYER_BUILD, err);
    if (found == LAYER_ERROR)
        return err->code;
    job->cached = found == LAYER_THERE;
    if (job->cached)
        job->compile_output = store_remark(&job->layers[LAYER_BUILD]);
    else
        todo_add(job, stage);
    return 0;
}

static bool any_todo_uses(const sbr_job *job, enum word_name name)
{
    for (size_t i = 0; i < job->n_todo; i++)
        if (stage_uses(job, job->todo[i], name))
            return true;
    return false;
}

static bool todo_has(const sbr_job *job, enum stage stage)
{
    for (size_t i = 0; i < job->n_todo; i++)
        if (job->todo[i] == stage)
            return true;
    return false;
}

/* An installer compiles packages with what the prepare stage left, so that the layer of packages is
 * as it always is. */
static bool can_wait(const sbr_job *job)
{
    return job->language->prepare.optional && !job->req->complete && !job->req->kernel &&
           !job->image && !todo_has(job, STAGE_INSTALL);
}

static int owe_prepared(sbr_job *job, sbr_error *err)
{
    scoped_fd int lock = -1;
    int r = store_lock(STORE_PREPARED, job->keys[LAYER_PREPARED], &lock, err);

    job->owes_prepared = r == STORE_LOCKED && !job->language->is_tools;
    return r < 0 ? r : 0;
}

/* What comes before everything else, if a stage that is left to do uses it. */
static int decide_prepared(sbr_job *job, sbr_error *err)
{
    if (!job->language->prepare.run.n || !any_todo_uses(job, WORD_PREPARED))
        return 0;
    switch (job_layers_find(job, LAYER_PREPARED, err)) {
    case LAYER_TO_MAKE:
        if (can_wait(job))
            return owe_prepared(job, err);
        memmove(job->todo + 1, job->todo, job->n_todo++ * sizeof(job->todo[0]));
        job->todo[0] = STAGE_PREPARE;
        return 0;
    case LAYER_ERROR:
        return err->code;
    case LAYER_THERE:
    case LAYER_BUSY:
        break;
    }
    return 0;
}

int job_decide(sbr_job *job, sbr_error *err)
{
    if (!job->language) {
        todo_add(job, STAGE_RUN);
        return 0;
    }
    if (job->language->prepare.run.n)
        layer_key_prepared(job);
    if (decide_dependencies(job, err) < 0 || decide_compile(job, err) < 0)
        return err->code;
    if (!job->req->check)
        todo_add(job, STAGE_RUN);
    return decide_prepared(job, err);
}

enum job_event job_decide_stages(sbr_job *job, enum job_event event, sbr_error *err)
{
    (void)event;
    switch (job_trees_open(job, err)) {
    case TREES_BUSY:
        return EV_BUSY;
    case TREES_ERROR:
        return EV_ERROR;
    case TREES_OPEN:
        break;
    }
    /* A sandbox of the engine's may use layers that the program alone would not. */
    engine_connections_find(job->rt->pool, &job->warm);
    return job_decide(job, err) < 0 ? EV_ERROR : EV_NEXT;
}
