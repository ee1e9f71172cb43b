/* One stage from its plan to a sandbox that the monitor watches. */
#include <stdio.h>
#include <unistd.h>

#include "backend/backend.h"
#include "base/clock.h"
#include "base/log.h"
#include "job/job_steps.h"
#include "job/job_trees.h"

/* The loop does not turn while a container is made, so this notices that the job was cancelled. */
static bool start_goes_on(void *context)
{
    sbr_job *job = context;
    uint64_t count;

    if (job->on_wait)
        job->on_wait(job->on_wait_context);
    if (read(job->cancel_fd, &count, sizeof(count)) == (ssize_t)sizeof(count))
        job->cancelled = true;
    return !job->cancelled;
}

static enum job_event start_planned(sbr_job *job, const struct features *features, sbr_error *err)
{
    struct stage_run *now = &job->now;
    struct stage_input input;
    bool asked = now->asked;

    plan_free(now->plan);
    now->plan = NULL;
    if (stage_plan_input(job, now->stage, features, &input, err) < 0 ||
        planner_make(&input.in, &now->plan, err) < 0 || !now->plan)
        return EV_ERROR;
    snprintf(job->run_dir, sizeof(job->run_dir), "%s",
             now->plan->run_dir ? now->plan->run_dir : "");
    log_debug("plan", "stage %s, isolation %s, %zu mount operations, %zu filter instructions",
              stage_name(now->stage), request_tier_name(now->plan->isolation.tier),
              now->plan->n_ops, plan_filter_len(now->plan));
    now->asked = true;
    if (!asked && !now->plan->has_secrets && warm_ask(job, &input.in))
        return EV_ASKED;
    if (backend_start(job->req->backend, &now->box, now->plan,
                      &(struct sandbox_means){ features,
                                               &job->listeners,
                                               job->now.helper.started ? job->now.helper.link : -1,
                                               { start_goes_on, job } },
                      err) == 0)
        return EV_STARTED;
    return job->cancelled ? EV_CANCEL : EV_ERROR;
}

/* Only an attempt shows which overlay a file system takes. */
static enum job_event start_with_trees(sbr_job *job, const struct features *features,
                                       sbr_error *err)
{
    for (;;) {
        enum job_event event = EV_ERROR;

        if (job->now.has_trees || job_trees_prepare(job, job->now.stage, err) == 0)
            event = start_planned(job, features, err);
        job->now.has_trees = event == EV_ASKED; /* another attempt needs other ones */
        if (event != EV_ERROR || !job_trees_have_another_way(job->trees, err_retry(err)))
            return event;
        log_info("sandbox", "%s", err->message);
    }
}

/* Only an attempt shows whether a container's filter, a chroot or the like refuses a new user
 * namespace; then the stage is planned again for a machine without. */
static enum job_event start_anyhow(sbr_job *job, sbr_error *err)
{
    struct features without = job->rt->features;
    enum job_event event = start_with_trees(job, &job->rt->features, err);

    if (event != EV_ERROR || err_retry(err) != ERR_WITHOUT_USER_NAMESPACES ||
        !without.user_namespaces)
        return event;
    log_info("sandbox", "%s", err->message);
    without.user_namespaces = false;
    without.barrier = BARRIER_REFUSED;
    return start_with_trees(job, &without, err);
}

static void tell_stage(const sbr_job *job)
{
    if (job->on_stage)
        job->on_stage(job->on_stage_context, job->now.stage);
}

static enum job_event begin(sbr_job *job, sbr_error *err)
{
    job->now.stage = job->todo[job->at];
    job->now.started_us = clock_now_us();
    job->now.paused_us = job_paused_us(job);
    log_info(stage_name(job->now.stage), "begins");
    tell_stage(job);
    if (stage_plan_set_up(job, err) < 0 || stage_secrets_start(job, err) < 0 ||
        job_layers_open(job, err) < 0)
        return EV_ERROR;
    return start_anyhow(job, err);
}

enum job_event stage_start_next(sbr_job *job, enum job_event event, sbr_error *err)
{
    (void)event;
    if (job->cancelled)
        return EV_CANCEL;
    if (job->at == job->n_todo)
        return EV_NONE_LEFT;
    switch (job_layers_take_turn(job, job->todo[job->at], err)) {
    case LAYER_TO_MAKE:
        return begin(job, err);
    case LAYER_BUSY:
        return EV_BUSY;
    case LAYER_THERE: /* another process has made it meanwhile */
        stage_run_drop(job);
        job->at++;
        return EV_NEXT;
    case LAYER_ERROR:
        break;
    }
    return EV_ERROR;
}

enum job_event stage_start_answered(sbr_job *job, enum job_event event, sbr_error *err)
{
    enum warm_entry entry = warm_enter(job, err);

    (void)event;
    if (job->warm.queued)
        tell_stage(job); /* the job waits no longer */
    if (entry == WARM_COLD)
        return start_anyhow(job, err);
    return entry == WARM_ENTERED ? EV_STARTED : EV_ERROR;
}

/* Directories for what the run changes and puts out. */
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

enum job_event stage_start_watch(sbr_job *job, enum job_event event, sbr_error *err)
{
    struct stage_run *now = &job->now;
    struct monitor_options options = { .keep_output = true, .stdin_fd = -1 };

    (void)event;
    log_debug("sandbox", "set-up goes on inside");
    if (open_parts(job, err) < 0) {
        sandbox_end(&now->box); /* no monitor ends it yet */
        sandbox_done(&now->box);
        return EV_ERROR;
    }
    if (now->stage == STAGE_RUN) {
        options = job->options;
        job_output_begin(job, &options);
    }
    if (!options.started_us || job->n_done)
        options.started_us = now->started_us;
    options.loop = &job->loop;
    options.startup = now->startup;
    options.stage = now->stage;
    if (now->stage == STAGE_RUN) /* the remedies of the other stages are known at their end */
        options.on_denial = (struct denials_watch){ job->on_denial, job->on_stage_context };
    /* A failed program's last words are for the diagnosis. */
    options.keep_tail =
        now->stage == STAGE_RUN || (job->language && job->language->diagnosis.n_errors);
    now->watching = true;
    options.collect_reader = now->collecting ? &now->collect_reader : NULL;
    if (monitor_start(&now->monitor, &now->box, now->plan, &options, err) < 0)
        return EV_ERROR;
    /* The stage runs meanwhile, so that neither look delays anything. */
    if (job->rt->once && !job->n_done && !now->box.standby)
        cgroup_sweep(&job->rt->features.cgroup);
    if (job->language && !job->skips_version)
        (void)toolchain_version(job->language, NULL, &job->toolchain);
    return EV_NOTHING;
}
