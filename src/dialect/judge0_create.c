/* POST /submissions and /submissions/batch: large ones are read beside the loop. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/json_read.h"
#include "dialect/dialects.h"
#include "dialect/judge0.h"
#include "http/dialect.h"
#include "http/durable.h"
#include "http/handlers.h"
#include "http/offload.h"
#include "http/server.h"
#include "http/submission.h"
#include "model/result.h"

/* One submission on its way. */
struct item {
    struct catalog_row language; /* without a name when the machine does not have it */
    json_t *row, *errors;        /* NULL: none */
    sbr_request *req;            /* NULL: errors, or the fault, say why */
    char *text, *note;           /* what is put on record; NULL: nothing */
    struct refusal fault;
};

struct creation {
    struct apart apart;
    struct server *server;
    struct grant tenant;
    json_t *body;
    bool base64, batch, waits; /* waits: for the end of the only one */
    size_t n;
    struct item items[JUDGE0_BATCH_MAX];
};

static const json_t *body_of(const struct creation *c, size_t i)
{
    return c->batch ? json_array_get(json_object_get(c->body, "submissions"), i) : c->body;
}

/* Bytes of stdin, which JSON cannot hold. */
static int set_stdin(sbr_request *req, const json_t *row, sbr_error *err)
{
    scoped_free char *bytes = NULL;
    size_t len = 0;

    (void)!encoding_from_base64(translate_word(row, "stdin"), &bytes, &len);
    if (sbr_request_set_stdin(req, bytes ? bytes : "", len) == 0)
        return 0;
    *err = *sbr_request_error(req);
    return err->code;
}

static int add_stdin(sbr_request *req, void *context, sbr_error *err)
{
    const struct judge0_submission *s = context;

    return set_stdin(req, s->row, err);
}

/* The row with its token, and what of both is put on record. */
static int make_record(const struct creation *c, struct item *item, const json_t *request)
{
    char token[ENCODING_ID_SIZE];

    if (encoding_random_id(token) < 0)
        return err_set(&item->fault.err, SBR_E_SYSTEM, "http", "there are no random bytes");
    json_object_set_new(item->row, "token", json_string(token));
    item->note = judge0_note(item->row);
    item->text = c->waits ? NULL : json_dumps(request, JSON_COMPACT);
    return 0;
}

static void read_item(struct creation *c, const json_t *body, struct item *item)
{
    const struct judge0_given given = { c->server, &c->tenant, body, c->base64 };
    json_t *request = judge0_request(&given, &item->language, item->row, &item->errors);

    if (request && submission_read(c->server, &c->tenant, request, &item->req, &item->fault) == 0 &&
        (set_stdin(item->req, item->row, &item->fault.err) < 0 ||
         make_record(c, item, request) < 0))
        sbr_request_free(take_ptr(item->req));
    json_decref(request);
}

static void read_all(struct apart *a)
{
    struct creation *c = link_owner(a, struct creation, apart);

    for (size_t i = 0; i < c->n; i++)
        read_item(c, body_of(c, i), &c->items[i]);
    json_decref(take_ptr(c->body));
}

static void add_end(struct judge0_submission *s, const struct execution *e, json_t *digest)
{
    char time[RESULT_TIME_SIZE];

    if (e->is_error)
        json_object_update_new(s->row, judge0_failure(e->err.message));
    else
        json_object_update(s->row, digest);
    result_format_time(e->created_us + (e->ended_us - e->started_us), time);
    json_object_set_new(s->row, "finished_at", json_string(time));
}

static void ended(struct execution *e, void *context)
{
    struct judge0_submission *s = context;
    struct exchange *waiter = take_ptr(s->waiter);

    add_end(s, e, e->digested);
    if (s->redirect) { /* the order of both streams is known by the events alone */
        free(e->note);
        e->note = judge0_note(s->row);
    }
    s->execution = NULL;
    s->ended_us = clock_now_us();
    judge0_call_back(e->server, s);
    if (waiter) {
        e->settled = NULL;
        judge0_reply(waiter, s, HTTP_CREATED);
    } else {
        s->settling = e;
    }
}

static void settled(struct execution *e, void *context)
{
    struct judge0_submission *s = context;

    (void)e;
    s->settling = NULL;
}

static void follow(struct judge0_submission *s, struct execution *e)
{
    s->execution = e;
    e->digest = judge0_judge;
    e->ended = ended;
    e->settled = settled;
    e->add = add_stdin;
    e->ended_context = s;
}

/* It was over before the gateway started. */
static void judge_again(struct judge0_submission *s, struct execution *e)
{
    json_t *result = e->is_error || !e->text ? NULL : json_read_own(e->text->bytes, JSON_ALLOW_NUL);
    json_t *digest;

    e->ended_context = s; /* for the judge alone */
    digest = result ? judge0_judge(e, result, NULL) : NULL;
    e->ended_context = NULL;
    add_end(s, e, digest);
    json_decref(digest);
    json_decref(result);
}

bool judge0_restore(struct execution *e, const json_t *note)
{
    struct judge0_submission *s;

    if (json_object_get(note, "callback"))
        return judge0_call_back_again(e, note);
    s = judge0_add_again(e, note);
    if (!s)
        return false;
    if (!execution_is_over(e)) {
        follow(s, e);
        return true;
    }
    s->ended_us = e->ended_us;
    s->unsent = true;
    if (!json_object_get(s->row, "finished_at"))
        judge_again(s, e);
    return true;
}

/* A request that waits until its submissions are on record. */
struct judge0_acceptance {
    struct exchange *x; /* NULL: the client left */
    json_t *answer;
    size_t left; /* submissions that are not on record */
    bool any;    /* one of them is */
    bool many;   /* it is a batch */
};

static struct judge0_acceptance *acceptance_new(struct exchange *x, bool many)
{
    struct judge0_acceptance *a = calloc(1, sizeof(*a));

    if (a)
        *a = (struct judge0_acceptance){ .x = x, .answer = json_array(), .many = many };
    return a;
}

static void finish_acceptance(struct judge0_acceptance *a)
{
    if (a->left)
        return;
    if (a->x && a->many)
        translate_reply(a->x, a->any ? HTTP_CREATED : HTTP_UNPROCESSABLE_CONTENT,
                        json_incref(a->answer));
    else if (a->x)
        translate_reply(a->x, a->any ? HTTP_CREATED : HTTP_SERVICE_UNAVAILABLE,
                        json_incref(json_array_get(a->answer, 0)));
    json_decref(a->answer);
    free(a);
}

static void acceptance_left(struct exchange *x)
{
    ((struct judge0_acceptance *)x->subject)->x = NULL;
}

static void accepted(struct execution *e, const sbr_error *err)
{
    struct judge0_submission *s = e->ended_context;
    struct judge0_acceptance *a = take_ptr(s->acceptance);
    size_t place = s->place;

    a->left--;
    a->any |= !err;
    if (err) {
        json_array_set_new(a->answer, place, json_pack("{s:s}", "error", err->message));
        judge0_remove(s);
        execution_free(e);
    } else {
        durable_begin(e);
    }
    finish_acceptance(a);
}

/* Begins when it is on record, which `a` waits for.  0 or -1: it is not, and is gone. */
static int put_on_record(struct judge0_submission *s, struct item *item,
                         struct judge0_acceptance *a)
{
    const struct joblog_text text = { .bytes = item->text,
                                      .len = item->text ? strlen(item->text) : 0 };
    struct execution *e = s->execution;

    item->text = NULL;
    if (execution_record_accept(e, text, false, accepted, &item->fault.err) < 0) {
        judge0_remove(s);
        execution_free(e);
        return -1;
    }
    s->acceptance = a;
    s->place = json_array_size(a->answer);
    a->left++;
    json_array_append_new(a->answer, json_pack("{s:s}", "token", s->token));
    return 0;
}

/* NULL: the item's errors or its fault say why.  It does not begin yet. */
static struct judge0_submission *launch(struct creation *c, struct item *item)
{
    const struct submission_extra extra = { .mode = EXECUTION_QUEUED };
    struct judge0_submission *s;
    struct execution *e = NULL;
    char time[RESULT_TIME_SIZE];

    if (!item->req ||
        submission_launch(c->server, &c->tenant, take_ptr(item->req), &extra, &e, &item->fault) < 0)
        return NULL;
    s = judge0_add(c->server, &c->tenant, item->row);
    if (!s) {
        execution_free(e);
        err_set_oom(&item->fault.err, "http");
        return NULL;
    }
    result_format_time(e->created_us, time);
    json_object_set_new(s->row, "created_at", json_string(time));
    json_object_set_new(s->row, "status_id", json_integer(JUDGE0_QUEUE));
    memcpy(s->job, e->id, sizeof(s->job));
    snprintf(e->dialect, sizeof(e->dialect), "%s", dialect_judge0.name);
    e->note = take_ptr(item->note);
    e->durable = true;
    follow(s, e);
    return s;
}

static void waiter_left(struct exchange *x)
{
    struct judge0_submission *s = x->subject;

    s->waiter = NULL; /* the submission goes on, as in Judge0 */
}

static void start_one(struct creation *c, struct exchange *x)
{
    struct item *item = &c->items[0];
    struct judge0_acceptance *a = c->waits ? NULL : acceptance_new(x, false);
    struct judge0_submission *s = NULL;

    if (!c->waits && !a)
        err_set_oom(&item->fault.err, "http");
    else
        s = launch(c, item);
    if (s && a && put_on_record(s, item, a) < 0)
        s = NULL;
    if (!s && a) {
        a->x = NULL;
        finish_acceptance(a);
    }
    if (item->errors) {
        translate_reply(x, HTTP_UNPROCESSABLE_CONTENT, take_ptr(item->errors));
    } else if (!s) {
        holdings_refuse(x, &item->fault);
    } else if (a) {
        exchange_wait(x, acceptance_left, a);
    } else {
        s->waiter = x;
        exchange_wait(x, waiter_left, s);
        execution_begin(s->execution);
    }
}

static void start_batch(struct creation *c, struct exchange *x)
{
    struct judge0_acceptance *a = acceptance_new(x, true);

    if (!a) {
        exchange_reply(x, HTTP_SERVICE_UNAVAILABLE, JSON_TYPE, NULL);
        return;
    }
    for (size_t i = 0; i < c->n; i++) {
        struct item *item = &c->items[i];
        struct judge0_submission *s = launch(c, item);

        if (!s || put_on_record(s, item, a) < 0)
            json_array_append_new(a->answer, item->errors ? take_ptr(item->errors)
                                                          : json_pack("{s:s}", "error",
                                                                      item->fault.err.message));
    }
    if (a->left)
        exchange_wait(x, acceptance_left, a);
    finish_acceptance(a);
}

static void start(struct apart *a, struct exchange *x)
{
    struct creation *c = link_owner(a, struct creation, apart);

    if (x && c->batch)
        start_batch(c, x);
    else if (x)
        start_one(c, x);
    for (size_t i = 0; i < c->n; i++) {
        json_decref(c->items[i].row);
        json_decref(c->items[i].errors);
        sbr_request_free(c->items[i].req);
        free(c->items[i].text);
        free(c->items[i].note);
    }
    json_decref(c->body);
    free(c);
}

static void create(struct exchange *x, json_t *body, bool batch, size_t n)
{
    struct creation *c = calloc(1, sizeof(*c));

    if (!c) {
        exchange_reply(x, HTTP_SERVICE_UNAVAILABLE, JSON_TYPE, NULL);
        return;
    }
    c->apart = (struct apart){ read_all, start };
    c->server = x->server;
    c->tenant = x->tenant;
    c->body = json_incref(body);
    c->base64 = judge0_is_true(x, "base64_encoded");
    c->batch = batch;
    c->waits = !batch && judge0_is_true(x, "wait");
    c->n = n;
    for (size_t i = 0; i < n; i++) {
        const struct judge0_given given = { c->server, &c->tenant, body_of(c, i), c->base64 };
        struct item *item = &c->items[i];

        item->row = json_object();
        judge0_take_language(&given, &item->language, item->row, &item->errors);
    }
    apart_do(x, x->read != NULL, &c->apart);
}

void judge0_create_one(struct exchange *x)
{
    json_t *body;

    if (!catalog_is_ready(x) || !judge0_check_fields(x))
        return;
    body = submission_body(x);
    if (body)
        create(x, body, false, 1);
    json_decref(body);
}

void judge0_create_batch(struct exchange *x)
{
    json_t *body;
    size_t n;

    if (!catalog_is_ready(x))
        return;
    body = submission_body(x);
    if (!body)
        return;
    n = json_array_size(json_object_get(body, "submissions"));
    if (judge0_check_batch(x, n) && guard_takes(x, n - 1))
        create(x, body, true, n);
    json_decref(body);
}
