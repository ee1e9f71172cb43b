#include "lib/runner.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>

#include "backend/backend.h"
#include "changes/changeset.h"
#include "config/audit.h"
#include "image/image.h"
#include "job/job_trees.h"
#include "job/job_types.h"
#include "lib/job_client.h"
#include "sandbox/sandbox.h"

void runner_probe(sbr_runtime *rt, enum runner_use use)
{
    sbr_error ignored; /* it was logged; the plan of a run then says what is missing */

    probe_features(&rt->features);
    if (use == RUNNER_PLAN) {
        probe_by_trial(&rt->features);
        return;
    }
    if (use == RUNNER_LONG)
        cgroup_sweep(&rt->features.cgroup); /* a single run does it while its program runs */
    (void)cgroup_prepare(&rt->features.cgroup, &ignored);
}

int runner_open(enum runner_use use, bool cold, sbr_runtime **ret, sbr_error *err)
{
    sbr_runtime *rt = calloc(1, sizeof(*rt));

    if (!rt)
        return err_set_oom(err, "runtime");
    rt->cold = cold;
    rt->once = use == RUNNER_ONCE;
    runner_probe(rt, use);
    if (use == RUNNER_LONG && !cold)
        rt->pool = engine_connections_new(); /* without memory for it every job connects anew */
    *ret = rt;
    return 0;
}

const char *const *runner_backends(void)
{
    return backend_known;
}

const struct features *runner_features(const sbr_runtime *rt)
{
    return &rt->features;
}

void runner_set_up(sbr_job *job, uint64_t started_us, const struct diff_options *diff)
{
    job->options.started_us = started_us;
    job->render = diff;
}

int runner_drop_changes(const char *id, sbr_error *err)
{
    return changeset_drop(id, err);
}

void runner_notice_changes(sbr_job *job)
{
    job->notices_changes = true;
}

void runner_skip_version(sbr_job *job)
{
    job->skips_version = true;
}

void runner_set_id(sbr_job *job, const char *id)
{
    snprintf(job->client->id, sizeof(job->client->id), "%s", id);
}

void runner_keep_place(sbr_job *job)
{
    job->warm.lingers = true;
}

const char *runner_engine_note(const sbr_job *job)
{
    return job->warm.note[0] ? job->warm.note : NULL;
}

bool runner_find_version(sbr_job *job, sbr_result *result, bool may_wait)
{
    if (may_wait)
        warm_release(job); /* the sandbox that is asked needs a place, too */
    return job_version_find(job, result, may_wait);
}

void runner_filter(sbr_job *job, enum sbr_stream stream, runner_filter_fn *filter, void *state)
{
    struct forward *forward = stream == SBR_STDOUT ? &job->client->out : &job->client->err;

    forward->filter = filter;
    forward->filter_state = state;
}

static void fd_readable(void *context, uint32_t events)
{
    const struct job_client *client = context;

    (void)events;
    client->readable(client->readable_context);
}

/* The loop that would call back does not turn. */
static void look_at_fd(void *context)
{
    const struct job_client *client = context;
    struct pollfd fd = { .fd = client->watch.fd, .events = POLLIN };

    if (poll(&fd, 1, 0) > 0)
        client->readable(client->readable_context);
}

int runner_watch(sbr_job *job, int fd, void (*readable)(void *context), void *context,
                 sbr_error *err)
{
    struct job_client *client = job->client;

    client->readable = readable;
    client->readable_context = context;
    client->watch = loop_watch_of(fd, fd_readable, client);
    job->on_wait = look_at_fd;
    job->on_wait_context = client;
    if (loop_add(&job->loop, &client->watch, EPOLLIN) < 0)
        return err_set_errno(err, "run", "cannot watch a file descriptor of the client");
    return 0;
}

bool runner_has_trees(const sbr_job *job)
{
    return job->req->project || job->req->n_volumes;
}

void runner_open_trees(sbr_job *job)
{
    job_trees_open_early(job);
}

void runner_use_tty(sbr_job *job, const struct runner_tty *tty)
{
    job->options.stdin_tap = tty->keys;
    job->options.stdin_tap_context = tty->context;
    job->options.hold_stdin = tty->hold_stdin;
    job->options.on_terminal = tty->began;
}

void runner_interrupt(sbr_job *job)
{
    struct monitor *monitor = job_monitor(job);

    if (monitor)
        monitor_interrupt(monitor);
    else
        job_cancel(job);
}

void runner_signal(sbr_job *job, int number)
{
    const struct monitor *monitor = job_monitor(job);

    if (monitor)
        monitor_signal(monitor, number);
}

void runner_pause(sbr_job *job, bool pause)
{
    if (job)
        job_pause(job, pause);
}

void runner_await_pause(sbr_job *job)
{
    const struct monitor *monitor = job_monitor(job);

    if (monitor)
        monitor_await_pause(monitor);
}

void runner_resize(sbr_job *job, unsigned int rows, unsigned int columns)
{
    struct monitor *monitor = job_monitor(job);

    if (monitor)
        monitor_resize(monitor, rows, columns);
}

void runner_hold_stdin(sbr_job *job, bool held)
{
    struct monitor *monitor = job_monitor(job);

    if (monitor)
        monitor_hold_stdin(monitor, held);
}

bool runner_look_at_tty(sbr_job *job, struct tty_state *ret)
{
    const struct monitor *monitor = job_monitor(job);

    return monitor && monitor_look_at_tty(monitor, ret);
}

bool runner_output_is_idle(const sbr_job *job)
{
    return forward_is_idle(&job->client->out) && forward_is_idle(&job->client->err);
}

static bool is_in_line(const struct forward *forward)
{
    return forward->last && forward->last != '\n';
}

bool runner_is_in_line(const sbr_job *job, bool out)
{
    return is_in_line(&job->client->err) || (out && is_in_line(&job->client->out));
}

const sbr_result *runner_stage_done(const sbr_job *job, size_t i)
{
    return i < job->n_done ? job->done[i] : NULL;
}

const char *runner_earlier_output(const sbr_job *job)
{
    return job->cached ? job->compile_output : NULL;
}

bool runner_lost_reader(const sbr_job *job)
{
    const struct forward *out = &job->client->out;

    return job->options.forward_out && out->fd < 0 && !out->sys_errno;
}

const struct language *runner_owes_prepared(const sbr_job *job)
{
    return job && job->owes_prepared ? job->language : NULL;
}

void runner_leave(sbr_runtime *rt, sbr_job *job)
{
    /* The process ends, and freeing would only delay that: memory that is still pointed at is no
     * leak, whoever looks for leaks. */
    static struct {
        sbr_runtime *volatile rt;
        sbr_job *volatile job;
    } left;

    left.rt = rt;
    left.job = job;
    job_leave(left.job);
}

int runner_plan(const sbr_runtime *rt, const sbr_request *req, struct plan **ret, sbr_error *err)
{
    return job_plan(rt, req, ret, err);
}

const char *runner_locate(const struct language *language)
{
    return job_locate(language);
}

int runner_record_apply(const sbr_request *base, const char *changes_id, const char *caller,
                        sbr_error *err)
{
    const struct audit_field fields[] = { { "changes", changes_id }, { "caller", caller } };

    return base->audit ? audit_note("apply", fields, ARRAY_LEN(fields), err) : 0;
}

bool runner_config_dir(char *path, size_t size)
{
    return own_places_config(path, size);
}

bool runner_has_image(const char *ref)
{
    sbr_error ignored;

    return image_is_here(ref, &ignored) == 1;
}
