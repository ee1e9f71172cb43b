#include "job/stages.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/scope.h"
#include "job/job_trees.h"

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

enum stage stages_layer_maker(enum layer layer)
{
    return layer_makers[layer].maker;
}

int stages_find_layer(sbr_job *job, enum layer layer, sbr_error *err)
{
    return store_find(layer_makers[layer].kind, job->keys[layer], &job->layers[layer], err);
}

/* The layer that a stage makes; N_LAYERS: none. */
static enum layer layer_of(enum stage stage)
{
    unsigned int i = 0;

    while (i < N_LAYERS && layer_makers[i].maker != stage)
        i++;
    return (enum layer)i;
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
    char id[ENCODING_ID_SIZE];
    int n;

    if (encoding_random_id(id) < 0)
        return err_set_errno(err, "plan", "cannot choose a name");
    n = snprintf(place, size, "%s/" PLACE_PREFIX "%s", dir && dir[0] == '/' ? dir : "/tmp", id);
    if (n < 0 || (size_t)n >= size)
        return err_set(err, SBR_E_INVALID, "plan", "the path in TMPDIR is too long; shorten it");
    return 0;
}

int stages_input(sbr_job *job, enum stage stage, const struct features *features,
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
                               .place = ret->place };
    if (job->trees) {
        in->trees = job->trees->planned;
        in->n_trees = job->trees->n_planned;
        in->code_name = job->trees->code_name[0] ? job->trees->code_name : NULL;
        in->manifests = job->trees->manifests;
        in->n_manifests = job->trees->n_manifests;
    }
    for (unsigned int i = 0; i < N_LAYERS; i++)
        in->layers[i] = job->layers[i].path[0] ? job->layers[i].path : NULL;
    read_test_hooks(in);
    if (resolve_policy(job, in, err) < 0)
        return err->code;
    if (!features->user_namespaces && name_place(ret->place, sizeof(ret->place), err) < 0)
        return err->code;
    return 0;
}

int stages_plan(sbr_job *job, enum stage stage, const struct features *features, struct plan **ret,
                sbr_error *err)
{
    struct stage_input input;

    if (stages_input(job, stage, features, &input, err) < 0)
        return err->code;
    return planner_make(&input.in, ret, err);
}

/* The program's are the request's; those of other stages come from the language's file, and count as presets: they
 * are lowered to what the machine has. */
static int stage_limits(const sbr_job *job, enum stage stage, struct limits *ret, sbr_error *err)
{
    const struct stage_def *def = stage_def(job->language, stage);

    *ret = job->req->limits;
    if (!def)
        job_trees_limits(job, ret);
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

/* 0: it is starting; STAGE_ASKED: an engine may have a sandbox for it. */
static int start_planned(sbr_job *job, const struct features *features, sbr_error *err)
{
    struct stage_run *now = &job->now;
    struct stage_input input;
    bool asked = now->asked;

    plan_free(now->plan);
    now->plan = NULL;
    if (stages_input(job, now->stage, features, &input, err) < 0 ||
        planner_make(&input.in, &now->plan, err) < 0 || !now->plan)
        return err->code;
    snprintf(job->place, sizeof(job->place), "%s", now->plan->place ? now->plan->place : "");
    log_debug("plan", "stage %s, isolation %s, %zu mount operations, %zu filter instructions",
              stage_name(now->stage), request_tier_name(now->plan->isolation.tier),
              now->plan->n_ops, plan_filter_len(now->plan));
    now->asked = true;
    if (!asked && warm_ask(job, &input.in))
        return STAGE_ASKED;
    return sandbox_start(&now->box, now->plan, features, err);
}

/* Whether there is another way to bring the trees in, after the one that was tried was refused. */
static bool trees_have_another_way(struct job_trees *trees, const sbr_error *err)
{
    if (!trees)
        return false;
    if (!strcmp(err->stage, "view"))
        return job_trees_show_plain(trees);
    if (strcmp(err->stage, "cow") != 0 || trees->cow == COW_COPY)
        return false;
    trees->cow++;
    return true;
}

/* Which overlay a file system takes is known only when it is tried. */
static int start_with_trees(sbr_job *job, const struct features *features, sbr_error *err)
{
    for (;;) {
        int r = job->now.has_trees ? 0 : job_trees_prepare(job, job->now.stage, err);

        if (r == 0)
            r = start_planned(job, features, err);
        job->now.has_trees = r == STAGE_ASKED; /* otherwise whoever tries again wants others */
        if (r != SBR_E_UNSUPPORTED || !trees_have_another_way(job->trees, err))
            return r;
        log_info("sandbox", "%s", err->message);
    }
}

/* Whether a new user namespace is refused by a container's filter, a chroot or the like is known only when it
 * happens; then the stage is planned again for a machine without. */
static int start_anyhow(sbr_job *job, sbr_error *err)
{
    struct features without = job->rt->features;
    int r = start_with_trees(job, &job->rt->features, err);

    if (r != SBR_E_UNSUPPORTED || strcmp(err->stage, "namespaces") != 0 || !without.user_namespaces)
        return r;
    log_info("sandbox", "%s", err->message);
    without.user_namespaces = false;
    without.barrier = BARRIER_REFUSED;
    return start_with_trees(job, &without, err);
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
    now->part = (struct collect_part){ .dir_fd = now->staging.tree_fd };
    collect_reader_init(&now->collect_reader, &now->part, 1, now->limits.value[SBR_DISK_BYTES],
                        now->limits.value[SBR_INODES]);
    now->collecting = true;
    return 0;
}

/* Places for what the run changes and puts out. */
static int open_parts(sbr_job *job, sbr_error *err)
{
    struct stage_run *now = &job->now;

    if (now->stage != STAGE_RUN || (!job->trees && !job->work_part))
        return 0;
    if (job_trees_parts(job, now->plan, err) < 0)
        return err->code;
    if (!now->plan->n_collects)
        return 0;
    collect_reader_init(&now->collect_reader, job->work_part ? job->work_part : job->trees->parts,
                        now->plan->n_collects,
                        now->limits.value[SBR_DISK_BYTES] * COLLECT_BYTES_PER_BYTE,
                        now->limits.value[SBR_INODES] * COLLECT_ENTRIES_PER_INODE);
    now->collecting = true;
    return 0;
}

/* The sandbox of the stage is on its way. */
static int stage_watch(sbr_job *job, sbr_error *err)
{
    struct stage_run *now = &job->now;
    struct monitor_options options = { .keep_output = true, .stdin_fd = -1 };

    log_debug("sandbox", "set-up goes on inside");
    if (open_parts(job, err) < 0) {
        sandbox_end(&now->box); /* nobody watches it yet */
        sandbox_done(&now->box);
        return err->code;
    }
    if (now->stage == STAGE_RUN)
        options = job->options;
    if (!options.started_us || job->n_done)
        options.started_us = now->started_us;
    options.loop = &job->loop;
    options.startup = warm_startup(job);
    /* What the program says of its own failure is looked at when it has failed. */
    options.keep_tail =
        now->stage == STAGE_RUN || (job->language && job->language->diagnosis.n_errors);
    now->watching = true;
    options.collect_reader = now->collecting ? &now->collect_reader : NULL;
    return monitor_start(&now->monitor, &now->box, now->plan, &options, err) < 0 ? err->code : 1;
}

/* What the key of the layer was made of is what the installer gets. */
static int take_config(sbr_job *job, enum stage stage, sbr_error *err)
{
    const struct stage_def *def = stage_def(job->language, stage);
    struct installer *installer = &job->installer;
    struct stage_run *now = &job->now;

    if (!def || !def->network)
        return 0;
    if (client_config_read(def, job->toolchain.home, installer, err) < 0)
        return err->code;
    now->config = installer->config;
    now->needs = installer->needs;
    *installer = (struct installer){ 0 };
    return client_config_find_registries(def, job->toolchain.home, &now->config, err);
}

static int stage_start(sbr_job *job, enum stage stage, sbr_error *err)
{
    struct stage_run *now = &job->now;
    int r;

    now->stage = stage;
    now->started_us = clock_now_us();
    if (job->on_stage)
        job->on_stage(job->on_stage_context, stage);
    if (stage_limits(job, stage, &now->limits, err) < 0 || take_config(job, stage, err) < 0 ||
        (job->language && client_config_expand(&job->language->needs, &now->needs, err) < 0))
        return err->code;
    if (open_staging(job, err) < 0)
        return err->code;
    r = start_anyhow(job, err);
    return r == 0 ? stage_watch(job, err) : r;
}

int stages_resume(sbr_job *job, sbr_error *err)
{
    int r = warm_enter(job, err);

    if (job->warm.queued && job->on_stage)
        job->on_stage(job->on_stage_context, job->now.stage); /* it waits no longer */
    if (r == 0 && start_anyhow(job, err) < 0)
        return err->code;
    return r < 0 ? r : stage_watch(job, err);
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
    r = stages_find_layer(job, layer, err);
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
            return stage_start(job, stage, err);
        stages_drop(job);
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
             now->collect_reader.failure.message);
}

/* A sandbox of an engine's ended, and not by what the program did.  1: it had not begun. */
static int lost_sandbox(sbr_job *job, sbr_error *err)
{
    const struct monitor *m = &job->now.monitor;
    bool ran = job->now.box.report->state >= REPORT_RUNNING;

    if (!ran && !m->stdin_pump.used) {
        log_info("engine", "its sandbox ended too early, cold: %s", err->message);
        job->warm.off = true;
        return 1;
    }
    return warm_failure(job, err);
}

int stages_end(sbr_job *job, sbr_result **ret, sbr_error *err)
{
    struct stage_run *now = &job->now;
    sbr_result *result = NULL;
    int r = monitor_take_result(&now->monitor, &result, err);

    if (r < 0 && now->box.parked)
        r = lost_sandbox(job, err);
    if (r == 0) {
        result->stage = stage_name(now->stage);
        result->usage.queue_us = job->warm.queue_us;
        name_the_limit(now->stage, result);
    }
    if (r == 0 && now->staged && result_success(result)) {
        if (now->collect_reader.failure.code == SBR_E_DENIED)
            refuse_layer(now, result);
        else if (now->collect_reader.failure.code)
            r = (*err = now->collect_reader.failure).code;
        else
            r = keep_layer(job, err);
    }
    if (r == 0 && now->stage == STAGE_RUN)
        r = job_trees_end(job, result, err);
    stages_drop(job);
    if (r != 0) {
        result_free(result);
        return r;
    }
    job->at++;
    *ret = result;
    return 0;
}

void stages_drop(sbr_job *job)
{
    struct stage_run *now = &job->now;

    if (now->watching) {
        monitor_done(&now->monitor);
        sandbox_end(&now->box);
        sandbox_done(&now->box);
    }
    warm_release(job);
    if (now->collecting)
        collect_reader_done(&now->collect_reader);
    if (now->staged)
        store_discard(&now->staging);
    plan_free(now->plan);
    client_config_done(&now->config);
    client_config_words_done(&now->needs);
    scope_close_fd(&now->lock_fd);
    *now = (struct stage_run){ .lock_fd = -1 };
    now->box.init.pidfd = -1;
}
