/* POST /v1/tests, /v1/builds, /v1/golden, /v1/verify, /v1/comparisons, /v1/profiles: work on code
 * of the tenant's: its files, a workspace, a root.  The call waits, so it has a thread; an
 * execution without a job counts it among the runs. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "admit/grant_check.h"
#include "base/json_read.h"
#include "http/execution.h"
#include "http/handlers.h"
#include "http/holdings.h"
#include "http/offload.h"
#include "http/ownership.h"
#include "http/problem.h"
#include "http/server.h"
#include "http/submission.h"
#include "http/work_fields.h"
#include "work/work_limits.h"

#define MEASURED_RUNS 10 /* of a profile or comparison that names no number */
#define VERIFY_CHECKS 6
#define GRACE_MS 1000

struct work_call {
    const struct work_kind *kind;
    struct execution *execution;
    json_t *own;         /* the fields of the body that are no part of a request */
    sbr_request *second; /* the other program of a comparison; NULL: none */
    bool installs_nothing;
    int stop_fd;
};

/* What the routes differ in. */
struct work_kind {
    int (*run)(struct offload *o, sbr_error *err);
    unsigned int (*starts)(const json_t *own); /* how many programs it runs, for the rate */
    const char *fields[WORK_FIELDS_MOST];
    bool bounded; /* the library has limits of its own for it */
    bool pair;    /* two requests, `a` and `b` */
    bool keeps;   /* what it makes, also without `keep` */
};

static int run_build(struct offload *o, sbr_error *err)
{
    const struct work_call *b = o->extra;
    const sbr_build how = { .struct_size = sizeof(how),
                            .tool = json_string_value(json_object_get(b->own, "tool")),
                            .twice = json_is_true(json_object_get(b->own, "twice")),
                            .stop_fd = b->stop_fd,
                            .installs_nothing = b->installs_nothing };

    return sbr_build_run(o->server->rt, o->req, &how, &o->body, err);
}

static int run_test(struct offload *o, sbr_error *err)
{
    const struct work_call *b = o->extra;
    const sbr_test how = { .struct_size = sizeof(how),
                           .runner = json_string_value(json_object_get(b->own, "runner")),
                           .repeat = work_fields_count(b->own, "repeat", 1),
                           .coverage = json_is_true(json_object_get(b->own, "coverage")),
                           .stop_fd = b->stop_fd,
                           .installs_nothing = b->installs_nothing };

    return sbr_test_run(o->server->rt, o->req, &how, &o->body, err);
}

/* One case at a time: the whole is one run among the tenant's. */
static int run_golden(struct offload *o, sbr_error *err)
{
    const struct work_call *b = o->extra;
    scoped_free char *cases = json_dumps(json_object_get(b->own, "cases"), JSON_COMPACT);
    const sbr_golden how = {
        .struct_size = sizeof(how), .cases = cases, .jobs = 1, .stop_fd = b->stop_fd
    };

    return cases ? sbr_golden_run(o->server->rt, o->req, &how, &o->body, err)
                 : err_set_oom(err, "golden");
}

static int run_verify(struct offload *o, sbr_error *err)
{
    const struct work_call *b = o->extra;
    scoped_free const char **paths = work_fields_texts(b->own, "paths");
    scoped_free const char **calls = work_fields_texts(b->own, "calls");
    scoped_free const char **skip = work_fields_texts(b->own, "skip");
    const sbr_verify how = { .struct_size = sizeof(how),
                             .files = json_object_get(b->own, "paths") ? paths : NULL,
                             .calls = calls,
                             .skip = skip,
                             .jobs = 1,
                             .stop_fd = b->stop_fd,
                             .installs_nothing = b->installs_nothing };

    if (!paths || !calls || !skip)
        return err_set_oom(err, "verify");
    return sbr_verify_run(o->server->rt, o->req, &how, &o->body, err);
}

static int run_comparison(struct offload *o, sbr_error *err)
{
    const struct work_call *b = o->extra;
    char tolerance[40];
    struct work_inputs inputs = { 0 };
    const sbr_compare plain = { .struct_size = sizeof(plain),
                                .repeat = work_fields_count(b->own, "repeat", 0),
                                .warm_up = work_fields_count(b->own, "warm_up", 1),
                                .checker = json_string_value(json_object_get(b->own, "checker")),
                                .tolerance = work_fields_decimal(b->own, "tolerance", tolerance,
                                                                 sizeof(tolerance)),
                                .stop_fd = b->stop_fd };
    sbr_compare how = plain;
    int r = work_fields_inputs(b->own, &inputs, err);

    how.inputs = inputs.items;
    how.n_inputs = inputs.n;
    if (r == 0)
        r = sbr_compare_run(o->server->rt, o->req, b->second, &how, &o->body, err);
    work_fields_inputs_done(&inputs);
    return r;
}

static int run_profile(struct offload *o, sbr_error *err)
{
    const struct work_call *b = o->extra;
    const sbr_profile how = { .struct_size = sizeof(how),
                              .repeat = work_fields_count(b->own, "repeat", 0),
                              .warm_up = work_fields_count(b->own, "warm_up", 1),
                              .stop_fd = b->stop_fd,
                              .functions = json_is_true(json_object_get(b->own, "functions")) };

    return sbr_profile_run(o->server->rt, o->req, &how, &o->body, err);
}

static unsigned int starts_of_build(const json_t *own)
{
    return json_is_true(json_object_get(own, "twice")) ? 2 : 1;
}

static unsigned int starts_of_test(const json_t *own)
{
    return work_fields_count(own, "repeat", 1);
}

static unsigned int starts_of_golden(const json_t *own)
{
    size_t n = json_array_size(json_object_get(own, "cases"));

    return n ? (unsigned int)n : 1;
}

/* One for each kind of check that it knows. */
static unsigned int starts_of_verify(const json_t *own)
{
    (void)own;
    return VERIFY_CHECKS;
}

static unsigned int starts_of_profile(const json_t *own)
{
    return work_fields_count(own, "repeat", MEASURED_RUNS) + work_fields_count(own, "warm_up", 1);
}

static unsigned int starts_of_comparison(const json_t *own)
{
    size_t inputs = json_array_size(json_object_get(own, "inputs"));

    return 2 * (unsigned int)(inputs ? inputs : 1) * starts_of_profile(own);
}

static const struct work_kind build_kind = {
    .run = run_build,
    .starts = starts_of_build,
    .fields = { "tool", "twice" },
    .bounded = true,
    .keeps = true,
};
static const struct work_kind test_kind = {
    .run = run_test,
    .starts = starts_of_test,
    .fields = { "runner", "repeat", "coverage" },
    .bounded = true,
};
static const struct work_kind golden_kind = {
    .run = run_golden,
    .starts = starts_of_golden,
    .fields = { "cases" },
};
static const struct work_kind verify_kind = {
    .run = run_verify,
    .starts = starts_of_verify,
    .fields = { "paths", "calls", "skip" },
    .bounded = true,
};
static const struct work_kind comparison_kind = {
    .run = run_comparison,
    .starts = starts_of_comparison,
    .fields = { "a", "b", "inputs", "repeat", "warm_up", "checker", "tolerance" },
    .pair = true,
};
static const struct work_kind profile_kind = {
    .run = run_profile,
    .starts = starts_of_profile,
    .fields = { "repeat", "warm_up", "functions" },
};

static void call_done(struct work_call *b)
{
    close(b->stop_fd);
    sbr_request_free(b->second);
    json_decref(b->own);
    free(b);
}

/* Changes belong to the tenant whose build has left them. */
static void note_changes(const struct offload *o)
{
    json_t *reply = json_read_own(o->body, 0);
    const char *id = json_string_value(json_object_get(reply, "changes_id"));

    if (id)
        ownership_note_changes(o->tenant.name, id);
    json_decref(reply);
}

static void call_over(struct offload *o, const sbr_error *err)
{
    struct work_call *b = o->extra;

    note_changes(o);
    if (b->execution) {
        b->execution->stop_fd = -1;
        execution_end(b->execution, o->body, err);
    }
    call_done(b);
}

static void client_left(struct offload *o)
{
    const struct work_call *b = o->extra;

    o->server->counters.cancelled_by_client++;
    (void)eventfd_write(b->stop_fd, 1);
}

/* Takes the fields of the call out of the body; the rest is a request. */
static struct work_call *read_own(json_t *body, const struct grant *tenant,
                                  const struct work_kind *kind)
{
    struct work_call *b = calloc(1, sizeof(*b));

    if (!b)
        return NULL;
    b->kind = kind;
    b->own = json_object();
    b->stop_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    b->installs_nothing = !tenant->packages;
    if (b->stop_fd < 0 || !b->own) {
        call_done(b);
        return NULL;
    }
    for (size_t i = 0; i < WORK_FIELDS_MOST && kind->fields[i]; i++) {
        json_t *value = json_object_get(body, kind->fields[i]);

        if (value)
            (void)json_object_set(b->own, kind->fields[i], value);
        (void)json_object_del(body, kind->fields[i]);
    }
    return b;
}

static void refuse(struct exchange *x, const char *field, const char *detail)
{
    problem_reply(x, &(struct problem){
                         .status = HTTP_UNPROCESSABLE_CONTENT, .detail = detail, .field = field });
}

static bool check_own(struct exchange *x, const json_t *body, const struct work_kind *kind)
{
    for (size_t i = 0; i < WORK_FIELDS_MOST && kind->fields[i]; i++) {
        const char *detail =
            work_fields_fault(kind->fields[i], json_object_get(body, kind->fields[i]));

        if (!detail)
            continue;
        refuse(x, kind->fields[i], detail);
        return false;
    }
    return true;
}

/* A request that stands in a field of its own; 0, or -1 when it was refused. */
static int read_part(struct exchange *x, const json_t *own, const char *name, sbr_request **ret)
{
    struct refusal fault = { 0 };
    char field[sizeof(fault.field)];

    if (submission_read(x->server, &x->tenant, json_object_get(own, name), ret, &fault) == 0)
        return 0;
    snprintf(field, sizeof(field), "%s%s%.50s", name, fault.field[0] ? "/" : "", fault.field);
    memcpy(fault.field, field, sizeof(fault.field));
    holdings_refuse(x, &fault);
    return -1;
}

static int read_pair(struct exchange *x, const json_t *body, struct work_call *b, sbr_request **ret)
{
    const char *other = json_object_iter_key(json_object_iter((json_t *)(uintptr_t)body));

    if (other) {
        refuse(x, other, "what a program needs stands in its own request, `a` or `b`");
        return -1;
    }
    return read_part(x, b->own, "a", ret) < 0 ? -1 : read_part(x, b->own, "b", &b->second);
}

static int read_single(struct exchange *x, const json_t *body, sbr_request **ret)
{
    struct refusal fault = { 0 };

    if (submission_read(x->server, &x->tenant, body, ret, &fault) == 0)
        return 0;
    holdings_refuse(x, &fault);
    return -1;
}

/* Of two programs, one runs at a time, but both leave what they write. */
static struct need need_of(const sbr_request *req, const struct work_call *b)
{
    unsigned int keeps = b->kind->keeps ? 1 + json_is_true(json_object_get(b->own, "twice")) : 0;
    struct limits limits = req->limits;
    struct need need, second = { 0 };
    sbr_error ignored; /* presets are within their bounds */

    (void)!work_limits_set(&limits, &ignored);
    need = b->kind->bounded ? need_of_work(req, &limits, keeps) : need_of_run(req);
    if (b->second)
        second = need_of_run(b->second);
    if (second.memory > need.memory)
        need.memory = second.memory;
    need.disk += second.disk;
    return need;
}

/* Room among the runs, in memory and on the disk too; false: replied. */
static bool is_admitted(struct exchange *x, const sbr_request *req, struct work_call *b)
{
    struct need need = need_of(req, b);
    struct refusal refusal = { 0 };

    need.starts = b->kind->starts(b->own) - 1; /* the route has counted one */
    b->execution = execution_open(x->server, &x->tenant, &need, &refusal);
    if (!b->execution) {
        holdings_refuse(x, &refusal);
        return false;
    }
    b->execution->stop_fd = b->stop_fd;
    execution_has_begun(b->execution);
    return true;
}

/* A path of a root would be read out here, where nothing hides the secrets of a tree. */
static int check_paths(struct exchange *x, const json_t *own, const sbr_request *req)
{
    const json_t *paths = json_object_get(own, "paths"), *path;
    size_t i;

    json_array_foreach(paths, i, path) {
        size_t k = 0;

        while (k < req->n_files && strcmp(req->files[k].path, json_string_value(path)) != 0)
            k++;
        if (k < req->n_files)
            continue;
        refuse(x, "paths", "`paths` names what is in `files`, and this one is not");
        return -1;
    }
    return 0;
}

/* The library's own limits for such work are within the token's ceilings and the tenant's share. */
static void bound_work(struct exchange *x, sbr_request *req)
{
    struct grant bounded = x->tenant;
    sbr_error ignored; /* presets are within their bounds */

    (void)!work_limits_set(&req->limits, &ignored);
    ledger_lower_ceilings(&x->server->holdings.ledger, &bounded);
    grant_give_limits(&bounded, req);
}

/* What stops such work says only once that it is to end, so the grace of its runs is what is left
 * of them when their token is revoked. */
static void lower_grace(sbr_request *req)
{
    uint64_t *grace = req ? &req->limits.value[SBR_GRACE_MS] : NULL;

    if (grace && *grace > GRACE_MS)
        *grace = GRACE_MS;
}

static void start(struct exchange *x, json_t *body, struct work_call *b)
{
    struct offload o = { .work = b->kind->run, .done = call_over, .left = client_left, .extra = b };
    int r = b->kind->pair ? read_pair(x, body, b, &o.req) : read_single(x, body, &o.req);

    if (r == 0 && check_paths(x, b->own, o.req) == 0) {
        if (b->kind->bounded)
            bound_work(x, o.req);
        lower_grace(o.req);
        lower_grace(b->second);
        if (is_admitted(x, o.req, b)) {
            offload_start(x, &o);
            return;
        }
    }
    sbr_request_free(o.req);
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

void work_calls_verify(struct exchange *x)
{
    create(x, &verify_kind);
}

void work_calls_compare(struct exchange *x)
{
    create(x, &comparison_kind);
}

void work_calls_profile(struct exchange *x)
{
    create(x, &profile_kind);
}
