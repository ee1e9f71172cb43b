/* POST /v1/batch: many requests, one reply.  Each is a run of its own, by the engine's queue. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "http/execution.h"
#include "http/guard.h"
#include "http/handlers.h"
#include "http/problem.h"
#include "http/server.h"
#include "http/submission.h"

#define BATCH_MAX 256
#define REPLY_MAX ((size_t)1 << 30)

struct batch {
    struct exchange *x; /* NULL: the client left */
    struct execution *items[BATCH_MAX];
    size_t n, left;
};

static void finish(struct batch *batch)
{
    struct buf out;

    buf_init(&out, REPLY_MAX);
    buf_add_text(&out, "{\"results\":[");
    for (size_t i = 0; i < batch->n; i++) {
        const struct execution *e = batch->items[i];

        buf_add_text(&out, i ? "," : "");
        buf_add_text(&out, e && e->text ? e->text->bytes : "null");
        if (e)
            batch->items[i]->held = false;
    }
    buf_add_text(&out, "]}");
    if (batch->x)
        exchange_reply(batch->x, HTTP_OK, JSON_TYPE, buf_take(&out, NULL));
    buf_done(&out);
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

/* All requests are read before the first one runs: a wrong one is refused with its place. */
static int read_all(struct exchange *x, const json_t *requests, sbr_request **ret)
{
    const json_t *item;
    size_t i;

    json_array_foreach(requests, i, item) {
        struct submission_fault fault = { .status = 0 };
        char field[sizeof(fault.field)];

        if (json_is_object(item) &&
            submission_read(x->server, &x->tenant, item, &ret[i], &fault) == 0)
            continue;
        if (!fault.err.code)
            err_set(&fault.err, SBR_E_INVALID, "request", "a request is a JSON object");
        snprintf(field, sizeof(field), "requests/%zu%s%.30s", i, fault.field[0] ? "/" : "",
                 fault.field);
        memcpy(fault.field, field, sizeof(fault.field));
        submission_refuse(x, &fault);
        return -1;
    }
    return 0;
}

static void fail_item(struct batch *batch, struct exchange *x, size_t i, const sbr_error *err)
{
    batch->items[i] = execution_open(x->server, &x->tenant);
    if (batch->items[i])
        execution_end(batch->items[i], NULL, err);
    if (batch->items[i])
        batch->items[i]->held = true;
}

static void start_all(struct exchange *x, sbr_request **requests, size_t n)
{
    struct batch *batch = calloc(1, sizeof(*batch));
    sbr_error err;

    if (!batch) {
        exchange_reply(x, HTTP_SERVICE_UNAVAILABLE, JSON_TYPE, NULL);
        return;
    }
    batch->x = x;
    for (size_t i = 0; i < n; i++) {
        sbr_request *req = requests[i];

        requests[i] = NULL;
        if (execution_start(x->server, &x->tenant, req, EXECUTION_WAITED, &batch->items[i], &err) <
            0) {
            fail_item(batch, x, i, &err);
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

void batches_create(struct exchange *x)
{
    sbr_request *list[BATCH_MAX] = { NULL };
    json_t *body = submission_body(x);
    const json_t *requests = json_object_get(body, "requests");
    size_t n = json_array_size(requests);
    unsigned int running = execution_count(x->server, x->tenant.name);

    if (!body)
        return;
    if (!json_is_array(requests) || n == 0 || n > BATCH_MAX)
        problem_reply(x, &(struct problem){ .status = HTTP_UNPROCESSABLE_CONTENT,
                                            .detail = "`requests` is an array of 1 to 256 requests",
                                            .field = "requests" });
    else if ((x->tenant.concurrency && running + n > x->tenant.concurrency) ||
             execution_count(x->server, NULL) + n > x->server->options.running)
        problem_reply(x,
                      &(struct problem){ .status = HTTP_TOO_MANY_REQUESTS,
                                         .detail = "the batch has more runs than may run at once",
                                         .remedy = "send a smaller one",
                                         .retry_s = 1,
                                         .position = running + 1 });
    else if (guard_takes(x, n - 1) && read_all(x, requests, list) == 0)
        start_all(x, list, n);
    for (size_t i = 0; i < n && i < BATCH_MAX; i++)
        sbr_request_free(list[i]);
    json_decref(body);
}
