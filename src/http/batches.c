/* POST /v1/batch: many requests, one reply.  Each is a run of its own, by the engine's queue. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "http/durable.h"
#include "http/execution.h"
#include "http/handlers.h"
#include "http/holdings.h"
#include "http/offload.h"
#include "http/problem.h"
#include "http/server.h"
#include "http/submission.h"

#define BATCH_MAX 256

struct batch {
    struct exchange *x; /* NULL: the client left */
    struct execution *items[BATCH_MAX];
    size_t n, left;
};

/* What stands around the results, which the reply shares with their executions. */
enum { HEAD, COMMA, NOTHING, TAIL, N_OWN };
static const char *const own_texts[N_OWN] = { "{\"results\":[", ",", "null", "]}" };

static void finish(struct batch *batch)
{
    struct response_text *own[N_OWN], *texts[2 * BATCH_MAX + 1];
    size_t n = 0;

    for (size_t i = 0; i < N_OWN; i++)
        own[i] = response_text_of(strdup(own_texts[i]));
    for (size_t i = 0; i < batch->n; i++) {
        struct execution *e = batch->items[i];

        texts[n++] = own[i ? COMMA : HEAD];
        texts[n++] = e && e->text ? e->text : own[NOTHING];
        if (e)
            e->held = false;
    }
    texts[n++] = own[TAIL];
    if (batch->x)
        exchange_reply_texts(batch->x, HTTP_OK, JSON_TYPE, texts, n);
    for (size_t i = 0; i < N_OWN; i++)
        response_text_drop(own[i]);
    free(batch);
}

static void item_ended(struct execution *e, void *context)
{
    struct batch *batch = context;

    (void)e;
    if (--batch->left == 0)
        finish(batch);
}

static void client_left(struct exchange *x)
{
    struct batch *batch = x->subject;

    batch->x = NULL;
    x->server->counters.cancelled_by_client++;
    for (size_t i = 0; i < batch->n; i++)
        if (batch->items[i])
            execution_cancel(batch->items[i]);
}

/* A batch before its runs begin. */
struct reading {
    struct apart apart;
    struct server *server;
    struct grant tenant;
    json_t *body;
    struct refusal fault; /* of the first that is wrong */
    bool wrong;
    sbr_request *list[BATCH_MAX];
    bool durable;           /* they go on without their client */
    char *texts[BATCH_MAX]; /* that are put on record then */
    size_t n;
};

/* All requests are read before the first one runs: a wrong one is refused with its place. */
static void read_all(struct apart *a)
{
    struct reading *r = link_owner(a, struct reading, apart);
    struct refusal *fault = &r->fault;
    char field[sizeof(fault->field)];
    const json_t *item;
    size_t i;

    json_array_foreach(json_object_get(r->body, "requests"), i, item) {
        if (json_is_object(item) &&
            submission_read(r->server, &r->tenant, item, &r->list[i], fault) == 0) {
            r->texts[i] = r->durable ? json_dumps(item, JSON_COMPACT) : NULL;
            continue;
        }
        if (!fault->err.code)
            err_set(&fault->err, SBR_E_INVALID, "request", "a request is a JSON object");
        snprintf(field, sizeof(field), "requests/%zu%s%.30s", i, fault->field[0] ? "/" : "",
                 fault->field);
        memcpy(fault->field, field, sizeof(fault->field));
        r->wrong = true;
        return;
    }
}

static void fail_item(struct batch *batch, struct exchange *x, size_t i, const sbr_error *err)
{
    struct refusal ignored; /* it takes nothing */

    batch->items[i] = execution_open(x->server, &x->tenant, NULL, &ignored);
    if (batch->items[i])
        execution_end(batch->items[i], NULL, err);
    if (batch->items[i])
        batch->items[i]->held = true;
}

static void start_all(struct exchange *x, sbr_request **requests, size_t n)
{
    struct batch *batch = calloc(1, sizeof(*batch));

    if (!batch) {
        exchange_reply(x, HTTP_SERVICE_UNAVAILABLE, JSON_TYPE, NULL);
        return;
    }
    batch->x = x;
    for (size_t i = 0; i < n; i++) {
        sbr_request *req = requests[i];
        const struct need need = need_of_run(req);
        struct refusal refusal = { 0 };

        requests[i] = NULL;
        if (execution_start(x->server, &x->tenant, req, EXECUTION_WAITED, &need, &batch->items[i],
                            &refusal) < 0) {
            fail_item(batch, x, i, &refusal.err);
        } else {
            batch->items[i]->held = true;
            batch->items[i]->ended = item_ended;
            batch->items[i]->ended_context = batch;
            batch->left++;
        }
        batch->n++;
    }
    exchange_wait(x, client_left, batch);
    if (batch->left == 0)
        finish(batch);
}

/* Room for all of them or none: only the loop takes runs, so none is gone when they start.  False:
 * it replied. */
static bool has_room(struct exchange *x, size_t n, size_t starts)
{
    struct held *held =
        holdings_take(x, &(struct need){ .runs = (unsigned int)n, .starts = (unsigned int)starts });

    ledger_give_back(held);
    return held;
}

static void start(struct apart *a, struct exchange *x)
{
    struct reading *r = link_owner(a, struct reading, apart);

    if (x && r->wrong)
        holdings_refuse(x, &r->fault);
    else if (x && !(r->durable && batch_jobs_repeat(x)) && has_room(x, r->n, 0)) {
        /* others may have begun meanwhile */
        if (r->durable)
            batch_jobs_start(x, r->list, r->texts, r->n);
        else
            start_all(x, r->list, r->n);
    }
    for (size_t i = 0; i < r->n; i++) {
        sbr_request_free(r->list[i]);
        free(r->texts[i]);
    }
    json_decref(r->body);
    free(r);
}

static void begin(struct exchange *x, json_t *body, size_t n)
{
    struct reading *r = calloc(1, sizeof(*r));

    if (!r) {
        exchange_reply(x, HTTP_SERVICE_UNAVAILABLE, JSON_TYPE, NULL);
        return;
    }
    r->apart = (struct apart){ read_all, start };
    r->server = x->server;
    r->tenant = x->tenant;
    r->body = json_incref(body);
    r->durable = durable_is_asked(x);
    r->n = n;
    apart_do(x, x->read != NULL, &r->apart);
}

void batches_create(struct exchange *x)
{
    json_t *body = submission_body(x);
    const json_t *requests = json_object_get(body, "requests");
    size_t n = json_array_size(requests);

    if (!body)
        return;
    if (durable_is_asked(x) && batch_jobs_repeat(x)) {
        json_decref(body);
        return;
    }
    if (!json_is_array(requests) || n == 0 || n > BATCH_MAX)
        problem_reply(x, &(struct problem){ .status = HTTP_UNPROCESSABLE_CONTENT,
                                            .detail = "`requests` is an array of 1 to 256 requests",
                                            .field = "requests" });
    else if (has_room(x, n, n - 1)) /* the route has counted one start */
        begin(x, body, n);
    json_decref(body);
}
