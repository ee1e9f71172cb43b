
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/sha256.h"
#include "http/durable.h"
#include "http/handlers.h"
#include "http/problem.h"
#include "http/server.h"
#include "http/submission.h"

#define HEAD_MAX ((size_t)64 << 10)
#define PLACES_MAX 256

/* Its runs by their places; NULL: it is forgotten. */
struct runs {
    struct execution *at[PLACES_MAX];
    unsigned int over;
};

static struct runs runs_of(const struct server *server, const struct execution_batch *batch)
{
    struct runs runs = { .over = batch->n - batch->users };

    list_each(at, (struct link *)&server->executions) {
        struct execution *e = link_owner(at, struct execution, link);

        if (e->batch != batch || e->place >= PLACES_MAX)
            continue;
        runs.at[e->place] = e;
        runs.over += execution_is_over(e);
    }
    return runs;
}

/* {"id", "status", ...}: what stands before the results. */
static char *head_of(const struct execution_batch *batch, const struct runs *runs)
{
    char time[RESULT_TIME_SIZE];
    struct buf out;

    result_format_time(batch->created_us, time);
    buf_init(&out, HEAD_MAX);
    buf_printf(&out,
               "{\"id\":\"%s\",\"status\":\"%s\",\"created\":\"%s\",\"total\":%u,\"over\":%u,"
               "\"executions\":[",
               batch->id, runs->over == batch->n ? "done" : "running", time, batch->n, runs->over);
    for (unsigned int i = 0; i < batch->n; i++) {
        const struct execution *e = runs->at[i];

        buf_printf(&out, e ? "%s\"%s\"" : "%snull", i ? "," : "", e ? e->id : "");
    }
    buf_add_text(&out, runs->over == batch->n ? "],\"results\":[" : "]}");
    return buf_take(&out, NULL);
}

/* What stands around the results, which the reply shares with their executions. */
enum { COMMA, NOTHING, TAIL, N_OWN };
static const char *const own_texts[N_OWN] = { ",", "null", "]}" };

static void reply_results(struct exchange *x, const struct execution_batch *batch,
                          const struct runs *runs, unsigned int status)
{
    struct response_text *own[N_OWN], *texts[2 * PLACES_MAX + 1];
    struct response_text *head = response_text_of(head_of(batch, runs));
    size_t n = 0;

    for (size_t i = 0; i < N_OWN; i++)
        own[i] = response_text_of(strdup(own_texts[i]));
    for (unsigned int i = 0; i < batch->n; i++) {
        const struct execution *e = runs->at[i];

        texts[n++] = i ? own[COMMA] : head;
        texts[n++] = e && e->text ? e->text : own[NOTHING];
    }
    texts[n++] = own[TAIL];
    exchange_reply_texts(x, status, JSON_TYPE, texts, n);
    response_text_drop(head);
    for (size_t i = 0; i < N_OWN; i++)
        response_text_drop(own[i]);
}

static void reply_batch(struct exchange *x, const struct execution_batch *batch,
                        unsigned int status)
{
    const struct runs runs = runs_of(x->server, batch);

    if (runs.over == batch->n)
        reply_results(x, batch, &runs, status);
    else
        exchange_reply(x, status, JSON_TYPE, head_of(batch, &runs));
}

static void reply_accepted(struct exchange *x, const struct execution_batch *batch)
{
    char location[80];

    reply_batch(x, batch, HTTP_ACCEPTED);
    snprintf(location, sizeof(location), "/v1/batch/%s", batch->id);
    exchange_add_header(x, HTTP_HEADER_LOCATION, location);
}

static struct execution_batch *find(const struct exchange *x, const char *wanted, bool by_key)
{
    list_each(at, &x->server->batches) {
        struct execution_batch *batch = link_owner(at, struct execution_batch, link);

        if (strcmp(batch->tenant, x->tenant.name) != 0)
            continue;
        if (!strcmp(by_key ? batch->key : batch->id, wanted))
            return batch;
    }
    return NULL;
}

static struct execution_batch *find_or_refuse(struct exchange *x)
{
    struct execution_batch *batch = find(x, x->words[0], false);

    if (!batch)
        problem_reply(x, &(struct problem){
                             .status = HTTP_NOT_FOUND,
                             .detail = "there is no batch of this id",
                             .remedy = "results are kept for ten minutes after its last run" });
    return batch;
}

void batch_jobs_get(struct exchange *x)
{
    const struct execution_batch *batch = find_or_refuse(x);

    if (batch)
        reply_batch(x, batch, HTTP_OK);
}

void batch_jobs_cancel(struct exchange *x)
{
    const struct execution_batch *batch = find_or_refuse(x);
    struct runs runs;

    if (!batch)
        return;
    runs = runs_of(x->server, batch);
    for (unsigned int i = 0; i < batch->n; i++)
        if (runs.at[i] && !execution_is_over(runs.at[i]))
            execution_cancel(runs.at[i]);
    reply_batch(x, batch, HTTP_ACCEPTED);
}

static void fingerprint_of(const struct exchange *x, char hex[SHA256_HEX_SIZE])
{
    const struct body_read *read = x->read;

    if (read)
        memcpy(hex, read->fingerprint, SHA256_HEX_SIZE);
    else
        sha256_hex(x->body.data ? x->body.data : "", x->body.len, hex);
}

static bool is_being_accepted(const struct server *server, const struct execution_batch *batch)
{
    const struct runs runs = runs_of(server, batch);

    for (unsigned int i = 0; i < batch->n; i++)
        if (runs.at[i] && execution_record_is_accepting(runs.at[i]))
            return true;
    return false;
}

bool batch_jobs_repeat(struct exchange *x)
{
    const char *key = exchange_header(x, "Idempotency-Key");
    const struct execution_batch *batch = key && *key ? find(x, key, true) : NULL;
    struct problem problem = { .code = "idempotency_key" };
    char fingerprint[SHA256_HEX_SIZE];

    if (key && (!*key || strlen(key) >= sizeof(batch->key))) {
        problem.status = HTTP_BAD_REQUEST;
        problem.detail = "an Idempotency-Key has 1 to 63 bytes";
        problem_reply(x, &problem);
        return true;
    }
    if (!batch)
        return false;
    fingerprint_of(x, fingerprint);
    if (!strcmp(fingerprint, batch->fingerprint) && !is_being_accepted(x->server, batch)) {
        reply_accepted(x, batch);
    } else {
        problem.status = strcmp(fingerprint, batch->fingerprint) != 0 ? HTTP_UNPROCESSABLE_CONTENT
                                                                      : HTTP_CONFLICT;
        problem.detail = problem.status == HTTP_CONFLICT
                             ? "the request with this Idempotency-Key is being accepted"
                             : "this Idempotency-Key came with another body";
        problem.retry_s = problem.status == HTTP_CONFLICT;
        problem_reply(x, &problem);
    }
    exchange_add_header(x, "Idempotent-Replayed", "true");
    return true;
}

static void join(struct execution *e, struct execution_batch *batch, unsigned int place)
{
    e->batch = batch;
    e->place = place;
    e->held = !batch->is_over;
    e->created_us = batch->created_us; /* the record has runs only, and so the batch's time */
    batch->users++;
}

/* All are on record, or none: they were added in one turn of the loop.  The last one has the
 * exchange. */
static void accepted(struct execution *e, const sbr_error *err)
{
    struct exchange *x = e->waiter;

    e->waiter = NULL;
    if (x && err)
        durable_refuse(x, err);
    else if (x)
        reply_accepted(x, e->batch);
    if (err)
        execution_free(e);
    else
        durable_begin(e);
}

/* One that could not be started is over, and says why. */
static struct execution *add_failure(struct exchange *x, const sbr_error *why)
{
    struct refusal ignored; /* it takes nothing */
    struct execution *e = execution_open(x->server, &x->tenant, NULL, &ignored);

    if (!e)
        return NULL;
    e->durable = true;
    execution_end(e, NULL, why);
    return e;
}

/* NULL: nothing was put on record, and *err says why.  Takes both over. */
static struct execution *add_run(struct exchange *x, struct execution_batch *batch, char *text,
                                 sbr_request *req, sbr_error *err)
{
    const struct joblog_text request = { .bytes = text, .len = text ? strlen(text) : 0 };
    const struct need need = need_of_run(req);
    struct refusal refusal = { 0 };
    struct execution *e = NULL;

    if (execution_start(x->server, &x->tenant, req, EXECUTION_QUEUED, &need, &e, &refusal) < 0) {
        free(text);
        e = add_failure(x, &refusal.err);
        if (!e) {
            *err = refusal.err;
            return NULL;
        }
        join(e, batch, batch->users - 1);
        execution_record_end(e, execution_settle);
        return e;
    }
    join(e, batch, batch->users - 1);
    if (execution_record_accept(e, request, false, accepted, err) == 0)
        return e;
    execution_free(e);
    return NULL;
}

static struct execution_batch *make(struct exchange *x, size_t n)
{
    struct execution_batch *batch = calloc(1, sizeof(*batch));
    const char *key = exchange_header(x, "Idempotency-Key");

    if (!batch || encoding_random_id(batch->id) < 0) {
        free(batch);
        return NULL;
    }
    batch->n = (unsigned int)n;
    batch->created_us = clock_read_us(CLOCK_REALTIME);
    snprintf(batch->tenant, sizeof(batch->tenant), "%s", x->tenant.name);
    snprintf(batch->key, sizeof(batch->key), "%s", key ? key : "");
    if (key)
        fingerprint_of(x, batch->fingerprint);
    list_append(&x->server->batches, &batch->link);
    return batch;
}

/* The last one could not be started, and that is on record, as the others are. */
static void failure_settled(struct execution *e, void *context)
{
    struct exchange *x = e->waiter;

    (void)context;
    e->waiter = NULL;
    if (x)
        reply_accepted(x, e->batch);
}

/* What was added in this turn is taken back in this turn. */
static void give_up(struct server *server, const struct execution_batch *batch)
{
    list_each(at, &server->executions) {
        struct execution *e = link_owner(at, struct execution, link);

        if (e->batch != batch)
            continue;
        execution_record_forget(e);
        execution_free(e);
    }
}

void batch_jobs_start(struct exchange *x, sbr_request **list, char **texts, size_t n)
{
    struct execution_batch *batch = make(x, n);
    struct execution *e = NULL;
    sbr_error err;

    if (!batch) {
        exchange_reply(x, HTTP_SERVICE_UNAVAILABLE, JSON_TYPE, NULL);
        return;
    }
    batch->users = 1; /* ours: giving up must not free it */
    for (unsigned int i = 0; i < batch->n; i++) {
        e = add_run(x, batch, take_ptr(texts[i]), take_ptr(list[i]), &err);
        if (!e)
            break;
    }
    if (!e)
        give_up(x->server, batch);
    if (--batch->users == 0) {
        link_remove(&batch->link);
        free(batch);
    }
    if (!e) {
        durable_refuse(x, &err);
        return;
    }
    if (!e->job)
        e->settled = failure_settled;
    execution_wait(e, x);
}

static struct execution_batch *restored_batch(struct server *server, const struct joblog_job *job)
{
    struct execution_batch *batch;

    list_each(at, &server->batches) {
        batch = link_owner(at, struct execution_batch, link);
        if (!strcmp(batch->id, job->batch) && !strcmp(batch->tenant, job->tenant))
            return batch;
    }
    batch = calloc(1, sizeof(*batch));
    if (!batch)
        return NULL;
    memcpy(batch->id, job->batch, sizeof(batch->id));
    memcpy(batch->tenant, job->tenant, sizeof(batch->tenant));
    batch->created_us = job->created_us;
    batch->n = job->places;
    list_append(&server->batches, &batch->link);
    return batch;
}

void batch_jobs_restore(struct execution *e, const struct joblog_job *job)
{
    struct execution_batch *batch = job->places <= PLACES_MAX && job->place < job->places
                                        ? restored_batch(e->server, job)
                                        : NULL;

    if (!batch)
        return;
    join(e, batch, job->place);
    if (job->place > 0)
        return;
    memcpy(batch->key, job->key, sizeof(batch->key));
    memcpy(batch->fingerprint, job->fingerprint, sizeof(batch->fingerprint));
}

/* Its runs are kept as long as the last of them. */
void batch_jobs_tick(struct server *server)
{
    list_each(at, &server->batches) {
        struct execution_batch *batch = link_owner(at, struct execution_batch, link);
        uint64_t last_us = 0;
        struct runs runs;

        if (batch->is_over)
            continue;
        runs = runs_of(server, batch);
        if (runs.over < batch->n)
            continue;
        batch->is_over = true;
        for (unsigned int i = 0; i < batch->n; i++)
            if (runs.at[i] && runs.at[i]->ended_us > last_us)
                last_us = runs.at[i]->ended_us;
        for (unsigned int i = 0; i < batch->n; i++)
            if (runs.at[i]) {
                runs.at[i]->ended_us = last_us;
                runs.at[i]->held = false;
            }
    }
}
