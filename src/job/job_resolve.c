#include "job/stages.h"

#include <string.h>

#include "base/text.h"

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

static const struct words *stage_words(const sbr_job *job, enum stage stage)
{
    const struct stage_def *def = stage_def(job->language, stage);

    return def ? &def->run : &job->language->run;
}

/* What waits for programs of this stage in an engine sees the same as the program. */
static bool driver_uses(const sbr_job *job, enum stage stage, enum word_name name)
{
    const struct warm_def *warm = &job->language->warm;

    return !job->warm.off && ((stage == STAGE_RUN && words_use(&warm->run, name)) ||
                              (stage == STAGE_COMPILE && words_use(&warm->compile, name)));
}

static bool stage_uses(const sbr_job *job, enum stage stage, enum word_name name)
{
    const struct stage_def *def = stage_def(job->language, stage);

    return words_use(stage_words(job, stage), name) || words_use(&job->language->env, name) ||
           (def && words_use(&def->env, name)) || driver_uses(job, stage, name);
}

static void todo_add(sbr_job *job, enum stage stage)
{
    job->todo[job->n_todo++] = stage;
}

/* The layer, or the stage that makes it. */
static int want_layer(sbr_job *job, enum layer layer, sbr_error *err)
{
    int r = stages_find_layer(job, layer, err);

    if (r == 0)
        todo_add(job, stages_layer_maker(layer));
    return r < 0 ? r : 0;
}

static int decide_dependencies(sbr_job *job, sbr_error *err)
{
    const struct language *language = job->language;
    int r;

    if (!language->install.run.n) {
        if (job->req->deps.n)
            return err_set(err, SBR_E_UNSUPPORTED, "dependencies",
                           "%s has no package registry here; bring what '%.60s' is in as files "
                           "with --file",
                           language->name, job->req->deps.items[0]);
        return 0;
    }
    r = layer_key_dependencies(job, err);
    return r > 0 ? want_layer(job, LAYER_DEPS, err) : r;
}

/* The stage that stands for compiling; N_STAGES: the language has none. */
static enum stage compile_stage(const sbr_job *job)
{
    if (job->req->check && job->language->check.run.n)
        return STAGE_CHECK;
    return job->language->compile.run.n ? STAGE_COMPILE : N_STAGES;
}

static bool sees_own_tree(const sbr_job *job)
{
    return job->req->project || job->req->workspace;
}

static int decide_compile(sbr_job *job, sbr_error *err)
{
    enum stage stage = compile_stage(job);
    int r;

    if (stage == N_STAGES && job->req->check)
        return err_set(err, SBR_E_UNSUPPORTED, "check",
                       "%s has no check other than running the program; leave --check out",
                       job->language->name);
    if (stage == N_STAGES)
        return 0;
    if (stage == STAGE_COMPILE)
        layer_key_artifact(job);
    if (job->req->check) { /* a check is asked for, so a check is made */
        todo_add(job, stage);
        return 0;
    }
    /* What a compiler finds in a project is no part of any key. */
    r = sees_own_tree(job) ? 0 : stages_find_layer(job, LAYER_BUILD, err);
    if (r < 0)
        return r;
    job->cached = r == 1;
    if (!job->cached)
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

/* What has to be there before anything else: only when a stage that is left to do uses it. */
static int decide_prepared(sbr_job *job, sbr_error *err)
{
    size_t before = job->n_todo;

    if (!job->language->prepare.run.n || !any_todo_uses(job, WORD_PREPARED))
        return 0;
    if (want_layer(job, LAYER_PREPARED, err) < 0)
        return err->code;
    if (job->n_todo > before) {
        memmove(job->todo + 1, job->todo, before * sizeof(job->todo[0]));
        job->todo[0] = STAGE_PREPARE;
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
