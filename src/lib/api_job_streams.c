/* sbr_job: what becomes of the program's streams. */
#include <signal.h>

#include "lib/job_client.h"

static void out_read(void *context, const char *data, size_t len)
{
    const struct job_client *client = context;

    client->on_output(client->output_context, SBR_STDOUT, data, len);
}

static void err_read(void *context, const char *data, size_t len)
{
    const struct job_client *client = context;

    client->on_output(client->output_context, SBR_STDERR, data, len);
}

int sbr_job_on_output(sbr_job *job, sbr_output_fn *fn, void *context)
{
    if (!job_client_is_new(job))
        return SBR_E_INVALID;
    job->client->on_output = fn;
    job->client->output_context = context;
    job->options.sink_out = (struct capture_sink){ fn ? out_read : NULL, job->client };
    job->options.sink_err = (struct capture_sink){ fn ? err_read : NULL, job->client };
    return 0;
}

static int pass_stdin(sbr_job *job, int fd)
{
    if (job->client->feeds)
        return SBR_E_INVALID;
    job->options.stdin_data = NULL;
    job->options.stdin_len = 0;
    job->options.stdin_fd = fd;
    return 0;
}

static void pass_on(struct forward *forward, int fd)
{
    forward_done(forward);
    forward_init(forward, fd);
}

int sbr_job_pass(sbr_job *job, enum sbr_stream stream, int fd)
{
    if (!job_client_is_new(job) || fd < 0)
        return SBR_E_INVALID;
    switch (stream) {
    case SBR_STDIN:
        return pass_stdin(job, fd);
    case SBR_STDOUT:
        pass_on(&job->client->out, fd);
        job->options.forward_out = &job->client->out;
        return 0;
    case SBR_STDERR:
        pass_on(&job->client->err, fd);
        job->options.forward_err = &job->client->err;
        return 0;
    }
    return SBR_E_INVALID;
}

int sbr_job_set_result_output(sbr_job *job, int keep)
{
    if (!job_client_is_new(job))
        return SBR_E_INVALID;
    job->options.keep_output = keep != 0;
    return 0;
}

static void go_on_feeding(sbr_job *job)
{
    if (job_client_running(job))
        stdin_pump_go_on(&job->now.monitor.stdin_pump);
}

static void room_came(void *context)
{
    const sbr_job *job = context;
    sbr_event event = { .type = SBR_EVENT_STDIN };

    job_client_report(job, &event);
}

static void open_feed(sbr_job *job)
{
    struct job_client *client = job->client;

    stdin_pump_open_feed(&client->feed);
    client->feed.on_room = room_came;
    client->feed.context = job;
    client->feeds = true;
    job->options.stdin_feed = &client->feed;
}

int64_t sbr_job_write_stdin(sbr_job *job, const void *data, size_t len)
{
    size_t taken;

    if (!job || (!data && len))
        return SBR_E_INVALID;
    if (job_client_is_new(job) && !job->client->feeds && job->options.stdin_fd < 0)
        open_feed(job);
    if (!job->client->feeds || !job->client->feed.is_open)
        return SBR_E_INVALID;
    if (job->client->feed.is_gone || job->state == JOB_DONE)
        return SBR_E_NOT_FOUND;
    taken = stdin_pump_put(&job->client->feed, data, len);
    go_on_feeding(job);
    /* Found out just now: of a write that was cut short, no event will report room. */
    if (job->client->feed.is_gone)
        return SBR_E_NOT_FOUND;
    return (int64_t)taken;
}

int sbr_job_close_stdin(sbr_job *job)
{
    if (!job || !job->client->feeds || !job->client->feed.is_open)
        return SBR_E_INVALID;
    job->client->feed.is_open = false;
    go_on_feeding(job);
    return 0;
}

int sbr_job_hold_output(sbr_job *job, int hold)
{
    if (!job)
        return SBR_E_INVALID;
    job->client->held = hold != 0;
    job_client_apply_hold(job);
    return 0;
}

int sbr_job_signal(sbr_job *job, int number)
{
    struct monitor *monitor = job ? job_client_running(job) : NULL;

    if (!job || number <= 0 || number > SIGRTMAX)
        return SBR_E_INVALID;
    if (monitor && monitor->state != DONE)
        monitor_signal(monitor, number);
    return 0;
}

int sbr_job_resize(sbr_job *job, unsigned int rows, unsigned int columns)
{
    struct monitor *monitor = job ? job_client_running(job) : NULL;

    if (!job || !rows || !columns || rows > UINT16_MAX || columns > UINT16_MAX)
        return SBR_E_INVALID;
    if (monitor && monitor->state != DONE)
        monitor_resize(monitor, rows, columns);
    return 0;
}
