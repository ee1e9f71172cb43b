#include "cli/stream.h"

#include <stdio.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/text.h"
#include "model/result.h"

#define METRICS_MIN_MS 10
#define METRICS_MAX_MS 3600000
#define LINE_MAX_BYTES 65536

static int read_interval(const char *text, unsigned int *ret, sbr_error *err)
{
    uint64_t ms = 0;
    enum text_fault fault = text_parse_duration(text, &ms);

    if (fault != TEXT_OK || ms < METRICS_MIN_MS || ms > METRICS_MAX_MS)
        return err_set(err, SBR_E_INVALID, "options",
                       "--metrics-every '%.40s' %s; give a time from 10ms to 1h", text,
                       fault != TEXT_OK      ? text_fault_reason(fault)
                       : ms < METRICS_MIN_MS ? "is too small"
                                             : "is too large");
    *ret = (unsigned int)ms;
    return 0;
}

int stream_check_options(const struct options *o, sbr_error *err)
{
    unsigned int unused;

    if (!o->metrics_every)
        return 0;
    if (!o->stream)
        return err_set(err, SBR_E_INVALID, "options",
                       "--metrics-every is about events; add --stream");
    return read_interval(o->metrics_every, &unused, err);
}

int stream_connect(struct event_stream *stream, sbr_job *job, const struct options *o,
                   sbr_error *err)
{
    unsigned int ms = 0;

    if (o->metrics_every && read_interval(o->metrics_every, &ms, err) < 0)
        return err->code;
    if (sbr_job_set_metrics_every(job, ms) < 0)
        return err_set(err, SBR_E_BUG, "events", "the job has begun already");
    return event_stream_start(stream, job, STDOUT_FILENO, o->request, err);
}

void stream_fail(const sbr_error *err)
{
    struct event_lines lines = { .started_us = clock_now_us() };
    scoped_free char *json = result_error_to_json(err);
    struct buf out;

    buf_init(&out, LINE_MAX_BYTES);
    event_lines_end(&lines, json, &out);
    if (out.len)
        (void)fwrite(out.data, 1, out.len, stdout);
    (void)fflush(stdout);
    buf_done(&out);
}
