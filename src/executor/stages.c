#include "executor/stages.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/scope.h"
#include "base/text.h"

#define PLACE_PREFIX "sandbox-run-"
#define LAYER_ABOUT 200

/* clang-format off */
static const struct {
    enum stage maker;
    enum store_kind kind;
} layer_makers[N_LAYERS] = {
    [LAYER_PREPARED] = { STAGE_PREPARE, STORE_PREPARED },
    [LAYER_DEPS]     = { STAGE_INSTALL, STORE_LAYER    },
    [LAYER_BUILD]    = { STAGE_COMPILE, STORE_ARTIFACT },
};
/* clang-format on */

/* The layer that a stage makes; N_LAYERS: none. */
static enum layer layer_of(enum stage stage)
{
    unsigned int i = 0;

    while (i < N_LAYERS && layer_makers[i].maker != stage)
        i++;
    return (enum layer)i;
}

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
    return executor_ask_version(context, language, toolchain);
}

int stages_resolve(sbr_job *job, sbr_error *err)
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

static bool stage_uses(const sbr_job *job, enum stage stage, enum word_name name)
{
    const struct stage_def *def = stage_def(job->language, stage);

    return words_use(stage_words(job, stage), name) || words_use(&job->language->env, name) ||
           (def && words_use(&def->env, name));
}

/* 1: the layer is there; 0: it has to be made. */
static int look_up(sbr_job *job, enum layer layer, sbr_error *err)
{
    return store_find(layer_makers[layer].kind, job->keys[layer], &job->layers[layer], err);
}

static void todo_add(sbr_job *job, enum stage stage)
{
    job->todo[job->n_todo++] = stage;
}

/* The layer, or the stage that makes it. */
static int want_layer(sbr_job *job, enum layer layer, sbr_error *err)
{
    int r = look_up(job, layer, err);

    if (r == 0)
        todo_add(job, layer_makers[layer].maker);
    return r < 0 ? r : 0;
}

static int decide_dependencies(sbr_job *job, sbr_error *err)
{
    const struct language *language = job->language;

    if (!language->install.run.n) {
        if (job->req->deps.n)
            return err_set(err, SBR_E_UNSUPPORTED, "dependencies",
                           "%s has no package registry here; bring what '%.60s' is in as files "
                           "with --file",
                           language->name, job->req->deps.items[0]);
        return 0;
    }
    return key_dependencies(job) ? want_layer(job, LAYER_DEPS, err) : 0;
}

/* The stage that stands for compiling; N_STAGES: the language has none. */
static enum stage compile_stage(const sbr_job *job)
{
    if (job->req->check && job->language->check.run.n)
        return STAGE_CHECK;
    return job->language->compile.run.n ? STAGE_COMPILE : N_STAGES;
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
        key_artifact(job);
    if (job->req->check) { /* a check is asked for, so a check is made */
        todo_add(job, stage);
        return 0;
    }
    r = look_up(job, LAYER_BUILD, err);
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

int stages_decide(sbr_job *job, sbr_error *err)
{
    if (stages_resolve(job, err) < 0)
        return err->code;
    if (!job->language) {
        todo_add(job, STAGE_RUN);
        return 0;
    }
    if (job->language->prepare.run.n)
        key_prepared(job);
    if (decide_dependencies(job, err) < 0 || decide_compile(job, err) < 0)
        return err->code;
    if (!job->req->check)
        todo_add(job, STAGE_RUN);
    return decide_prepared(job, err);
}

static int resolve_policy(const sbr_job *job, struct plan_input *in, sbr_error *err)
{
    const char *name = job->req->policy;
    char names[200] = "";
    size_t used = 0;

    if (in->stage != STAGE_RUN)
        name = NULL;
    in->policy = policy_find(name);
    if (in->policy && !in->policy->internal)
        return 0;
    for (size_t i = 0; policy_at(i) && used < sizeof(names); i++)
        used += (size_t)snprintf(names + used, sizeof(names) - used, "%s%s", i ? ", " : "",
                                 policy_at(i)->name);
    return err_set(err, SBR_E_NOT_FOUND, "policy", "there is no policy '%.60s'; choose one of: %s",
                   name, names);
}

/* A build with test hooks can be told to leave a mechanism out or to fail in a step. */
static void read_test_hooks(struct plan_input *in)
{
#ifdef SBR_TEST_HOOKS
    in->test_without = getenv("SANDBOX_RUN_TEST_WITHOUT");
    in->test_fail = getenv("SANDBOX_RUN_TEST_FAIL");
    in->test_writable = getenv("SANDBOX_RUN_TEST_WRITABLE");
#else
    (void)in;
#endif
}

/* A name that nothing has: only a run without a private root makes the directory. */
static int name_place(char *place, size_t size, sbr_error *err)
{
    const char *dir = getenv("TMPDIR");
    char id[ENCODE_ID_SIZE];
    int n;

    if (encode_random_id(id) < 0)
        return err_set_errno(err, "plan", "cannot choose a name");
    n = snprintf(place, size, "%s/" PLACE_PREFIX "%s", dir && dir[0] == '/' ? dir : "/tmp", id);
    if (n < 0 || (size_t)n >= size)
        return err_set(err, SBR_E_INVALID, "plan", "the path in TMPDIR is too long; shorten it");
    return 0;
}

int stages_plan(sbr_job *job, enum stage stage, const struct features *features, struct plan **ret,
                sbr_error *err)
{
    char place[REQUEST_MAX_PATH];
    struct plan_input in = { .request = job->req,
                             .language = job->language,
                             .toolchain = job->language ? &job->toolchain : NULL,
                             .stage = stage,
                             .limits = &job->now.limits,
                             .needs = job->now.needs,
                             .config = &job->now.config,
                             .features = features,
                             .place = place };

    for (unsigned int i = 0; i < N_LAYERS; i++)
        in.layers[i] = job->layers[i].path[0] ? job->layers[i].path : NULL;
    read_test_hooks(&in);
    if (resolve_policy(job, &in, err) < 0)
        return err->code;
    if (!features->user_namespaces && name_place(place, sizeof(place), err) < 0)
        return err->code;
    return planner_make(&in, ret, err);
}

/* The program's are the request's; those of other stages come from the language's file, and count as presets: they
 * are lowered to what the machine has. */
static int stage_limits(const sbr_job *job, enum stage stage, struct limits *ret, sbr_error *err)
{
    const struct stage_def *def = stage_def(job->language, stage);

    *ret = job->req->limits;
    if (!def)
        return 0;
    limits_init(ret);
    for (unsigned int i = 0; i < def->limits.n; i++)
        if (limits_set_pair(ret, def->limits.at[i], err) < 0)
            return err->code;
    ret->given = 0;
    if (stage == STAGE_COMPILE || stage == STAGE_CHECK)
        limits_override(ret, &job->req->compile_limits);
    return 0;
}

static int start_planned(sbr_job *job, const struct features *features, sbr_error *err)
{
    struct stage_run *now = &job->now;

    plan_free(now->plan);
    now->plan = NULL;
    if (stages_plan(job, now->stage, features, &now->plan, err) < 0 || !now->plan)
        return err->code;
    snprintf(job->place, sizeof(job->place), "%s", now->plan->place ? now->plan->place : "");
    log_debug("plan", "stage %s, isolation %s, %zu mount operations, %zu filter instructions",
              stage_name(now->stage), tier_name(now->plan->isolation.tier), now->plan->n_ops,
              plan_filter_len(now->plan));
    return sandbox_start(&now->box, now->plan, features, err);
}

/* Whether a new user namespace is refused by a container's filter, a chroot or the like is known only when it
 * happens; then the stage is planned again for a machine without. */
static int start_anyhow(sbr_job *job, sbr_error *err)
{
    struct features without = job->rt->features;
    int r = start_planned(job, &job->rt->features, err);

    if (r != SBR_E_UNSUPPORTED || strcmp(err->stage, "namespaces") != 0 || !without.user_namespaces)
        return r;
    log_info("sandbox", "%s", err->message);
    without.user_namespaces = false;
    without.barrier = BARRIER_REFUSED;
    return start_planned(job, &without, err);
}

/* A place in the store for what the stage makes. */
static int open_staging(sbr_job *job, sbr_error *err)
{
    struct stage_run *now = &job->now;
    enum layer layer = layer_of(now->stage);

    if (layer == N_LAYERS)
        return 0;
    if (store_stage(layer_makers[layer].kind, &now->staging, err) < 0)
        return err->code;
    now->staged = true;
    intake_init(&now->intake, now->staging.tree_fd, now->limits.value[SBR_DISK_BYTES],
                now->limits.value[SBR_INODES]);
    return 0;
}

static int stage_start(sbr_job *job, enum stage stage, sbr_error *err)
{
    struct stage_run *now = &job->now;
    struct monitor_options options = { .keep_output = true, .stdin_fd = -1 };

    now->stage = stage;
    if (job->on_stage)
        job->on_stage(job->on_stage_context, stage);
    if (stage_limits(job, stage, &now->limits, err) < 0 ||
        config_gather(stage_def(job->language, stage), job->toolchain.home, &now->config,
                      &now->needs, err) < 0 ||
        (job->language && needs_expand(&job->language->needs, &now->needs, err) < 0))
        return err->code;
    if (stage == STAGE_RUN)
        options = job->options;
    if (!options.started_us || job->n_done)
        options.started_us = clock_now_us();
    options.loop = &job->loop;
    /* What the program says of its own failure is looked at when it has failed. */
    options.keep_tail =
        now->stage == STAGE_RUN || (job->language && job->language->diagnosis.n_errors);
    if (open_staging(job, err) < 0 || start_anyhow(job, err) < 0)
        return err->code;
    log_debug("sandbox", "set-up goes on inside");
    options.intake = now->staged ? &now->intake : NULL;
    now->watching = true;
    return monitor_start(&now->monitor, &now->box, now->plan, &options, err);
}

/* 1: go on; 0: the layer is being made by somebody else; 2: it is there now. */
static int take_turn(sbr_job *job, enum stage stage, sbr_error *err)
{
    enum layer layer = layer_of(stage);
    int r;

    if (layer != LAYER_PREPARED && layer != LAYER_DEPS)
        return 1;
    r = store_lock(layer_makers[layer].kind, job->keys[layer], &job->now.lock_fd, err);
    if (r <= 0)
        return r;
    r = look_up(job, layer, err);
    if (r < 0)
        return r;
    return r == 1 ? 2 : 1;
}

int stages_next(sbr_job *job, sbr_error *err)
{
    for (;;) {
        enum stage stage = job->todo[job->at];
        int r = take_turn(job, stage, err);

        if (r <= 0)
            return r;
        if (r == 1)
            return stage_start(job, stage, err) < 0 ? err->code : 1;
        stages_drop(&job->now);
        job->at++;
    }
}

/* One line for people who look at the store. */
static void layer_about(const sbr_job *job, enum stage stage, char about[LAYER_ABOUT])
{
    const struct string_list *deps = &job->req->deps;
    const char *source = job->req->n_files ? job->req->files[0].path : "code";
    int used = snprintf(about, LAYER_ABOUT, "%s%s", job->language->name,
                        stage == STAGE_INSTALL && deps->n ? ": " : "");

    for (size_t i = 0; stage == STAGE_INSTALL && i < deps->n && used < LAYER_ABOUT; i++)
        used += snprintf(about + used, (size_t)(LAYER_ABOUT - used), "%s%s", i ? ", " : "",
                         deps->items[i]);
    if (stage == STAGE_INSTALL && !deps->n)
        snprintf(about + used, (size_t)(LAYER_ABOUT - used), ": the project's own list");
    if (stage == STAGE_COMPILE)
        snprintf(about + used, (size_t)(LAYER_ABOUT - used), ": %.100s", source);
}

static int keep_layer(sbr_job *job, sbr_error *err)
{
    struct stage_run *now = &job->now;
    enum layer layer = layer_of(now->stage);
    char about[LAYER_ABOUT];

    layer_about(job, now->stage, about);
    now->staged = false; /* whatever becomes of it, it is not ours any more */
    return store_commit(&now->staging, job->keys[layer], about, &job->layers[layer], err);
}

/* The sentence of a limit names the option that sets it; other stages than the program's have others. */
static void name_the_limit(enum stage stage, sbr_result *result)
{
    char *option = strstr(result->explanation, "; --"), name[24] = "";
    size_t room;

    if (!option || stage == STAGE_RUN)
        return;
    snprintf(name, sizeof(name), "%.*s", (int)strcspn(option + 4, " "), option + 4);
    room = sizeof(result->explanation) - (size_t)(option - result->explanation);
    if (stage == STAGE_COMPILE || stage == STAGE_CHECK)
        snprintf(option, room, "; --compile-limit %s=... sets this limit", name);
    else
        snprintf(option, room, "; `%s` in the language's file sets this limit", name);
}

/* What a stage left is the stage's affair: it failed, and its result says why. */
static void refuse_layer(const struct stage_run *now, sbr_result *result)
{
    result->verdict = SBR_DENIED;
    snprintf(result->explanation, sizeof(result->explanation), "%.200s",
             now->intake.failure.message);
}

int stages_end(sbr_job *job, sbr_result **ret, sbr_error *err)
{
    struct stage_run *now = &job->now;
    sbr_result *result = NULL;
    int r = monitor_take_result(&now->monitor, &result, err);

    if (r == 0) {
        result->stage = stage_name(now->stage);
        name_the_limit(now->stage, result);
    }
    if (r == 0 && now->staged && result_success(result)) {
        if (now->intake.failure.code == SBR_E_DENIED)
            refuse_layer(now, result);
        else if (now->intake.failure.code)
            r = (*err = now->intake.failure).code;
        else
            r = keep_layer(job, err);
    }
    stages_drop(now);
    if (r < 0) {
        result_free(result);
        return r;
    }
    job->at++;
    *ret = result;
    return 0;
}

void stages_drop(struct stage_run *now)
{
    if (now->watching) {
        monitor_done(&now->monitor);
        sandbox_end(&now->box);
        sandbox_done(&now->box);
    }
    if (now->staged) {
        intake_done(&now->intake);
        store_discard(&now->staging);
    }
    plan_free(now->plan);
    config_done(&now->config);
    words_done(&now->needs);
    scope_close_fd(&now->lock_fd);
    *now = (struct stage_run){ .lock_fd = -1 };
    now->box.init.pidfd = -1;
}
