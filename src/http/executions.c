/* Routes of /v1/executions. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "base/sha256.h"
#include "base/text.h"
#include "changes/kept_output.h"
#include "http/durable.h"
#include "http/execution.h"
#include "http/handlers.h"
#include "http/problem.h"
#include "http/route.h"
#include "http/server.h"
#include "http/submission.h"
#include "http/websocket.h"

#define PAGE_DEFAULT 50
#define PAGE_MAX 500
#define RETRY_S 1

static enum execution_mode mode_of(const struct exchange *x)
{
    if (durable_is_asked(x))
        return EXECUTION_QUEUED;
    return strcmp(exchange_accepts(x), JSON_TYPE) != 0 ? EXECUTION_STREAMED : EXECUTION_WAITED;
}

static void reply_started(struct exchange *x, struct execution *e)
{
    switch (e->mode) {
    case EXECUTION_QUEUED:
        execution_reply_about(e, x, HTTP_ACCEPTED);
        execution_set_location(e, x);
        return;
    case EXECUTION_STREAMED:
        reader_open(e, x, exchange_accepts(x), 0);
        execution_set_location(e, x);
        return;
    case EXECUTION_WAITED:
    case EXECUTION_WATCHED:
        execution_wait(e, x);
    }
}

static struct execution *find_key(const struct exchange *x, const char *key)
{
    list_each(at, &x->server->executions) {
        struct execution *e = link_owner(at, struct execution, link);

        if (!strcmp(e->key, key) && !strcmp(e->tenant, x->tenant.name))
            return e;
    }
    return NULL;
}

/* The same key and body are the same run, which is not started again. */
static void repeat(struct exchange *x, struct execution *e, const char *fingerprint)
{
    if (strcmp(e->fingerprint, fingerprint) != 0)
        problem_reply(x, &(struct problem){ .status = HTTP_UNPROCESSABLE_CONTENT,
                                            .code = "idempotency_key",
                                            .detail = "this Idempotency-Key came with another body",
                                            .remedy = "use a new key for a new request" });
    else if (e->job && (e->mode == EXECUTION_WAITED || execution_record_is_accepting(e)))
        problem_reply(x, &(struct problem){ .status = HTTP_CONFLICT,
                                            .detail = e->mode == EXECUTION_WAITED
                                                          ? "the request with this "
                                                            "Idempotency-Key has not ended"
                                                          : "the request with this "
                                                            "Idempotency-Key is being accepted",
                                            .retry_s = RETRY_S });
    else if (e->mode == EXECUTION_WAITED)
        execution_reply(e, x);
    else
        reply_started(x, e);
    exchange_add_header(x, "Idempotent-Replayed", "true");
}

static bool is_key(const char *key)
{
    size_t len = strlen(key);

    return len > 0 && len < sizeof(((struct execution *)0)->key);
}

/* It is on record: its client may rely on it. */
static void accepted(struct execution *e, const sbr_error *err)
{
    struct exchange *x = e->waiter;

    e->waiter = NULL;
    if (x && err)
        durable_refuse(x, err);
    else if (x)
        reply_started(x, e);
    if (err)
        execution_free(e);
    else
        durable_begin(e);
}

static void put_on_record(struct exchange *x, struct execution *e)
{
    struct joblog_text request = { 0 };
    sbr_error err;

    request.bytes = buf_take(&x->body, &request.len);
    if (execution_record_accept(e, request, false, accepted, &err) == 0) {
        execution_wait(e, x);
        return;
    }
    execution_free(e);
    durable_refuse(x, &err);
}

static void start(struct exchange *x, const char *key, const char *fingerprint)
{
    struct execution *e = submission_start_body(x, mode_of(x));

    if (!e)
        return;
    snprintf(e->key, sizeof(e->key), "%s", key ? key : "");
    snprintf(e->fingerprint, sizeof(e->fingerprint), "%s", fingerprint);
    if (e->mode == EXECUTION_QUEUED)
        put_on_record(x, e);
    else
        reply_started(x, e);
}

void executions_create(struct exchange *x)
{
    const char *key = exchange_header(x, "Idempotency-Key");
    char fingerprint[SHA256_HEX_SIZE] = "";
    struct execution *e;

    if (key && !is_key(key)) {
        problem_reply(x, &(struct problem){ .status = HTTP_BAD_REQUEST,
                                            .code = "idempotency_key",
                                            .detail = "an Idempotency-Key has 1 to 63 bytes" });
        return;
    }
    if (key && x->read)
        memcpy(fingerprint, ((const struct body_read *)x->read)->fingerprint, sizeof(fingerprint));
    else if (key)
        sha256_hex(x->body.data ? x->body.data : "", x->body.len, fingerprint);
    e = key ? find_key(x, key) : NULL;
    if (e)
        repeat(x, e, fingerprint);
    else
        start(x, key, fingerprint);
}

static struct execution *find(struct exchange *x)
{
    struct execution *e = execution_find(x->server, &x->tenant, x->words[0]);

    if (!e)
        problem_reply(x, &(struct problem){
                             .status = HTTP_NOT_FOUND,
                             .detail = "there is no run of this id",
                             .remedy = "results are kept for ten minutes after a run's end" });
    return e;
}

void executions_get(struct exchange *x)
{
    struct execution *e = find(x);

    if (e)
        execution_reply_about(e, x, HTTP_OK);
}

/* All that a run with `keep_output` wrote. */
void executions_output(struct exchange *x)
{
    struct execution *e = find(x);
    bool out = !strcmp(x->words[1], "stdout");
    struct kept_output about;
    struct response *response;
    sbr_error err;
    int fd;

    if (!e)
        return;
    if ((!out && strcmp(x->words[1], "stderr") != 0) || !e->output_id[0]) {
        problem_reply(x, &(struct problem){ .status = HTTP_NOT_FOUND,
                                            .detail = "no output of this name is kept",
                                            .remedy = "ask for stdout or stderr of a run with "
                                                      "`keep_output`, after its end" });
        return;
    }
    if (kept_output_open(e->output_id, out ? KEPT_STDOUT : KEPT_STDERR, &about, &fd, &err) < 0) {
        problem_reply_error(x, &err);
        return;
    }
    response = response_of_file(fd, about.kept[out ? KEPT_STDOUT : KEPT_STDERR]);
    if (response)
        response_add_header(response, HTTP_HEADER_CONTENT_TYPE, x->route->type);
    else
        close(fd);
    exchange_reply_with(x, HTTP_OK, response);
}

void executions_cancel(struct exchange *x)
{
    struct execution *e = find(x);

    if (!e)
        return;
    execution_cancel(e);
    execution_reply_about(e, x, HTTP_ACCEPTED);
}

static void refuse_events(struct exchange *x)
{
    problem_reply(x, &(struct problem){
                         .status = HTTP_CONFLICT,
                         .detail = "the events of this run are not kept",
                         .remedy = "start it with `Prefer: respond-async`, or as a stream" });
}

void executions_events(struct exchange *x)
{
    struct execution *e = find(x);
    const char *last = exchange_header(x, "Last-Event-ID"), *from = exchange_query(x, "after");
    const char *type = exchange_accepts(x);
    uint64_t number = 0;

    last = last ? last : from;
    if (!e)
        return;
    if (!e->keeps_events) {
        refuse_events(x);
        return;
    }
    if (last && text_parse_count(last, &number) != TEXT_OK) {
        problem_reply(x, &(struct problem){ .status = HTTP_BAD_REQUEST,
                                            .detail = "Last-Event-ID is no number of an event" });
        return;
    }
    number += last && number < UINT64_MAX; /* the event behind it */
    if (e->restored && execution_is_over(e) && number >= event_log_next(&e->log))
        number = event_log_next(&e->log) - 1; /* how many there were before may not be known */
    reader_open(e, x, strcmp(type, JSON_TYPE) != 0 ? type : SSE_TYPE, number);
}

void executions_socket(struct exchange *x)
{
    struct execution *e = find(x);

    if (e && e->keeps_events)
        websocket_open(x, &execution_socket_manner, e, NULL);
    else if (e)
        refuse_events(x);
}

static void refuse_stdin(struct exchange *x, const char *detail)
{
    problem_reply(x, &(struct problem){ .status = HTTP_CONFLICT,
                                        .code = "stdin",
                                        .detail = detail,
                                        .remedy = "start the run as a stream or with `Prefer: "
                                                  "respond-async`, and without `stdin`" });
}

void executions_stdin(struct exchange *x)
{
    struct execution *e = find(x);
    const char *close = exchange_query(x, "close");
    int64_t taken = 0;
    char *answer;

    if (!e)
        return;
    if (!e->takes_stdin || !e->job) {
        refuse_stdin(x, e->job ? "this run takes no more stdin" : "the run is over");
        return;
    }
    if (x->body.len)
        taken = sbr_job_write_stdin(e->job, x->body.data, x->body.len);
    if (taken < 0) {
        refuse_stdin(x, "the program reads no more");
        return;
    }
    if (close && !strcmp(close, "1") && (size_t)taken == x->body.len) {
        e->takes_stdin = false;
        (void)sbr_job_close_stdin(e->job);
    }
    answer = text_format("{\"taken\":%" PRId64 ",\"open\":%s}", taken,
                         e->takes_stdin ? "true" : "false");
    exchange_reply(x, (size_t)taken == x->body.len ? HTTP_ACCEPTED : HTTP_TOO_MANY_REQUESTS,
                   JSON_TYPE, answer);
    if ((size_t)taken != x->body.len)
        exchange_add_header(x, HTTP_HEADER_RETRY_AFTER, "1");
}

/* Without the result, which may be long. */
static void put_row(struct buf *out, const struct execution *e)
{
    scoped_free char *text = execution_describe(e);

    buf_printf(out, "%s%s", out->data && out->data[out->len - 1] == '}' ? "," : "",
               text ? text : "");
}

/* The newest first; `after` is the last id of the page before. */
void executions_list(struct exchange *x)
{
    const char *after = exchange_query(x, "after"), *size = exchange_query(x, "limit");
    uint64_t left = PAGE_DEFAULT;
    const struct execution *last = NULL;
    bool skipping = after != NULL;
    struct buf out;

    if (size && (text_parse_count(size, &left) != TEXT_OK || left == 0 || left > PAGE_MAX)) {
        problem_reply(x, &(struct problem){ .status = HTTP_BAD_REQUEST,
                                            .detail = "limit is a number from 1 to 500",
                                            .field = "limit" });
        return;
    }
    buf_init(&out, (size_t)1 << 24);
    buf_add_text(&out, "{\"executions\":[");
    for (struct link *at = x->server->executions.prev; at != &x->server->executions;
         at = at->prev) {
        const struct execution *e = link_owner(at, struct execution, link);

        if (strcmp(e->tenant, x->tenant.name) != 0)
            continue;
        if (!skipping && left-- == 0)
            break;
        if (!skipping)
            put_row(&out, e);
        last = skipping ? NULL : e;
        skipping = skipping && strcmp(e->id, after) != 0;
    }
    if (left == UINT64_MAX && last)
        buf_printf(&out, "],\"next\":\"%s\"}", last->id);
    else
        buf_add_text(&out, "],\"next\":null}");
    exchange_reply(x, HTTP_OK, JSON_TYPE, buf_take(&out, NULL));
}
