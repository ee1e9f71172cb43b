#include "http/execution.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "http/server.h"

#define BATCH_SIZE 16384 /* of events that are formatted at once */
#define PING_US 15000000
#define RECORD_MAX ((size_t)1 << 30)

struct reader {
    struct link link;            /* of the execution's streams */
    struct execution *execution; /* NULL: it is gone */
    struct exchange *exchange;
    bool sse, waits, greeted;
    uint64_t next;
    uint64_t spoke_us;
    struct buf record; /* that is being sent */
    size_t sent;
    struct response_text *result; /* that follows the record; NULL: none */
    struct response_place result_sent;
};

static void add_record(struct reader *s, uint64_t number, const char *text, size_t len)
{
    const char *type = strstr(text, "\"type\":\"");
    size_t n = type ? strcspn(type + 8, "\"") : 0;

    if (s->sse)
        buf_printf(&s->record, "id: %" PRIu64 "\nevent: %.*s\ndata: ", number, (int)n,
                   type ? type + 8 : "");
    buf_add(&s->record, text, len);
}

static void end_record(struct reader *s)
{
    buf_add_text(&s->record, s->sse ? "\n\n" : "\n");
}

/* What the log dropped before the reader took it. */
static void add_gap(struct reader *s)
{
    const struct event_log *log = &s->execution->log;
    char text[120];
    int len = snprintf(text, sizeof(text),
                       "{\"type\":\"lost\",\"seq\":%" PRIu64 ",\"events\":%" PRIu64 "}",
                       log->first - 1, log->first - s->next);

    add_record(s, log->first - 1, text, (size_t)len);
    end_record(s);
    s->next = log->first;
}

/* The next record, if there is one. */
static bool fill(struct reader *s)
{
    const struct event_log_line *line;

    buf_drop(&s->record, s->record.len);
    s->sent = 0;
    if (s->sse && !s->greeted)
        buf_add_text(&s->record, "retry: 2000\n\n");
    s->greeted = true;
    if (s->execution && s->next < s->execution->log.first)
        add_gap(s);
    while (s->execution && s->record.len < BATCH_SIZE && !s->result &&
           (line = event_log_get(&s->execution->log, s->next))) {
        add_record(s, s->next++, line->text, line->len);
        if (line->result)
            s->result = response_text_share(line->result);
        else
            end_record(s);
    }
    if (s->execution)
        execution_was_read(s->execution, s->next);
    return s->record.len > 0;
}

/* The result is sent from where it is. */
static ssize_t read_result(struct reader *s, char *to, size_t max)
{
    size_t n = response_text_read(s->result, &s->result_sent, to, max);

    if (s->result_sent.done == s->result->len) {
        response_text_drop(take_ptr(s->result));
        buf_drop(&s->record, s->record.len);
        buf_add_text(&s->record, "}");
        end_record(s);
        s->sent = 0;
    }
    s->spoke_us = clock_now_us();
    return (ssize_t)n;
}

static bool is_over(const struct reader *s)
{
    return !s->execution ||
           (execution_is_over(s->execution) && s->next >= event_log_next(&s->execution->log));
}

/* Called when the channel takes more. */
static ssize_t read_events(void *context, char *to, size_t max)
{
    struct reader *s = context;
    size_t n;

    if (s->sent == s->record.len && s->result)
        return read_result(s, to, max);
    if (s->sent == s->record.len && !fill(s)) {
        if (is_over(s))
            return RESPONSE_END;
        s->waits = true;
        buf_done(&s->record); /* thousands of readers may wait here */
        buf_init(&s->record, RECORD_MAX);
        s->sent = 0;
        return 0;
    }
    if (s->record.failed)
        return RESPONSE_BROKEN;
    n = s->record.len - s->sent;
    n = n < max ? n : max;
    memcpy(to, s->record.data + s->sent, n);
    s->sent += n;
    s->spoke_us = clock_now_us();
    return (ssize_t)n;
}

static void resume(struct reader *s)
{
    if (!s->waits)
        return;
    s->waits = false;
    exchange_resume(s->exchange);
}

static void leave(struct reader *s)
{
    struct execution *e = s->execution;

    if (!e)
        return;
    link_remove(&s->link);
    s->execution = NULL;
    execution_was_left(e);
}

/* The reply is sent, or its client is gone. */
static void close_reader(void *context)
{
    struct reader *s = context;

    leave(s);
    response_text_drop(s->result);
    buf_done(&s->record);
    free(s);
}

static void client_gone(struct exchange *x)
{
    leave(x->subject);
}

void reader_open(struct execution *e, struct exchange *x, const char *type, uint64_t first)
{
    struct reader *s = calloc(1, sizeof(*s));
    struct response *response = s ? response_of_stream(read_events, s, close_reader) : NULL;

    if (!response) {
        free(s);
        exchange_reply(x, HTTP_SERVICE_UNAVAILABLE, JSON_TYPE, NULL);
        return;
    }
    *s = (struct reader){ .execution = e,
                          .exchange = x,
                          .sse = !strcmp(type, SSE_TYPE),
                          .next = first,
                          .spoke_us = clock_now_us() };
    buf_init(&s->record, RECORD_MAX);
    link_init(&s->link);
    list_append(&e->streams, &s->link);
    e->alone_us = 0;
    response_add_header(response, HTTP_HEADER_CONTENT_TYPE, type);
    response_add_header(response, "X-Accel-Buffering", "no");
    exchange_reply_with(x, HTTP_OK, response);
    exchange_watch(x, client_gone, s);
}

void reader_wake(struct execution *e)
{
    list_each(at, &e->streams)
        resume(link_owner(at, struct reader, link));
}

void reader_drop_all(struct execution *e)
{
    list_each(at, &e->streams) {
        struct reader *s = link_owner(at, struct reader, link);

        leave(s);
        resume(s);
    }
}

static void ping(struct reader *s, uint64_t now_us)
{
    if (!s->sse || !s->waits || now_us < s->spoke_us + PING_US)
        return;
    buf_drop(&s->record, s->record.len);
    s->sent = 0;
    buf_add_text(&s->record, ":\n\n");
    resume(s);
}

void reader_tick(struct server *server, uint64_t now_us)
{
    list_each(at, &server->executions) {
        struct execution *e = link_owner(at, struct execution, link);

        list_each(one, &e->streams)
            ping(link_owner(one, struct reader, link), now_us);
    }
}
