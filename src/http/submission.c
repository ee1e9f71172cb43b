#include "http/submission.h"

#include <string.h>

#include "admit/admit.h"
#include "base/json_read.h"
#include "http/holdings.h"
#include "http/server.h"
#include "model/request.h"

/* The reader of JSON calls itself for each level, and has a stack to keep. */
static const struct json_bounds body_bounds = {
    .bytes = SIZE_MAX, /* the route has its own */
    .values = 100000,
    .depth = SUBMISSION_MAX_DEPTH,
};

json_t *submission_parse(const char *text, size_t len, struct refusal *fault)
{
    sbr_error err;
    json_t *root = json_read(text, len, &body_bounds, JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL,
                             "the body", &err);

    if (root && !json_is_object(root)) {
        json_decref(root);
        refusal_set(fault, REFUSED_UNREADABLE, BOUND_NONE, "", "the body is not a JSON object");
        return NULL;
    }
    if (!root)
        refusal_set(fault, REFUSED_UNREADABLE, BOUND_NONE, "", "%s", err.message);
    return root;
}

static json_t *resolve(const void *context, const struct grant *grant, const json_t *body,
                       struct refusal *refusal)
{
    return roots_resolve(context, grant, body, refusal);
}

static struct admit_door door_of(struct server *server)
{
    return (struct admit_door){ &server->config, &server->holdings.ledger, resolve,
                                &server->roots };
}

int submission_read(struct server *server, const struct grant *tenant, const json_t *body,
                    sbr_request **ret, struct refusal *fault)
{
    const struct admit_door door = door_of(server);

    if (admit_request(&door, tenant, body, ret, fault) == 0)
        return 0;
    roots_hide_in(&server->roots, tenant->name, fault->err.message, sizeof(fault->err.message));
    return -1;
}

int submission_base(struct server *server, const struct grant *tenant, const char *workspace,
                    sbr_request **ret, struct refusal *fault)
{
    const struct admit_door door = door_of(server);

    return admit_base(&door, tenant, workspace, ret, fault);
}

int submission_check_field(const struct submission_field *field, const json_t *value,
                           struct refusal *fault)
{
    if (field->is_count ? json_is_integer(value) && json_integer_value(value) > 0
                        : json_is_string(value))
        return 0;
    return refusal_set(fault, REFUSED_WRONG, BOUND_NONE, field->name, "`%s` is %s", field->name,
                       field->is_count ? "a whole number above 0" : "a text");
}

int submission_check_fields(const json_t *body, const struct submission_field *fields, size_t n,
                            struct refusal *fault)
{
    const char *key;
    json_t *value;

    json_object_foreach((json_t *)(uintptr_t)body, key, value) {
        size_t i = 0;

        while (i < n && strcmp(fields[i].name, key) != 0)
            i++;
        if (i == n)
            return refusal_set(fault, REFUSED_WRONG, BOUND_NONE, key,
                               "there is no field `%.60s` here; the schema of the route has all",
                               key);
        if (submission_check_field(&fields[i], value, fault) < 0)
            return -1;
    }
    return 0;
}

json_t *submission_body(struct exchange *x)
{
    struct refusal fault = { 0 };
    struct body_read *read = x->read;
    json_t *body = read ? take_ptr(read->tree)
                        : submission_parse(x->body.data ? x->body.data : "", x->body.len, &fault);

    if (!body)
        holdings_refuse(x, read ? &read->fault : &fault);
    return body;
}

int submission_launch(struct server *server, const struct grant *tenant, sbr_request *req,
                      const struct submission_extra *extra, struct execution **ret,
                      struct refusal *fault)
{
    struct need need;

    if (extra->add && extra->add(req, extra->context, &fault->err) < 0) {
        sbr_request_free(req);
        return -1;
    }
    need = need_of_run(req);
    need.sessions = extra->lives;
    if (execution_start(server, tenant, req, extra->mode, &need, ret, fault) == 0)
        return 0;
    /* The path is there: what it should run is not. */
    if (!fault->kind && fault->err.code == SBR_E_NOT_FOUND)
        fault->kind = REFUSED_WRONG;
    return -1;
}

int submission_begin(struct server *server, const struct grant *tenant, const json_t *body,
                     const struct submission_extra *extra, struct execution **ret,
                     struct refusal *fault)
{
    sbr_request *req = NULL;

    if (submission_read(server, tenant, body, &req, fault) < 0)
        return -1;
    return submission_launch(server, tenant, req, extra, ret, fault);
}

/* `e` as it was started; NULL: the fault says why not. */
static struct execution *started(struct exchange *x, struct execution *e,
                                 const struct refusal *fault)
{
    if (e)
        spans_read_parent(exchange_header(x, "traceparent"), &e->trace);
    else
        holdings_refuse(x, fault);
    return e;
}

struct execution *submission_start(struct exchange *x, const json_t *body,
                                   const struct submission_extra *extra)
{
    struct refusal fault = { 0 };
    struct execution *e = NULL;

    (void)submission_begin(x->server, &x->tenant, body, extra, &e, &fault);
    return started(x, e, &fault);
}

struct execution *submission_start_read(struct exchange *x, sbr_request *req,
                                        enum execution_mode mode, struct refusal *fault)
{
    const struct submission_extra extra = { .mode = mode };
    struct execution *e = NULL;

    if (req)
        (void)submission_launch(x->server, &x->tenant, req, &extra, &e, fault);
    return started(x, e, fault);
}

struct execution *submission_start_body(struct exchange *x, enum execution_mode mode)
{
    const struct submission_extra extra = { .mode = mode };
    struct refusal fault = { 0 };
    struct body_read *read = x->read;
    struct execution *e;
    json_t *body;

    if (read && read->req)
        return submission_start_read(x, take_ptr(read->req), mode, &fault);
    body = submission_body(x);
    e = body ? submission_start(x, body, &extra) : NULL;
    json_decref(body);
    return e;
}
