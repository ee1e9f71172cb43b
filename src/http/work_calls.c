/* POST /v1/tests, /v1/builds, /v1/golden: work on a project of the tenant's: its files, a
 * workspace, a root.  The call waits, so it has a thread; an execution without a job counts it
 * among the runs. */
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/scope.h"
#include "http/admission.h"
#include "http/execution.h"
#include "http/handlers.h"
#include "http/offload.h"
#include "http/ownership.h"
#include "http/problem.h"
#include "http/server.h"
#include "http/submission.h"

struct work_call {
    const struct work_kind *kind;
    struct execution *execution;
    char *tool, *cases; /* NULL: not said; `tool` is also the runner of tests */
    unsigned int repeat;
    bool twice, coverage, installs_nothing;
    int stop_fd;
};

/* What the routes differ in. */
struct work_kind {
    int (*run)(struct offload *o, sbr_error *err);
    const char *fields[4]; /* of the body that are no part of the request */
    bool bounded;          /* the library has limits of its own for it */
};

static int run_build(struct offload *o, sbr_error *err)
{
    const struct work_call *b = o->extra;
    const sbr_build how = { .struct_size = sizeof(how),
                            .tool = b->tool,
                            .twice = b->twice,
                            .stop_fd = b->stop_fd,
                            .installs_nothing = b->installs_nothing };

    return sbr_build_run(o->server->rt, o->req, &how, &o->body, err);
}

static int run_test(struct offload *o, sbr_error *err)
{
    const struct work_call *b = o->extra;
    const sbr_test how = { .struct_size = sizeof(how),
                           .runner = b->tool,
                           .repeat = b->repeat,
                           .coverage = b->coverage,
                           .stop_fd = b->stop_fd,
                           .installs_nothing = b->installs_nothing };

    return sbr_test_run(o->server->rt, o->req, &how, &o->body, err);
}

/* One case at a time: the whole is one run among the tenant's. */
static int run_golden(struct offload *o, sbr_error *err)
{
    const struct work_call *b = o->extra;
    const sbr_golden how = {
        .struct_size = sizeof(how), .cases = b->cases, .jobs = 1, .stop_fd = b->stop_fd
    };

    return sbr_golden_run(o->server->rt, o->req, &how, &o->body, err);
}

static const struct work_kind build_kind = { run_build, { "tool", "twice" }, true };
static const struct work_kind test_kind = { run_test, { "runner", "repeat", "coverage" }, true };
static const struct work_kind golden_kind = { run_golden, { "cases" }, false };

static void call_done(struct work_call *b)
{
    close(b->stop_fd);
    free(b->tool);
    free(b->cases);
    free(b);
}

/* Changes belong to the tenant whose build has left them. */
static void note_changes(const struct offload *o)
{
    json_t *reply = o->body ? json_loads(o->body, 0, NULL) : NULL;
    const char *id = json_string_value(json_object_get(reply, "changes_id"));

    if (id)
        ownership_note_changes(o->tenant.name, id);
    json_decref(reply);
}

static void call_over(struct offload *o, const sbr_error *err)
{
    struct work_call *b = o->extra;

    note_changes(o);
    if (b->execution)
        execution_end(b->execution, o->body, err);
    call_done(b);
}

static void client_left(struct offload *o)
{
    const struct work_call *b = o->extra;

    o->server->counters.cancelled_by_client++;
    (void)eventfd_write(b->stop_fd, 1);
}

/* What a token bounds is bounded by the token; the library's larger limits for builds hold for the
 * rest. */
static void give_ceilings(const struct tenant *tenant, struct limits *limits)
{
    for (unsigned int i = 0; i < N_LIMITS; i++)
        if (tenant->ceilings.given >> i & 1 && !(limits->given >> i & 1)) {
            limits->value[i] = tenant->ceilings.value[i];
            limits->given |= 1u << i;
        }
}

/* Takes the fields of the call out of the body; the rest is a request. */
static struct work_call *read_own(json_t *body, const struct tenant *tenant,
                                  const struct work_kind *kind)
{
    struct work_call *b = calloc(1, sizeof(*b));
    const char *field = kind == &test_kind ? "runner" : "tool";
    const char *tool = json_string_value(json_object_get(body, field));
    const json_t *cases = json_object_get(body, "cases");

    if (!b)
        return NULL;
    b->kind = kind;
    b->stop_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    b->tool = tool ? strdup(tool) : NULL;
    b->cases = cases ? json_dumps(cases, JSON_COMPACT) : NULL;
    b->twice = json_is_true(json_object_get(body, "twice"));
    b->coverage = json_is_true(json_object_get(body, "coverage"));
    b->repeat = (unsigned int)json_integer_value(json_object_get(body, "repeat"));
    b->installs_nothing = tenant->network < NETWORK_ALLOW;
    if (b->stop_fd < 0 || (tool && !b->tool) || (cases && !b->cases)) {
        call_done(b);
        return NULL;
    }
    for (size_t i = 0; i < ARRAY_LEN(kind->fields) && kind->fields[i]; i++)
        (void)json_object_del(body, kind->fields[i]);
    return b;
}

#define MOST_REPEATS 1000

static bool is_wrong(const json_t *value, const char *field)
{
    if (!strcmp(field, "cases"))
        return !json_is_array(value);
    if (!value)
        return false;
    if (!strcmp(field, "repeat"))
        return !json_is_integer(value) || json_integer_value(value) < 1 ||
               json_integer_value(value) > MOST_REPEATS;
    if (!strcmp(field, "tool") || !strcmp(field, "runner"))
        return !json_is_string(value);
    return !json_is_boolean(value);
}

static bool check_own(struct exchange *x, const json_t *body, const struct work_kind *kind)
{
    for (size_t i = 0; i < ARRAY_LEN(kind->fields) && kind->fields[i]; i++) {
        if (!is_wrong(json_object_get(body, kind->fields[i]), kind->fields[i]))
            continue;
        problem_reply(x, &(struct problem){
                             .status = HTTP_UNPROCESSABLE_CONTENT,
                             .detail = "`tool` and `runner` are strings, `twice` and `coverage` "
                                       "booleans, `repeat` is 1 to 1000, `cases` an array",
                             .field = kind->fields[i] });
        return false;
    }
    return true;
}

/* Room among the runs, in memory too; false: replied. */
static bool is_admitted(struct exchange *x, const sbr_request *req, struct work_call *b)
{
    struct problem full;
    sbr_error err;

    if (!execution_has_room(x->server, &x->tenant, &full)) {
        problem_reply(x, &full);
        return false;
    }
    if (admission_check(x->server, req, &err) < 0) {
        problem_reply_error(x, &err);
        return false;
    }
    b->execution = execution_open(x->server, &x->tenant);
    if (!b->execution) {
        exchange_reply(x, HTTP_SERVICE_UNAVAILABLE, JSON_TYPE, NULL);
        return false;
    }
    b->execution->memory_bytes = req->limits.value[SBR_MEMORY_BYTES];
    return true;
}

static void start(struct exchange *x, json_t *body, struct work_call *b)
{
    struct submission_fault fault = { .status = 0 };
    struct offload o = { .work = b->kind->run, .done = call_over, .left = client_left, .extra = b };

    if (submission_read(x->server, &x->tenant, body, &o.req, &fault) < 0) {
        submission_refuse(x, &fault);
    } else {
        if (b->kind->bounded)
            give_ceilings(&x->tenant, &o.req->limits);
        if (is_admitted(x, o.req, b)) {
            offload_start(x, &o);
            return;
        }
        sbr_request_free(o.req);
    }
    call_done(b);
}

static void create(struct exchange *x, const struct work_kind *kind)
{
    json_t *body = submission_body(x);
    struct work_call *b;

    if (!body)
        return;
    if (check_own(x, body, kind)) {
        b = read_own(body, &x->tenant, kind);
        if (b)
            start(x, body, b);
        else
            exchange_reply(x, HTTP_SERVICE_UNAVAILABLE, JSON_TYPE, NULL);
    }
    json_decref(body);
}

void work_calls_build(struct exchange *x)
{
    create(x, &build_kind);
}

void work_calls_test(struct exchange *x)
{
    create(x, &test_kind);
}

void work_calls_golden(struct exchange *x)
{
    create(x, &golden_kind);
}
