#include "lib/runner.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/epoll.h>

#include "base/clock.h"
#include "job/job.h"
#include "job/own_places.h"
#include "sandbox/probe.h"

#define TIMER_READERS 0 /* a slot of the job's loop that a finished monitor does not use */

/* A job with its streams. */
struct runner {
    sbr_job *job;
    const struct runner_options *options;
    struct forward out, err;
    struct loop_watch client; /* of the client's own file descriptor */
    bool waits_for_readers;
};

void runner_probe(sbr_runtime *rt, enum runner_use use)
{
    sbr_error ignored; /* it was logged; the plan of a run then says what is missing */

    probe_features(&rt->features);
    if (use == RUNNER_PLAN) {
        probe_by_trial(&rt->features);
        return;
    }
    if (use == RUNNER_LONG)
        cgroup_sweep(&rt->features.cgroup);
    (void)cgroup_prepare(&rt->features.cgroup, &ignored);
}

int runner_open(enum runner_use use, bool cold, sbr_runtime **ret, sbr_error *err)
{
    sbr_runtime *rt = calloc(1, sizeof(*rt));

    if (!rt)
        return err_set_oom(err, "runtime");
    rt->cold = cold;
    runner_probe(rt, use);
    if (use == RUNNER_LONG && !cold)
        rt->pool = engine_connections_new(); /* without memory for it every job connects anew */
    *ret = rt;
    return 0;
}

const struct features *runner_features(const sbr_runtime *rt)
{
    return &rt->features;
}

static void fd_readable(void *context, uint32_t events)
{
    const struct runner *runner = context;

    (void)events;
    runner->options->events.readable(runner->options->events.context);
}

static void open_stream(struct forward *forward, const struct runner_stream *stream,
                        const sbr_request *req)
{
    forward_init(forward, stream->fd, req->limits.value[SBR_OUTPUT_BYTES]);
    forward->filter = stream->filter;
    forward->filter_state = stream->filter_state;
}

static struct monitor_options open_streams(struct runner *runner, const sbr_request *req)
{
    const struct runner_options *options = runner->options;
    struct monitor_options ret = { .keep_output = options->keep_output,
                                   .stdin_fd = options->stdin_fd,
                                   .started_us = options->started_us };

    if (options->out.fd >= 0) {
        open_stream(&runner->out, &options->out, req);
        ret.forward_out = &runner->out;
    }
    if (options->err.fd >= 0) {
        open_stream(&runner->err, &options->err, req);
        ret.forward_err = &runner->err;
    }
    if (req->stdin_data && options->stdin_fd < 0) {
        ret.stdin_data = req->stdin_data;
        ret.stdin_len = req->stdin_len;
    }
    return ret;
}

static int add_events(struct runner *runner, sbr_error *err)
{
    const struct runner_events *events = &runner->options->events;
    sbr_job *job = runner->job;

    job->on_stage = events->stage;
    job->on_copy = events->copied;
    job->on_queue = events->queued;
    job->on_stage_context = events->context;
    job->render = runner->options->diff;
    runner->client = loop_watch_of(events->fd, fd_readable, runner);
    if (events->fd >= 0 && loop_add(&job->loop, &runner->client, EPOLLIN) < 0)
        return err_set_errno(err, "run", "cannot watch a file descriptor of the client");
    return 0;
}

int runner_start(const sbr_runtime *rt, const sbr_request *req,
                 const struct runner_options *options, struct runner **ret, sbr_error *err)
{
    struct runner *runner = calloc(1, sizeof(*runner));
    struct monitor_options streams;

    *ret = runner;
    if (!runner)
        return err_set_oom(err, "run");
    runner->options = options;
    runner->out.fd = runner->err.fd = -1;
    streams = open_streams(runner, req);
    if (job_new(rt, req, &streams, &runner->job, err) < 0 || add_events(runner, err) < 0)
        return err->code;
    return job_begin(runner->job, err);
}

void runner_cancel(struct runner *runner)
{
    job_cancel(runner->job);
}

static void drop_readers(void *context, uint32_t events)
{
    struct runner *runner = context;

    (void)events;
    forward_done(&runner->out);
    forward_done(&runner->err);
}

/* After a cancel, when the program has ended, its readers get as long as the program would have. */
static void limit_readers(struct runner *runner)
{
    sbr_job *job = runner->job;
    uint64_t grace_us = job->req->limits.value[SBR_GRACE_MS] * 1000 + 1;

    if (runner->waits_for_readers || !job->cancelled || !job->now.watching ||
        job->now.monitor.state != DONE)
        return;
    runner->waits_for_readers = true;
    loop_set_timer(&job->loop, TIMER_READERS, clock_now_us() + grace_us, drop_readers, runner);
}

/* A part of the output must not look like all of it. */
static int check_stream(const struct forward *forward, const char *name, sbr_error *err)
{
    errno = forward->sys_errno;
    return errno ? err_set_errno(err, "output", "cannot write the program's %s", name) : 0;
}

int runner_finish(struct runner *runner, sbr_result **ret, sbr_error *err)
{
    int r;

    while ((r = job_turn(runner->job, true, err)) == 0)
        limit_readers(runner);
    if (r < 0 || job_take_result(runner->job, ret, err) < 0)
        return err->code;
    if (check_stream(&runner->out, "stdout", err) == 0 &&
        check_stream(&runner->err, "stderr", err) == 0)
        return 0;
    result_free(*ret);
    *ret = NULL;
    return err->code;
}

void runner_leave(struct runner *runner)
{
    if (runner)
        job_leave(runner->job);
}

int runner_plan(const sbr_runtime *rt, const sbr_request *req, struct plan **ret, sbr_error *err)
{
    return job_plan(rt, req, ret, err);
}

const char *runner_locate(const struct language *language)
{
    return job_locate(language);
}

bool runner_config_dir(char *path, size_t size)
{
    return own_places_config(path, size);
}
