#include "lib/event_lines.h"

#include <errno.h>

#include "base/clock.h"
#include "lib/job_client.h"

#define LINE_MAX_BYTES ((size_t)1 << 30) /* the result of a run that kept much */
#define HOLD_FROM ((size_t)1 << 20)      /* bytes that wait for the reader */
#define KEPT_ROOM ((size_t)1 << 16)
#define AT_ONCE 1 /* for a timer: in the past */

static void hold(struct event_stream *stream, bool wanted)
{
    if (stream->holds != wanted)
        (void)sbr_job_hold_output(stream->job, wanted);
    stream->holds = wanted;
}

/* As a pipe would end a program that writes into it: at once. */
static void reader_left(struct event_stream *stream)
{
    if (stream->is_gone)
        return;
    stream->is_gone = true;
    sbr_job_cancel(stream->job);
    sbr_job_cancel(stream->job);
}

static void reader_is_ready(void *context)
{
    hold(context, false);
}

/* Keeps the room: small output comes often. */
static void empty(struct buf *lines)
{
    if (lines->failed || lines->capacity > KEPT_ROOM) {
        buf_done(lines);
        buf_init(lines, LINE_MAX_BYTES);
    }
    lines->len = 0;
}

static void write_waiting(struct event_stream *stream)
{
    struct buf *lines = &stream->waiting;

    if (lines->failed && !stream->to.sys_errno)
        stream->to.sys_errno = ENOMEM;
    if (lines->len && forward_write(&stream->to, lines->data, lines->len) < 0)
        reader_left(stream);
    empty(lines);
    if (stream->holds || forward_queued(&stream->to) <= HOLD_FROM)
        return;
    hold(stream, true);
    forward_when_ready(&stream->to, reader_is_ready, stream);
}

static void job_waits(void *context, uint32_t events)
{
    (void)events;
    write_waiting(context);
}

/* For lines before the program's own: each write wakes the reader, which would take a CPU
 * from the sandbox that is being made. */
static void write_when_job_waits(struct event_stream *stream)
{
    loop_set_timer(&stream->job->loop, TIMER_EVENTS, AT_ONCE, job_waits, stream);
}

static void output_came(void *context, int number, const char *data, size_t len)
{
    struct event_stream *stream = context;

    event_lines_output(&stream->lines, number, data, len, &stream->waiting);
    write_waiting(stream);
}

static void event_came(void *context, const sbr_event *event)
{
    struct event_stream *stream = context;

    event_lines_event(&stream->lines, event, &stream->waiting);
    if (event->type == SBR_EVENT_STAGE)
        write_when_job_waits(stream);
    else
        write_waiting(stream); /* progress, for one, comes while the job does not wait for long */
    if (stream->also)
        stream->also(stream->context, event);
}

int event_stream_start(struct event_stream *stream, sbr_job *job, int fd, const sbr_request *req,
                       sbr_error *err)
{
    stream->job = job;
    stream->lines = (struct event_lines){ .started_us = job->options.started_us };
    forward_init(&stream->to, fd);
    forward_attach(&stream->to, &job->loop);
    stream->to.queue.max = LINE_MAX_BYTES; /* a line is one write, however slow the reader */
    if (sbr_job_on_output(job, output_came, stream) < 0 ||
        sbr_job_on_event(job, event_came, stream) < 0)
        return err_set(err, SBR_E_BUG, "events", "the job has begun already");
    buf_init(&stream->waiting, LINE_MAX_BYTES);
    event_lines_start(&stream->lines, req, &stream->waiting);
    write_when_job_waits(stream);
    return 0;
}

void event_stream_end(struct event_stream *stream, const char *result)
{
    event_lines_end(&stream->lines, result, &stream->waiting);
    write_waiting(stream);
    buf_done(&stream->waiting);
}

bool event_stream_wait(struct event_stream *stream)
{
    return !forward_is_idle(&stream->to) && loop_turn(&stream->job->loop, LOOP_FOREVER) >= 0 &&
           !forward_is_idle(&stream->to);
}

int event_stream_check(const struct event_stream *stream, sbr_error *err)
{
    errno = stream->to.sys_errno;
    return errno ? err_set_errno(err, "events", "cannot write the events") : 0;
}
