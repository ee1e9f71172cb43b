#include "job/job.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/scope.h"
#include "explain/denial_text.h"
#include "job/job_trees.h"
#include "job/stages.h"
#include "toolchain/registries.h"

#define RETRY_US 50000 /* how often a layer that somebody else makes is looked for */

static void job_go_on(sbr_job *job);

static bool job_is_over(const sbr_job *job)
{
    return job->result || job->failure.code;
}

static void job_fail(sbr_job *job, const sbr_error *err)
{
    stages_drop(job);
    if (!job->failure.code)
        job->failure = *err;
}

static void retry_due(void *context, uint32_t events)
{
    (void)events;
    if (!job_is_over(context))
        job_go_on(context);
}

static void wake(void *context, uint32_t events)
{
    (void)context;
    (void)events;
}

static void cancel_wanted(void *context, uint32_t events)
{
    sbr_job *job = context;
    uint64_t count;

    (void)events;
    if (read(job->cancel_fd, &count, sizeof(count)) != (ssize_t)sizeof(count))
        return;
    job->cancelled = true;
    if (job->now.watching)
        monitor_cancel(&job->now.monitor);
    else if (!job_is_over(job))
        job_go_on(job);
}

/* What went before belongs to the result. */
static void adopt_stages(sbr_job *job, sbr_result *result)
{
    memcpy(result->before, job->done, sizeof(result->before));
    result->n_before = job->n_done;
    result->cached = job->cached;
    job->n_done = 0;
    job->result = result;
}

/* Its refusals are the result's own too: they are why there was no run. */
static void copy_denials(const sbr_result *from, sbr_result *to)
{
    for (size_t i = 0; i < from->denials.n; i++)
        denials_add(&to->denials, &from->denials.items[i]);
    to->denials.dropped = from->denials.dropped;
}

/* The result of a job whose program did not run, because of what the last stage says. */
static void end_without_run(sbr_job *job, enum sbr_verdict verdict)
{
    const sbr_result *last = job->n_done ? job->done[job->n_done - 1] : NULL;
    sbr_result *result = calloc(1, sizeof(*result));
    sbr_error err;

    if (!result || encoding_random_id(result->id) < 0) {
        free(result);
        err_set_oom(&err, "result");
        job_fail(job, &err);
        return;
    }
    result->verdict = verdict;
    result->exit_code = -1;
    result->startup = last ? last->startup : "cold";
    result->stage = "run";
    result->limits = job->req->limits;
    if (last) {
        result->exit_code = last->exit_code;
        result->signal = last->signal;
        result->limits = last->limits;
        result->isolation = last->isolation;
        if (verdict == SBR_COMPILE_FAILED && last->explanation[0])
            snprintf(result->explanation, sizeof(result->explanation), "stage %s: %.200s",
                     last->stage, last->explanation);
        else if (verdict == SBR_COMPILE_FAILED)
            snprintf(result->explanation, sizeof(result->explanation),
                     "stage %s ended with exit code %d", last->stage, last->exit_code);
    }
    if (last && verdict == SBR_COMPILE_FAILED)
        copy_denials(last, result);
    adopt_stages(job, result);
    result_complete(result);
}

/* While the plan is still there: what it allowed, and the files that the program's last words name. */
static void note_plan(const sbr_job *job)
{
    const struct plan *plan = job->now.plan;
    sbr_result *result = job->now.monitor.result;
    sbr_error ignored; /* a list without its end is better than no result */

    if (job->now.stage != STAGE_RUN || !result)
        return;
    result->policy = plan->policy ? plan->policy->name : NULL;
    result->network.mode = plan->network;
    result->network.allow_dns = plan->egress.allow_dns;
    for (size_t i = 0; i < plan->egress.n_rules; i++)
        if (network_add_rule(&result->network, &plan->egress.rules[i], &ignored) < 0)
            break;
    if (result_success(result) || job->cancelled)
        return;
    if (result->err.data)
        denial_text(plan, result->err.data, result->err.len, &result->denials);
    else
        denial_text(plan, result->err.tail, result->err.tail_len, &result->denials);
}

static bool is_of_network(const struct denial *d)
{
    return d->kind == DENIAL_CONNECT || d->kind == DENIAL_NAME;
}

/* What opens the way out for an installer: never the options, which are the program's. */
static void name_registry(struct denial *d)
{
    static const char plain[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789.:-_[]*";

    if (d->target[strspn(d->target, plain)] == '\0')
        snprintf(d->remedy, sizeof(d->remedy),
                 "configure the client for it, or set " REGISTRIES_ENV "=%.240s", d->target);
    else
        snprintf(d->remedy, sizeof(d->remedy), "configure the client for it");
}

/* Other stages than the program's are not opened by the program's options. */
static void name_remedies(enum stage stage, sbr_result *result)
{
    bool compile = stage == STAGE_COMPILE || stage == STAGE_CHECK;

    for (size_t i = 0; stage != STAGE_RUN && i < result->denials.n; i++) {
        struct denial *d = &result->denials.items[i];

        if (d->source == DENIAL_BY_LIMIT)
            continue;
        if (is_of_network(d) && !compile)
            name_registry(d);
        else
            d->remedy[0] = '\0';
    }
}

/* The last line that holds anything, without its newline. */
static void last_line(const struct output *said, char *line, size_t size)
{
    const char *end = said->data + said->len, *start;

    line[0] = '\0';
    while (said->len && end > said->data && (end[-1] == '\n' || end[-1] == ' '))
        end--;
    for (start = end; said->len && start > said->data && start[-1] != '\n'; start--)
        continue;
    if (said->len)
        snprintf(line, size, "%.*s", (int)(end - start), start);
}

/* A language that cannot be made ready is no fault of the program's. */
static void fail_prepare(sbr_job *job, const sbr_result *result)
{
    char line[160];
    sbr_error err;

    last_line(&result->err, line, sizeof(line));
    err_set(&err, SBR_E_UNSUPPORTED, "prepare", "cannot make %s ready: %s", job->language->name,
            result->explanation[0] ? result->explanation : line);
    job_fail(job, &err);
}

/* A stage is over: the next one, or the end. */
static void stage_ended(sbr_job *job)
{
    enum stage stage = job->now.stage;
    sbr_result *result = NULL;
    sbr_error err;
    int r;

    note_plan(job);
    r = stages_end(job, &result, &err);
    if (r != 0) {
        if (r < 0)
            job_fail(job, &err);
        else
            job_go_on(job);
        return;
    }
    name_remedies(stage, result);
    if (stage == STAGE_RUN) {
        adopt_stages(job, result);
        return;
    }
    if (stage == STAGE_PREPARE && !result_success(result) && !job->cancelled) {
        fail_prepare(job, result);
        result_free(result);
        return;
    }
    job->done[job->n_done++] = result;
    if (!result_success(result) && !job->cancelled)
        end_without_run(job, SBR_COMPILE_FAILED);
    else
        job_go_on(job);
}

/* 1: what has to be done is known; 0: another run has the workspace. */
static int decide(sbr_job *job, sbr_error *err)
{
    int r = job->decided ? 1 : job_trees_open(job, err);

    if (r <= 0 || job->decided)
        return r;
    warm_find(job); /* what waits there may use layers that the program alone would not */
    if (job_decide(job, err) < 0)
        return err->code;
    job->decided = true;
    return 1;
}

/* What came of an attempt to start the next stage. */
static void job_went_on(sbr_job *job, int r, const sbr_error *err)
{
    if (r < 0 && job->cancelled) {
        stages_drop(job);
        end_without_run(job, SBR_CANCELLED);
    } else if (r < 0)
        job_fail(job, err);
    else if (r == 0)
        loop_set_timer(&job->loop, TIMER_RETRY, clock_now_us() + RETRY_US, retry_due, job);
}

static void engine_answered(sbr_job *job)
{
    sbr_error err;
    int r = stages_resume(job, &err);

    job_went_on(job, r, &err);
}

static void job_go_on(sbr_job *job)
{
    sbr_error err;
    int r;

    if (job->cancelled) {
        stages_drop(job);
        end_without_run(job, SBR_CANCELLED);
        return;
    }
    r = decide(job, &err);
    if (r > 0 && job->at == job->n_todo) {
        end_without_run(job, SBR_EXITED);
        return;
    }
    if (r > 0)
        r = stages_next(job, &err);
    job_went_on(job, r, &err);
}

static bool wants_cold(const sbr_runtime *rt)
{
    const char *word = getenv(WARM_COLD_ENV);

    return rt->cold || (word && *word && strcmp(word, "0") != 0);
}

static void job_init(sbr_job *job, const sbr_runtime *rt, const sbr_request *req)
{
    job->rt = rt;
    job->req = req;
    job->cancel_fd = job->loop.epoll_fd = job->loop.timer_fd = -1;
    job->now.lock_fd = job->now.box.init.pidfd = -1;
    warm_init(&job->warm, wants_cold(rt));
    job->warm.answered = engine_answered;
}

int job_plan(const sbr_runtime *rt, const sbr_request *req, struct plan **ret, sbr_error *err)
{
    sbr_job *job = calloc(1, sizeof(*job));
    int r;

    if (!job)
        return err_set_oom(err, "executor");
    job_init(job, rt, req);
    job->now.limits = req->limits;
    r = job_resolve(job, err);
    if (r == 0 && job->language)
        r = client_config_expand(&job->language->needs, &job->now.needs, err);
    /* Named, not made: a plan starts nothing. */
    if (r == 0 && job->language && job->language->compile.run.n)
        snprintf(job->layers[LAYER_BUILD].path, sizeof(job->layers[0].path), "%s",
                 "/made-by-the-compile-stage");
    if (r == 0 && job->language && job->language->prepare.run.n)
        snprintf(job->layers[LAYER_PREPARED].path, sizeof(job->layers[0].path), "%s",
                 "/made-by-the-prepare-stage");
    if (r == 0)
        r = job_trees_look(job, err);
    if (r == 0)
        r = stages_plan(job, STAGE_RUN, &rt->features, ret, err);
    job_free(job);
    return r;
}

int job_new(const sbr_runtime *rt, const sbr_request *req, const struct monitor_options *options,
            sbr_job **ret, sbr_error *err)
{
    sbr_job *job = calloc(1, sizeof(*job));

    if (!job)
        return err_set_oom(err, "executor");
    job_init(job, rt, req);
    job->options =
        options ? *options
                : (struct monitor_options){ .keep_output = true,
                                            .stdin_data = req->stdin_data,
                                            .stdin_len = req->stdin_data ? req->stdin_len : 0,
                                            .stdin_fd = -1,
                                            .started_us = clock_now_us() };
    job->cancel_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (job->cancel_fd < 0 || loop_init(&job->loop, err) < 0 ||
        loop_add(&job->loop, job->cancel_fd, EPOLLIN, cancel_wanted, job) < 0) {
        job_free(job);
        return err_set_errno(err, "executor", "cannot make an event loop");
    }
    *ret = job;
    return 0;
}

static int begin(sbr_job *job, sbr_error *err)
{
    job_go_on(job);
    if (job->failure.code) {
        *err = job->failure;
        return err->code;
    }
    if (job->result) /* nothing had to be done: whoever waits for the loop is to see that */
        loop_set_timer(&job->loop, TIMER_RETRY, 1, wake, job);
    return 0;
}

int job_begin(sbr_job *job, sbr_error *err)
{
    return job_resolve(job, err) < 0 ? err->code : begin(job, err);
}

int job_begin_with(sbr_job *job, const struct language *language, const struct toolchain *toolchain,
                   sbr_error *err)
{
    job->language = language;
    job->toolchain = *toolchain;
    job->decided = true;
    job->todo[job->n_todo++] = STAGE_RUN;
    return begin(job, err);
}

int job_start(const sbr_runtime *rt, const sbr_request *req, const struct monitor_options *options,
              sbr_job **ret, sbr_error *err)
{
    sbr_job *job;

    if (job_new(rt, req, options, &job, err) < 0)
        return err->code;
    if (job_begin(job, err) < 0) {
        job_free(job);
        return err->code;
    }
    *ret = job;
    return 0;
}

/* At most one wait for each call, so that the caller can act when a stage is over. */
int job_turn(sbr_job *job, bool wait, sbr_error *err)
{
    if (job_is_over(job))
        return 1;
    if (loop_turn(&job->loop, wait) < 0)
        return err_set_errno(err, "monitor", "cannot wait for events");
    if (job->now.watching && monitor_is_over(&job->now.monitor))
        stage_ended(job);
    return job_is_over(job);
}

void job_cancel(sbr_job *job)
{
    uint64_t one = 1;
    ssize_t ignored = write(job->cancel_fd, &one, sizeof(one));

    (void)ignored;
}

int job_take_result(sbr_job *job, sbr_result **ret, sbr_error *err)
{
    if (!job->result) {
        *err = job->failure;
        return err->code;
    }
    job_diagnose(job, job->result);
    *ret = take_ptr(job->result);
    return 0;
}

int job_finish(sbr_job *job, sbr_result **ret, sbr_error *err)
{
    int r;

    do
        r = job_turn(job, true, err);
    while (r == 0);
    return r < 0 ? r : job_take_result(job, ret, err);
}

/* Compiled with what only this job saw: see layer_key_artifact. */
static void forget_artifact(const sbr_job *job)
{
    sbr_error ignored; /* then it is pruned like any other */

    if ((job->req->project || job->req->workspace) && job->layers[LAYER_BUILD].key[0])
        (void)!store_remove(STORE_ARTIFACT, job->layers[LAYER_BUILD].key, &ignored);
}

void job_free(sbr_job *job)
{
    if (!job)
        return;
    stages_drop(job);
    warm_done(job);
    forget_artifact(job);
    job_trees_done(job);
    client_config_installer_done(&job->installer);
    for (size_t i = 0; i < job->n_done; i++)
        result_free(job->done[i]);
    result_free(job->result);
    loop_done(&job->loop);
    scope_close_fd(&job->cancel_fd);
    free(job);
}

void job_leave(sbr_job *job)
{
    if (!job)
        return;
    if (job->now.watching) {
        sandbox_end(&job->now.box);
        janitor_free(job->now.box.janitor);
    }
    if (job->now.staged)
        store_discard(&job->now.staging);
    forget_artifact(job);
    job_trees_done(job);
}

const char *job_locate(const struct language *language)
{
    static __thread struct toolchain found;
    sbr_error ignored;

    return toolchain_find(language, NULL, &found, &ignored) == 0 ? found.binary : NULL;
}
