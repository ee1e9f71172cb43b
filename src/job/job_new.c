/* A job from its making to its end in memory. */
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/clock.h"
#include "image/image.h"
#include "job/engine_socket.h"
#include "job/job.h"
#include "job/job_steps.h"
#include "job/job_trees.h"

static void cancel_wanted(void *context, uint32_t events)
{
    sbr_job *job = context;
    uint64_t count;

    (void)events;
    if (read(job->cancel_fd, &count, sizeof(count)) != (ssize_t)sizeof(count))
        return;
    job->cancelled = true;
    job_table_handle(job, EV_CANCEL);
    if (count > 1) /* two that came together: the second one ends the grace */
        job_table_handle(job, EV_CANCEL);
}

static void engine_answered(sbr_job *job)
{
    job_table_handle(job, EV_ANSWERED);
}

/* The engine knows the shipped policies only. */
static bool has_own_policy(const sbr_request *req)
{
    const struct policy *policy = req->policy ? policy_find(req->policy) : NULL;

    return policy && policy->is_own;
}

int job_new(const sbr_runtime *rt, const sbr_request *req, const struct monitor_options *options,
            sbr_job **ret, sbr_error *err)
{
    sbr_job *job = calloc(1, sizeof(*job));

    if (!job)
        return err_set_oom(err, "job");
    job->rt = rt;
    job->req = req;
    job->loop.epoll_fd = job->loop.timer.fd = -1;
    job->now.lock_fd = job->now.box.init.pidfd = -1;
    job->warm =
        (struct warm){ .off = rt->cold || engine_is_unwanted() || has_own_policy(req) ||
                              req->kernel || req->profiled || !request_backend_is_native(req),
                       .fd = -1,
                       .answered = engine_answered };
    job->options =
        options ? *options
                : (struct monitor_options){ .keep_output = true,
                                            .stdin_data = req->stdin_data,
                                            .stdin_len = req->stdin_data ? req->stdin_len : 0,
                                            .stdin_fd = -1,
                                            .started_us = clock_now_us() };
    job->started_us = job->options.started_us ? job->options.started_us : clock_now_us();
    job->started_at_us = clock_read_us(CLOCK_REALTIME) - (clock_now_us() - job->started_us);
    job->cancel_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    job->cancel_watch = loop_watch_of(job->cancel_fd, cancel_wanted, job);
    if (job->cancel_fd < 0 || loop_init_timers(&job->loop, "monitor", err) < 0 ||
        loop_add(&job->loop, &job->cancel_watch, EPOLLIN) < 0) {
        job_free(job);
        return err_set_errno(err, "job", "cannot make an event loop");
    }
    *ret = job;
    return 0;
}

/* An artifact that was compiled with what only this job saw goes with the job: see
 * layer_key_artifact. */
static void forget_artifact(const sbr_job *job)
{
    sbr_error ignored; /* then it is pruned like any other */

    if (!job->req->of_project && (job->req->project || job->req->workspace) &&
        job->layers[LAYER_BUILD].key[0])
        (void)!store_remove(STORE_ARTIFACT, job->layers[LAYER_BUILD].key, &ignored);
}

void job_free(sbr_job *job)
{
    if (!job)
        return;
    job->warm.lingers = false;
    stage_run_drop(job);
    job_output_end(job, NULL);
    buf_done(&job->warm.blueprint);
    engine_connections_give(job->rt->pool, &job->warm);
    forget_artifact(job);
    job_trees_done(job);
    image_free(job->image);
    allowed_commands_done(&job->commands);
    client_config_installer_done(&job->installer);
    for (size_t i = 0; i < job->n_done; i++)
        result_free(job->done[i]);
    result_free(job->result);
    free(job->compile_output);
    loop_done(&job->loop);
    scope_close_fd(&job->cancel_fd);
    publish_listeners_close(&job->listeners);
    for (size_t i = 0; i < N_LAYERS; i++)
        if (job->held[i])
            close(job->held[i] - 1);
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
    job_output_end(job, NULL);
    forget_artifact(job);
    job_trees_done(job);
}
