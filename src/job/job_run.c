/* A job from its first event to its last. */
#include <unistd.h>

#include "base/clock.h"
#include "job/job.h"
#include "job/job_steps.h"
#include "job/job_trees.h"

static void wake(void *context, uint32_t events)
{
    (void)context;
    (void)events;
}

/* A port that is in use ends the job before anything is compiled. */
static int listen_for(sbr_job *job, sbr_error *err)
{
    const struct publish *published = &job->listeners.published;

    if (!job->req->publish.n || job->req->check || job->listeners.n)
        return 0;
    if (publish_listeners_open(&job->listeners, &job->req->publish, err) < 0) {
        job->failure = *err;
        job->state = JOB_DONE;
        return err->code;
    }
    for (size_t i = 0; job->on_port && i < published->n; i++)
        job->on_port(job->on_stage_context, &published->rules[i]);
    return 0;
}

int job_run_begin(sbr_job *job, enum job_event event, sbr_error *err)
{
    if (listen_for(job, err) < 0)
        return err->code;
    job_table_handle(job, event);
    if (job->state == JOB_DONE && !job->result) {
        *err = job->failure;
        return err->code;
    }
    if (job->state == JOB_DONE) /* nothing had to be done: a caller that polls the loop wakes up */
        loop_set_timer(&job->loop, TIMER_RETRY, 1, wake, job);
    return 0;
}

int job_begin_with(sbr_job *job, const struct language *language, const struct toolchain *toolchain,
                   sbr_error *err)
{
    job->language = language;
    job->toolchain = *toolchain;
    job->todo[job->n_todo++] = STAGE_RUN;
    if (job->image && job_trees_open(job, err) != TREES_OPEN)
        return err->code;
    return job_run_begin(job, EV_NEXT, err);
}

/* At most one wait for each call, so that the caller can act when a stage is over. */
int job_turn(sbr_job *job, bool wait, sbr_error *err)
{
    bool begins = job->begins_later;

    job->begins_later = false;
    if (begins && job_run_begin(job, EV_GO, err) < 0)
        return err->code;
    if (job->state == JOB_DONE)
        return JOB_IS_OVER;
    if (loop_turn(&job->loop, wait ? LOOP_FOREVER : 0) < 0)
        return err_set_errno(err, "monitor", "cannot wait for events");
    if (job->state == JOB_RUNNING && monitor_is_over(&job->now.monitor))
        job_table_handle(job, EV_OVER);
    return job->state == JOB_DONE ? JOB_IS_OVER : JOB_GOES_ON;
}

void job_cancel(sbr_job *job)
{
    uint64_t one = 1;
    ssize_t ignored = write(job->cancel_fd, &one, sizeof(one));

    (void)ignored;
}

struct monitor *job_stage_monitor(sbr_job *job)
{
    return job->state == JOB_RUNNING && job->now.watching ? &job->now.monitor : NULL;
}

void job_pause(sbr_job *job, bool pause)
{
    struct monitor *monitor = job_stage_monitor(job);

    if (!pause)
        job->paused_us = job_paused_us(job);
    if (!pause || !job->paused_since_us)
        job->paused_since_us = pause ? clock_now_us() : 0;
    if (monitor && pause)
        monitor_pause(monitor);
    else if (monitor)
        monitor_resume(monitor);
}

struct monitor *job_monitor(sbr_job *job)
{
    return job->now.stage == STAGE_RUN ? job_stage_monitor(job) : NULL;
}

int job_finish(sbr_job *job, sbr_result **ret, sbr_error *err)
{
    int r;

    do
        r = job_turn(job, true, err);
    while (r == JOB_GOES_ON);
    return r < 0 ? r : job_take_result(job, ret, err);
}
