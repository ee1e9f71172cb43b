#include "lib/event_lines.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/encoding.h"
#include "base/jsonw.h"
#include "base/text.h"
#include "model/result.h"

static void begin_line(struct event_lines *lines, struct jsonw *j, const char *type)
{
    jsonw_init(j, false);
    jsonw_open(j, NULL, '{');
    jsonw_text(j, "type", type);
    jsonw_number(j, "seq", lines->seq++);
    jsonw_fixed(j, "time_ms", clock_now_us() - lines->started_us, 3);
}

/* printf looks at each byte of a long text twice, in the loop of the gateway. */
static void end_line(struct jsonw *j, struct buf *out)
{
    size_t len = 0;
    scoped_free char *text = NULL;

    jsonw_close(j, '}');
    text = buf_take(&j->out, &len);
    if (!text)
        out->failed = true; /* a line that is missing must not go unnoticed */
    else
        (void)(buf_add(out, text, len) + buf_add(out, "\n", 1));
}

void event_lines_start(struct event_lines *lines, const sbr_request *req, struct buf *out)
{
    struct jsonw j;

    begin_line(lines, &j, "start");
    jsonw_text(&j, "language", req->language);
    end_line(&j, out);
}

/* How many bytes at the end begin a character that needs more. */
static size_t unfinished(const char *data, size_t len)
{
    for (size_t n = 1; n <= EVENT_LINES_HELD && n <= len; n++) {
        unsigned char c = (unsigned char)data[len - n];
        size_t needs = c >= 0xf0 ? 4 : c >= 0xe0 ? 3 : c >= 0xc0 ? 2 : 1;

        if ((c & 0xc0) != 0x80) /* not a later byte of one */
            return needs > n ? n : 0;
    }
    return 0;
}

static void put_bytes(struct event_lines *lines, int stream, const char *data, size_t len,
                      struct buf *out)
{
    bool is_text = result_is_best_as_text(data, len);
    struct jsonw j;

    if (!len)
        return;
    begin_line(lines, &j, stream == SBR_STDERR ? "stderr" : "stdout");
    jsonw_long(&j, is_text ? "data" : "data_b64", data, len, !is_text);
    end_line(&j, out);
}

void event_lines_output(struct event_lines *lines, int stream, const char *data, size_t len,
                        struct buf *out)
{
    size_t which = stream == SBR_STDERR, n = lines->held[which].n, rest;
    scoped_free char *all = malloc(n + len + 1);

    if (!all) {
        out->failed = true;
        return;
    }
    memcpy(all, lines->held[which].bytes, n);
    memcpy(all + n, data, len);
    len += n;
    rest = unfinished(all, len);
    if (!text_is_utf8(all, len - rest))
        rest = 0; /* it goes out as base64, whole */
    put_bytes(lines, stream, all, len - rest, out);
    memcpy(lines->held[which].bytes, all + len - rest, rest);
    lines->held[which].n = rest;
}

/* What this machine does not count is null. */
static void put_number(struct jsonw *j, const char *key, bool known, uint64_t value)
{
    if (known)
        jsonw_number(j, key, value);
    else
        jsonw_null(j, key);
}

static void put_time(struct jsonw *j, const char *key, bool known, uint64_t us)
{
    if (known)
        jsonw_fixed(j, key, us, 3);
    else
        jsonw_null(j, key);
}

static void put_metrics(struct jsonw *j, const sbr_metrics *m)
{
    bool cpu = m->known & SBR_METRIC_CPU, io = m->known & SBR_METRIC_IO;

    jsonw_open(j, "metrics", '{');
    jsonw_fixed(j, "wall_ms", m->wall_us, 3);
    put_time(j, "cpu_user_ms", cpu, m->cpu_user_us);
    put_time(j, "cpu_system_ms", cpu, m->cpu_system_us);
    put_number(j, "memory_bytes", m->known & SBR_METRIC_MEMORY, m->memory_bytes);
    put_number(j, "peak_memory_bytes", m->peak_memory_bytes, m->peak_memory_bytes);
    put_number(j, "processes", m->known & SBR_METRIC_PROCESSES, m->processes);
    put_number(j, "io_read_bytes", io, m->io_read_bytes);
    put_number(j, "io_write_bytes", io, m->io_write_bytes);
    jsonw_number(j, "stdout_bytes", m->out_bytes);
    jsonw_number(j, "stderr_bytes", m->errout_bytes);
    jsonw_close(j, '}');
}

static void put_denial(struct jsonw *j, const sbr_event *event)
{
    jsonw_open(j, "denial", '{');
    jsonw_text(j, "kind", event->kind);
    jsonw_text(j, "target", event->target);
    jsonw_text(j, "rule", event->rule);
    jsonw_text(j, "remedy", event->remedy);
    jsonw_close(j, '}');
}

static const char *const type_names[] = {
    [SBR_EVENT_STAGE] = "stage",       [SBR_EVENT_QUEUE] = "queue",
    [SBR_EVENT_PROGRESS] = "progress", [SBR_EVENT_DENIAL] = "denial",
    [SBR_EVENT_METRICS] = "metrics",   [SBR_EVENT_PORT] = "port",
};

void event_lines_event(struct event_lines *lines, const sbr_event *event, struct buf *out)
{
    struct jsonw j;

    if (event->type < 0 || (size_t)event->type >= ARRAY_LEN(type_names) || !type_names[event->type])
        return; /* only for a client that writes stdin piece by piece */
    begin_line(lines, &j, type_names[event->type]);
    if (event->stage)
        jsonw_text(&j, "stage", event->stage);
    if (event->type == SBR_EVENT_QUEUE)
        jsonw_number(&j, "before", event->queue_before);
    if (event->type == SBR_EVENT_PROGRESS) {
        jsonw_number(&j, "files", event->files);
        jsonw_number(&j, "bytes", event->bytes);
    }
    if (event->type == SBR_EVENT_DENIAL)
        put_denial(&j, event);
    if (event->type == SBR_EVENT_PORT) {
        jsonw_text(&j, "address", event->target);
        jsonw_number(&j, "port", event->port);
        jsonw_number(&j, "inside", event->inside_port);
    }
    if (event->type == SBR_EVENT_METRICS)
        put_metrics(&j, event->metrics);
    end_line(&j, out);
}

void event_lines_end_head(struct event_lines *lines, struct buf *out)
{
    scoped_free char *head = NULL;
    struct jsonw j;

    for (int stream = SBR_STDOUT; stream <= SBR_STDERR; stream++) {
        size_t which = stream == SBR_STDERR;

        put_bytes(lines, stream, lines->held[which].bytes, lines->held[which].n, out);
        lines->held[which].n = 0;
    }
    begin_line(lines, &j, "end");
    head = jsonw_take(&j);
    if (!head)
        out->failed = true;
    else
        (void)(buf_add_text(out, head) + buf_add_text(out, ",\"result\":"));
}

void event_lines_end(struct event_lines *lines, const char *result, struct buf *out)
{
    event_lines_end_head(lines, out);
    if (!result)
        out->failed = true;
    else
        (void)(buf_add_text(out, result) + buf_add_text(out, "}\n"));
}
