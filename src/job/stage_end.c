/* What a stage leaves: its result, its layer, the changes of the run. */
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/text.h"
#include "explain/denial_text.h"
#include "explain/ending.h"
#include "job/job_steps.h"
#include "job/job_trees.h"
#include "toolchain/registries.h"

/* Sandbox and connection end at the same time, and may be seen to end in any order. */
#define FAREWELL_MS 500

/* While the plan is still there: what it allowed, and the files that the program's last words
 * name. */
static void note_plan(const sbr_job *job)
{
    const struct plan *plan = job->now.plan;
    sbr_result *result = job->now.monitor.result;
    sbr_error ignored; /* a list without its end is better than no result */
    scoped_last_words struct last_words said = { 0 };

    if (job->now.stage != STAGE_RUN || !result)
        return;
    result->policy = plan->policy ? plan->policy->name : NULL;
    result->network.mode = plan->network;
    result->network.allow_dns = plan->egress.allow_dns;
    for (size_t i = 0; i < plan->egress.n_rules; i++)
        if (network_add_rule(&result->network, &plan->egress.rules[i], &ignored) < 0)
            break;
    result->publish = job->listeners.published;
    publish_process_count(&job->now.box.publish, &result->publish);
    if (result_success(result) || job->cancelled)
        return;
    said = last_words_of(result);
    denial_text(plan, said.text, said.len, &result->denials);
}

/* An installer reaches what its client is configured for, whatever the options of the program. */
static void name_registry(struct denial *d)
{
    static const char plain[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789.:-_[]*";

    if (!strncmp(d->rule, DENIAL_CLOSED_RULE, strlen(DENIAL_CLOSED_RULE)))
        return; /* nothing opens it */
    if (d->target[strspn(d->target, plain)] == '\0')
        snprintf(d->remedy, sizeof(d->remedy),
                 "configure the client for it, or set " REGISTRIES_ENV "=%.240s", d->target);
    else
        snprintf(d->remedy, sizeof(d->remedy), "configure the client for it");
}

/* The options of the program change nothing about other stages than its own. */
static void name_remedies(enum stage stage, sbr_result *result)
{
    bool compile = stage == STAGE_COMPILE || stage == STAGE_CHECK;

    for (size_t i = 0; stage != STAGE_RUN && i < result->denials.n; i++) {
        struct denial *d = &result->denials.items[i];

        if (d->source == DENIAL_BY_LIMIT) /* the verdict knows what sets it */
            continue;
        if (!compile && (d->kind == DENIAL_CONNECT || d->kind == DENIAL_NAME))
            name_registry(d);
        else
            d->remedy[0] = '\0';
    }
}

static void report_denials(const sbr_job *job, const sbr_result *result)
{
    for (size_t i = 0; job->on_denial && i < result->denials.n; i++)
        job->on_denial(job->on_stage_context, &result->denials.items[i]);
}

/* One line for `sandbox-run cache`. */
static void describe_layer(const sbr_job *job, char about[STORE_ABOUT_SIZE])
{
    const struct string_list *deps = &job->req->deps;
    const char *source = job->req->n_files ? job->req->files[0].path : "code";
    enum stage stage = job->now.stage;
    size_t used = (size_t)snprintf(about, STORE_ABOUT_SIZE, "%s", job->language->name);

    for (size_t i = 0; stage == STAGE_INSTALL && i < deps->n && used < STORE_ABOUT_SIZE; i++)
        used += (size_t)snprintf(about + used, STORE_ABOUT_SIZE - used, "%s%s", i ? ", " : ": ",
                                 deps->items[i]);
    if (stage == STAGE_INSTALL && !deps->n)
        snprintf(about + used, STORE_ABOUT_SIZE - used, ": the project's own list");
    if (stage == STAGE_COMPILE)
        snprintf(about + used, STORE_ABOUT_SIZE - used, ": %.100s", source);
}

/* One text of both streams: what a compiler wrote is kept with its program. */
static char *text_of(const sbr_result *result)
{
    const struct output *streams[] = { &result->out, &result->err };
    struct buf text;

    buf_init(&text, STORE_NOTE_MAX);
    for (size_t i = 0; i < ARRAY_LEN(streams); i++) {
        size_t room = STORE_NOTE_MAX - text.len - 1, len = streams[i]->len;

        if (streams[i]->data)
            buf_add(&text, streams[i]->data, len < room ? len : room);
    }
    for (size_t i = 0, len; i < text.len; i += len) {
        len = text_character_len(text.data + i, text.len - i);
        if (!len || !text.data[i])
            text.data[i] = '?';
        len += !len;
    }
    if (text.len)
        return buf_take(&text, NULL);
    buf_done(&text);
    return NULL;
}

static int keep_layer(sbr_job *job, sbr_result *result, sbr_error *err)
{
    struct stage_run *now = &job->now;
    const sbr_error *failure = &now->collect_reader.failure;
    char about[STORE_ABOUT_SIZE];

    if (failure->code == SBR_E_DENIED) { /* the stage's own fault: its result says why */
        result->verdict = SBR_DENIED;
        snprintf(result->explanation, sizeof(result->explanation), "%.200s", failure->message);
        return 0;
    }
    if (failure->code) {
        *err = *failure;
        return err->code;
    }
    describe_layer(job, about);
    free(job->compile_output); /* of an attempt that the disk had no room for */
    job->compile_output = now->stage == STAGE_COMPILE ? text_of(result) : NULL;
    now->staging.remark = job->compile_output;
    now->staged = false; /* store_commit uses it up, also when it fails */
    return store_commit(&now->staging, job->keys[now->layer], about, &job->layers[now->layer], err);
}

/* A sandbox of the engine's ended, and not by what the program did.  True: the program had not
 * begun, so that the stage can be started once more. */
static bool lost_before_start(sbr_job *job, sbr_error *err)
{
    struct pollfd engine = { .fd = job->warm.fd, .events = POLLIN };
    bool gone;

    if (job->now.box.report->state < REPORT_RUNNING && !job->now.monitor.stdin_pump.used) {
        log_info("engine", "its sandbox ended too early, cold: %s", err->message);
        job->warm.off = true;
        return true;
    }
    gone = job->warm.fd < 0 || poll(&engine, 1, FAREWELL_MS) == 1;
    /* Not SBR_E_BUSY, which asks for a repetition: what the program did is done. */
    err_set(err, SBR_E_SYSTEM, "engine",
            "%s ended while the program ran: it had begun, and how it would have ended is unknown; "
            "look at what it did before you run it again",
            gone ? "the engine" : "a sandbox of the engine's");
    return false;
}

/* The last line that holds anything, without its newline. */
static void last_line(const struct output *said, char *line, size_t size)
{
    size_t len;
    const char *first = result_output_end(said, &len), *end = first + len, *start;

    line[0] = '\0';
    while (len && end > first && (end[-1] == '\n' || end[-1] == ' '))
        end--;
    for (start = end; len && start > first && start[-1] != '\n'; start--)
        continue;
    if (len)
        snprintf(line, size, "%.*s", (int)(end - start), start);
}

/* The program is not to blame for a language that cannot be made ready. */
static enum job_event fail_prepare(const sbr_job *job, sbr_result *result, sbr_error *err)
{
    char line[160];

    last_line(&result->err, line, sizeof(line));
    err_set(err, SBR_E_UNSUPPORTED, "prepare", "cannot make %s ready: %s", job->language->name,
            result->explanation[0] ? result->explanation : line);
    result_free(result);
    return EV_ERROR;
}

/* Takes the result over. */
static enum job_event judge(sbr_job *job, enum stage stage, sbr_result *result, sbr_error *err)
{
    bool good = result_success(result) || job->cancelled;

    name_remedies(stage, result);
    if (stage == STAGE_RUN) {
        job->result = result;
        return EV_ENDED;
    }
    report_denials(job, result);
    if (stage == STAGE_PREPARE && !good)
        return fail_prepare(job, result, err);
    job->done[job->n_done++] = result;
    return good ? EV_NEXT : EV_STAGE_FAILED;
}

enum job_event stage_end_collect(sbr_job *job, enum job_event event, sbr_error *err)
{
    struct stage_run *now = &job->now;
    enum stage stage = now->stage;
    sbr_result *result = NULL;
    bool again = false;
    int r;

    (void)event;
    note_plan(job);
    r = monitor_take_result(&now->monitor, &result, err);
    if (r < 0 && now->box.standby)
        again = lost_before_start(job, err);
    if (r == 0) {
        result->stage = stage_name(stage);
        result->usage.queue_us = job->warm.queue_us;
    }
    if (r == 0 && now->staged && result_success(result)) {
        r = keep_layer(job, result, err);
        again = r < 0 && layer_memory_restart(job, err);
    }
    if (r == 0 && stage == STAGE_RUN)
        r = job_trees_end(job, result, err);
    if (!again && stage == STAGE_RUN)
        job_output_end(job, r == 0 ? result : NULL);
    if (r == 0)
        result->stage_us = clock_now_us() - now->started_us - (job_paused_us(job) - now->paused_us);
    job->warm.lingers = job->warm.lingers && r == 0;
    now->lingers = stage == STAGE_RUN && now->box.standby; /* that is dead, or is killed then */
    stage_run_drop(job);
    if (r == 0) {
        job->at++;
        return judge(job, stage, result, err);
    }
    result_free(result);
    return again ? EV_NEXT : EV_ERROR;
}
