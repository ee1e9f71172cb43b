#include "lib/job_client.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>

#include "base/clock.h"
#include "monitor/monitor.h"

bool job_client_is_new(const sbr_job *job)
{
    return job && !job->client->begun;
}

/* The program's own stage is watched: its streams are there. */
struct monitor *job_client_running(sbr_job *job)
{
    return job->now.watching && job->now.stage == STAGE_RUN ? &job->now.monitor : NULL;
}

void job_client_apply_hold(sbr_job *job)
{
    struct monitor *monitor = job_client_running(job);

    if (!monitor)
        return;
    capture_stop(&monitor->out, job->client->held);
    capture_stop(&monitor->err, job->client->held);
}

void job_client_report(const sbr_job *job, sbr_event *event)
{
    const struct job_client *client = job->client;

    event->struct_size = sizeof(*event);
    event->time_us = clock_now_us() - job->options.started_us;
    event->stage = client->stage;
    if (client->on_event)
        client->on_event(client->event_context, event);
}

void job_client_metrics(const sbr_job *job, sbr_metrics *ret)
{
    const struct stage_run *now = &job->now;
    uint64_t ready_us;

    *ret = (sbr_metrics){ .struct_size = sizeof(*ret) };
    if (!now->watching)
        return;
    live_usage_read(&now->monitor, ret);
    if (now->monitor.state == DONE)
        return;
    ready_us = now->box.report->ready_us;
    ret->stage = stage_name(now->stage);
    ret->wall_us = ready_us ? clock_now_us() - ready_us : 0;
}

static void metrics_due(void *context, uint32_t events)
{
    sbr_job *job = context;
    sbr_metrics metrics;
    sbr_event event = { .type = SBR_EVENT_METRICS, .metrics = &metrics };

    (void)events;
    loop_set_timer(&job->loop, TIMER_METRICS, clock_now_us() + job->client->metrics_every_us,
                   metrics_due, job);
    job_client_metrics(job, &metrics);
    if (metrics.stage)
        job_client_report(job, &event);
}

static void measure(sbr_job *job)
{
    if (job->client->metrics_every_us)
        loop_set_timer(&job->loop, TIMER_METRICS, clock_now_us() + job->client->metrics_every_us,
                       metrics_due, job);
}

/* The command line ignores SIGPIPE; another caller may not know that it should. */
static bool must_guard(const sbr_job *job)
{
    struct sigaction now;

    return (job->options.forward_out || job->options.forward_err) &&
           sigaction(SIGPIPE, NULL, &now) == 0 && now.sa_handler != SIG_IGN;
}

void job_client_begin(sbr_job *job)
{
    job->client->guards_pipe = must_guard(job);
    measure(job);
}

void job_client_turned(sbr_job *job)
{
    if (job->client->held)
        job_client_apply_hold(job); /* the program may have begun since */
}

/* A part of the output must not look like all of it. */
static int check_stream(const struct forward *forward, const char *name, sbr_error *err)
{
    errno = forward->sys_errno;
    return errno ? err_set_errno(err, "output", "cannot write the program's %s", name) : 0;
}

int job_client_check(const sbr_job *job, sbr_error *err)
{
    if (check_stream(&job->client->out, "stdout", err) < 0)
        return err->code;
    return check_stream(&job->client->err, "stderr", err);
}

void job_client_free(struct job_client *client)
{
    if (!client)
        return;
    client->out.watch.on = client->err.watch.on = false; /* their loop is gone */
    forward_done(&client->out);
    forward_done(&client->err);
    stdin_pump_free_feed(&client->feed);
    free(client);
}
