#include "http/execution.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>

#include "base/clock.h"
#include "base/text.h"
#include "http/execution_result.h"
#include "http/ownership.h"
#include "http/server.h"
#include "http/websocket.h"
#include "lib/runner.h"

#define LOG_BYTES ((size_t)4 << 20) /* of the events of one run */
#define LINES_MAX ((size_t)1 << 30)

static void recount(struct execution *e)
{
    e->server->kept.bytes -= e->counted_bytes;
    e->counted_bytes = e->log.bytes + (e->text ? e->text->len : 0);
    e->server->kept.bytes += e->counted_bytes;
}

static void wake(struct execution *e)
{
    reader_wake(e);
    websocket_wake(e);
}

/* Events that are missing must not go unnoticed. */
static void noted(struct execution *e, int r, struct buf *lines)
{
    if (r < 0)
        execution_cancel(e);
    buf_done(lines);
    recount(e);
    wake(e);
    execution_pace(e);
}

static void note(struct execution *e, struct buf *lines)
{
    noted(e, event_log_add(&e->log, lines), lines);
}

static void output_came(void *context, int number, const char *data, size_t len)
{
    struct execution *e = context;
    struct buf lines;

    buf_init(&lines, LINES_MAX);
    event_lines_output(&e->lines, number, data, len, &lines);
    note(e, &lines);
}

/* A stage is reported when it begins, and again when it has waited for the engine: before that,
 * nothing of it has begun. */
static void note_begin(struct execution *e, const sbr_event *event)
{
    if (event->type == SBR_EVENT_STAGE) {
        e->stages += !e->waits;
        e->waits = false;
        execution_has_begun(e);
    } else if (event->type == SBR_EVENT_QUEUE) {
        e->waits = true;
        if (e->stages <= 1)
            (void)life_take_run(&e->state, RUN_WAIT);
    }
    e->queue_before = event->type == SBR_EVENT_QUEUE ? event->queue_before : 0;
}

static void event_came(void *context, const sbr_event *event)
{
    struct execution *e = context;
    struct buf lines;

    note_begin(e, event);
    if (event->type == SBR_EVENT_STAGE)
        ledger_set_memory(e->reserved, need_memory_left(e->job));
    if (event->type == SBR_EVENT_STDIN)
        websocket_wake(e);
    if (event->type == SBR_EVENT_STDIN && e->room)
        e->room(e, e->ended_context);
    if (!e->keeps_events)
        return;
    buf_init(&lines, LINES_MAX);
    event_lines_event(&e->lines, event, &lines);
    note(e, &lines);
}

void execution_reply(const struct execution *e, struct exchange *x)
{
    if (e->form)
        e->form(e, x);
    else if (e->is_error)
        problem_reply_error(x, &e->err);
    else
        exchange_reply_texts(x, HTTP_OK, JSON_TYPE, &e->text, 1);
}

static void add_end(struct execution *e)
{
    struct buf lines;

    if (!e->keeps_events)
        return;
    buf_init(&lines, LINES_MAX);
    event_lines_end_head(&e->lines, &lines);
    noted(e, event_log_add_end(&e->log, &lines, e->text), &lines);
}

static void give_back(struct execution *e)
{
    ledger_give_back(take_ptr(e->reserved));
}

/* Others learn of the end: what they learn is the same after a restart. */
void execution_settle(struct execution *e)
{
    (void)life_take_run(&e->state, RUN_SETTLE);
    add_end(e);
    recount(e);
    wake(e);
    if (e->settled)
        e->settled(e, e->ended_context);
}

/* `text` is the result, if it was written already. */
static void finish_with(struct execution *e, sbr_result *result, struct response_text *text,
                        const sbr_error *err)
{
    struct exchange *waiter = e->waiter;

    (void)life_take_run(&e->state, RUN_RESULT);
    e->ended_us = clock_now_us();
    e->is_error = !result;
    if (!result && err) {
        e->err = *err;
        roots_hide_in(&e->server->roots, e->tenant, e->err.message, sizeof(e->err.message));
    }
    e->text = text ? text : execution_result_text(e, result);
    if (result && result->changes_id[0])
        ownership_note_changes(e->tenant, result->changes_id);
    snprintf(e->outcome, sizeof(e->outcome), "%s",
             result ? result_verdict_name(result->verdict) : result_error_name(e->err.code));
    if (result)
        snprintf(e->output_id, sizeof(e->output_id), "%s", result->output_id);
    counters_add_run(&e->server->counters, result ? result->language.name : NULL, result,
                     e->ended_us - e->started_us);
    spans_add(&e->server->spans, e, result ? result->report.exit_code : -1);
    if (result && !e->digested)
        e->digested = execution_result_digest(e, e->text, result);
    if (result && e->text && e->text->owner == result)
        output_files_done(&result->files); /* the text has the streams alone */
    else
        sbr_result_free(result);
    loop_remove(&e->server->loop, &e->watch);
    e->spent = take_ptr(e->job);
    list_append(&e->server->spent, &e->spending);
    link_remove(&e->live);
    give_back(e);
    if (!e->durable)
        execution_settle(e);
    e->waiter = NULL;
    if (waiter)
        execution_reply(e, waiter);
    if (e->ended)
        e->ended(e, e->ended_context);
    if (e->durable)
        execution_record_end(e, execution_settle);
    if (e->form || e->ended)
        json_decref(take_ptr(e->digested));
}

static void job_event(void *context, uint32_t events)
{
    struct execution *e = context;
    sbr_result *result = NULL;
    sbr_error err = { 0 };
    int r = sbr_job_dispatch(e->job, &result, &err);

    (void)events;
    if (r == 1 && execution_result_is_later(e, result, finish_with))
        return;
    if (r != 0)
        finish_with(e, r == 1 ? result : NULL, NULL, &err);
}

void execution_has_begun(struct execution *e)
{
    (void)life_take_run(&e->state, RUN_BEGIN);
}

/* Its trees are open: it goes on in the loop, and fails there if they could not be opened. */
static void begin_job(struct execution *e)
{
    if (loop_add(&e->server->loop, &e->watch, EPOLLIN) < 0 || life_is_cancelled(e->state))
        execution_cancel(e);
}

void execution_begin(struct execution *e)
{
    if (!runner_has_trees(e->job) || !execution_trees_are_later(e, begin_job))
        begin_job(e);
}

static int connect_job(struct execution *e, sbr_error *err)
{
    sbr_job *job = e->job;

    runner_set_up(job, e->started_us, NULL);
    runner_set_id(job, e->id);
    runner_keep_place(job);
    if (sbr_job_on_event(job, event_came, e) < 0 ||
        (e->keeps_events && sbr_job_on_output(job, output_came, e) < 0) ||
        (e->takes_stdin && sbr_job_write_stdin(job, "", 0) < 0))
        return err_set(err, SBR_E_BUG, "http", "the job has begun already");
    e->watch = loop_watch_of(sbr_job_fd(job), job_event, e);
    if (e->mode == EXECUTION_QUEUED ||
        (runner_has_trees(job) && execution_trees_are_later(e, begin_job)))
        return 0;
    if (loop_add(&e->server->loop, &e->watch, EPOLLIN) < 0)
        return err_set_errno(err, "http", "cannot watch the job");
    return 0;
}

static void add_start(struct execution *e)
{
    struct buf lines;

    if (!e->keeps_events)
        return;
    buf_init(&lines, LINES_MAX);
    event_lines_start(&e->lines, e->req, &lines);
    note(e, &lines);
}

static struct execution *make(struct server *server, const struct grant *tenant, sbr_request *req,
                              enum execution_mode mode)
{
    struct execution *e = calloc(1, sizeof(*e));

    if (!e || encoding_random_id(e->id) < 0) {
        free(e);
        return NULL;
    }
    e->server = server;
    e->server->kept.n++;
    e->mode = mode;
    e->state = RUN_QUEUED;
    e->req = req;
    e->watch.fd = e->stop_fd = -1;
    e->keeps_events = mode != EXECUTION_WAITED;
    e->takes_stdin = e->keeps_events && req && !req->stdin_data;
    e->started_us = e->lines.started_us = clock_now_us();
    e->created_us = clock_read_us(CLOCK_REALTIME);
    snprintf(e->tenant, sizeof(e->tenant), "%s", tenant->name);
    snprintf(e->token_id, sizeof(e->token_id), "%s", tenant->token_id);
    snprintf(e->language, sizeof(e->language), "%s", req && req->language ? req->language : "");
    link_init(&e->streams);
    link_init(&e->sockets);
    link_init(&e->link);
    link_init(&e->live);
    link_init(&e->spending);
    event_log_init(&e->log, LOG_BYTES);
    return e;
}

/* The token that started it was revoked: it ends at once, without a grace period, also when its
 * client has left or cancelled it before. */
static void end_revoked(void *context)
{
    struct execution *e = context;

    if (!life_is_cancelled(e->state))
        execution_cancel(e);
    execution_cancel(e);
}

static int take(struct execution *e, const struct grant *tenant, const struct need *need,
                struct refusal *refusal)
{
    return ledger_take(&e->server->holdings.ledger, tenant, need, end_revoked, e, &e->reserved,
                       refusal);
}

int execution_start(struct server *server, const struct grant *tenant, sbr_request *req,
                    enum execution_mode mode, const struct need *need, struct execution **ret,
                    struct refusal *refusal)
{
    struct execution *e = make(server, tenant, req, mode);

    if (!e) {
        sbr_request_free(req);
        err_set_oom(&refusal->err, "http");
        return -1;
    }
    if (take(e, tenant, need, refusal) < 0 ||
        sbr_job_start(server->rt, req, &e->job, &refusal->err) < 0 ||
        connect_job(e, &refusal->err) < 0) {
        execution_free(e);
        return -1;
    }
    list_append(&server->executions, &e->link);
    list_append(&server->live, &e->live);
    add_start(e);
    *ret = e;
    return 0;
}

struct execution *execution_open(struct server *server, const struct grant *tenant,
                                 const struct need *need, struct refusal *refusal)
{
    struct execution *e = make(server, tenant, NULL, EXECUTION_QUEUED);

    if (!e) {
        err_set_oom(&refusal->err, "http");
        return NULL;
    }
    if (need && take(e, tenant, need, refusal) < 0) {
        execution_free(e);
        return NULL;
    }
    list_append(&server->executions, &e->link);
    list_append(&server->live, &e->live);
    return e;
}

int execution_resume(struct execution *e, const struct grant *tenant, sbr_request *req,
                     struct refusal *refusal)
{
    struct need need = need_of_run(req);

    need.starts = 0; /* it was counted when it was accepted */
    if (take(e, tenant, &need, refusal) < 0) {
        if (refusal->kind != REFUSED_FULL)
            sbr_request_free(req);
        return -1;
    }
    e->req = req;
    if (sbr_job_start(e->server->rt, req, &e->job, &refusal->err) < 0)
        return -1;
    e->takes_stdin = !req->stdin_data;
    if (connect_job(e, &refusal->err) < 0) {
        sbr_job_free(take_ptr(e->job));
        return -1;
    }
    add_start(e);
    return 0;
}

void execution_note(struct execution *e, const char *line, size_t len)
{
    struct buf lines;

    buf_init(&lines, LINES_MAX);
    buf_add(&lines, line, len);
    note(e, &lines);
}

void execution_end(struct execution *e, const char *result, const sbr_error *err)
{
    static const sbr_error unknown = { .code = SBR_E_SYSTEM, .message = "the cell did not begin" };

    (void)life_take_run(&e->state, RUN_RESULT);
    e->ended_us = clock_now_us();
    link_remove(&e->live);
    give_back(e);
    e->is_error = !result;
    if (result)
        e->err = (sbr_error){ 0 };
    else
        e->err = err ? *err : unknown;
    e->text = response_text_of(result ? strdup(result) : result_error_to_json(&e->err));
    snprintf(e->outcome, sizeof(e->outcome), "%s",
             result ? "done" : result_error_name(e->err.code));
    if (e->durable)
        return; /* it is put on record first */
    (void)life_take_run(&e->state, RUN_SETTLE);
    if (e->is_error)
        add_end(e);
    recount(e);
    wake(e);
}

void execution_set_location(const struct execution *e, struct exchange *x)
{
    char location[80];

    snprintf(location, sizeof(location), "/v1/executions/%s", e->id);
    exchange_add_header(x, HTTP_HEADER_LOCATION, location);
}

static void waiter_left(struct exchange *x)
{
    struct execution *e = x->subject;

    e->waiter = NULL;
    if (e->mode > EXECUTION_WATCHED)
        return;
    e->server->counters.cancelled_by_client++;
    execution_cancel(e);
    execution_cancel(e); /* at once: nothing reads what a grace period would bring */
}

void execution_wait(struct execution *e, struct exchange *x)
{
    if (execution_is_over(e)) {
        execution_reply(e, x);
        return;
    }
    e->waiter = x;
    exchange_wait(x, waiter_left, e);
}

void execution_cancel(struct execution *e)
{
    if (!life_take_run(&e->state, RUN_CANCEL))
        return;
    if (e->job && !e->users)
        sbr_job_cancel(e->job);
    if (e->stop_fd >= 0)
        (void)eventfd_write(e->stop_fd, 1);
}

static void free_spent(struct execution *e)
{
    link_remove(&e->spending);
    sbr_job_free(take_ptr(e->spent));
    sbr_request_free(take_ptr(e->req));
}

void execution_tidy(struct server *server)
{
    list_each(at, &server->spent)
        free_spent(link_owner(at, struct execution, spending));
}

void execution_free(struct execution *e)
{
    if (e->users) /* the gateway ends, and so does the process, which the threads are of */
        return;
    if (e->waiter)
        e->waiter->left = NULL;
    e->server->kept.n--;
    e->server->kept.bytes -= e->counted_bytes;
    execution_record_drop(e);
    reader_drop_all(e);
    websocket_drop_all(e);
    loop_remove(&e->server->loop, &e->watch);
    link_remove(&e->link);
    link_remove(&e->live);
    give_back(e);
    sbr_job_free(e->job);
    free_spent(e);
    event_log_done(&e->log);
    response_text_drop(e->text);
    json_decref(e->digested);
    free(e);
}

struct execution *execution_find(const struct server *server, const struct grant *tenant,
                                 const char *id)
{
    list_each(at, (struct link *)&server->executions) {
        struct execution *e = link_owner(at, struct execution, link);

        if (!strcmp(e->id, id) && !strcmp(e->tenant, tenant->name))
            return e;
    }
    return NULL;
}
