#include "lib/event_stream.h"

#include <errno.h>

#include "base/clock.h"
#include "lib/job_client.h"

#define LINE_MAX_BYTES ((size_t)1 << 30) /* the result of a run that kept much */
#define HOLD_FROM ((size_t)1 << 20)      /* bytes that wait for the reader */

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

/* The start and the line after it in one write: each wakes the reader, before the program began. */
static void join_first(struct event_stream *stream, struct buf *lines)
{
    if (!stream->first.len)
        return;
    buf_add(&stream->first, lines->data, lines->len);
    stream->first.failed |= lines->failed;
    buf_done(lines);
    *lines = stream->first;
    buf_init(&stream->first, LINE_MAX_BYTES);
}

/* Takes the lines over. */
static void write_lines(struct event_stream *stream, struct buf *lines)
{
    join_first(stream, lines);
    if (lines->failed && !stream->to.sys_errno)
        stream->to.sys_errno = ENOMEM;
    if (lines->len && forward_write(&stream->to, lines->data, lines->len) < 0)
        reader_left(stream);
    buf_done(lines);
    if (stream->holds || forward_queued(&stream->to) <= HOLD_FROM)
        return;
    hold(stream, true);
    forward_when_ready(&stream->to, reader_is_ready, stream);
}

static void output_came(void *context, int number, const char *data, size_t len)
{
    struct event_stream *stream = context;
    struct buf lines;

    buf_init(&lines, LINE_MAX_BYTES);
    event_lines_output(&stream->lines, number, data, len, &lines);
    write_lines(stream, &lines);
}

static void event_came(void *context, const sbr_event *event)
{
    struct event_stream *stream = context;
    struct buf lines;

    buf_init(&lines, LINE_MAX_BYTES);
    event_lines_event(&stream->lines, event, &lines);
    write_lines(stream, &lines);
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
    if (sbr_job_on_output(job, output_came, stream) < 0 ||
        sbr_job_on_event(job, event_came, stream) < 0)
        return err_set(err, SBR_E_BUG, "events", "the job has begun already");
    buf_init(&stream->first, LINE_MAX_BYTES);
    event_lines_start(&stream->lines, req, &stream->first);
    return 0;
}

void event_stream_end(struct event_stream *stream, const char *result)
{
    struct buf lines;

    buf_init(&lines, LINE_MAX_BYTES);
    event_lines_end(&stream->lines, result, &lines);
    write_lines(stream, &lines);
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
