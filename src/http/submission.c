#include "http/submission.h"

#include <stdio.h>
#include <string.h>

#include "base/json_read.h"
#include "base/scope.h"
#include "base/text.h"
#include "http/body.h"
#include "http/server.h"
#include "lib/runner.h"
#include "model/request.h"

#define WORKSPACE_SHOWN_MAX 30 /* with the tenant's name in front it still is a name */

static int refuse(struct submission_fault *fault, unsigned int status, const char *field,
                  const char *message)
{
    fault->status = status;
    snprintf(fault->field, sizeof(fault->field), "%s", field);
    err_set(&fault->err, status == HTTP_FORBIDDEN ? SBR_E_DENIED : SBR_E_INVALID, "request", "%s",
            message);
    return -1;
}

/* The reader of JSON calls itself for each level, and has a stack to keep. */
static const struct json_bounds body_bounds = {
    .bytes = SIZE_MAX, /* the route has its own */
    .values = 100000,
    .depth = SUBMISSION_MAX_DEPTH,
};

json_t *submission_parse(const char *text, size_t len, struct submission_fault *fault)
{
    sbr_error err;
    json_t *root = json_read(text, len, &body_bounds, JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL,
                             "the body", &err);

    if (root && !json_is_object(root)) {
        json_decref(root);
        refuse(fault, HTTP_BAD_REQUEST, "", "the body is not a JSON object");
        return NULL;
    }
    if (!root)
        refuse(fault, HTTP_BAD_REQUEST, "", err.message);
    return root;
}

/* Each returns 0, or -1 with the fault: the value, or that the field is there, names the host. */
typedef int field_check(const struct tenant *tenant, const char *field, const json_t *value,
                        struct submission_fault *fault);

static int check_never(const struct tenant *tenant, const char *field, const json_t *value,
                       struct submission_fault *fault)
{
    scoped_free char *message = text_format(
        "`%s` names a path of the host, and such paths do not cross HTTP; send `files`, or use a "
        "`workspace`",
        field);

    (void)tenant;
    (void)value;
    return refuse(fault, HTTP_UNPROCESSABLE_CONTENT, field, message ? message : field);
}

static int check_no_path(const struct tenant *tenant, const char *field, const json_t *value,
                         struct submission_fault *fault)
{
    const char *text = json_string_value(value);

    (void)tenant;
    if (!text || !strchr(text, '/'))
        return 0;
    return refuse(fault, HTTP_UNPROCESSABLE_CONTENT, field,
                  "a file of the host cannot be named over HTTP; use a name that ships with "
                  "sandbox-run");
}

/* A name of an image that the operator has pulled; not a path, a layout, an archive or a daemon. */
static int check_image(const struct tenant *tenant, const char *field, const json_t *value,
                       struct submission_fault *fault)
{
    const char *text = json_string_value(value);

    (void)tenant;
    if (!text || request_image_is_name(text))
        return 0;
    return refuse(fault, HTTP_UNPROCESSABLE_CONTENT, field,
                  "an image over HTTP is named as in a registry, such as debian:12, and the "
                  "operator has pulled it");
}

/* A backend is a program of the host that runs beside the gateway. */
static int check_backend(const struct tenant *tenant, const char *field, const json_t *value,
                         struct submission_fault *fault)
{
    const char *text = json_string_value(value);

    (void)tenant;
    if (!text || !strcmp(text, "native"))
        return 0;
    return refuse(fault, HTTP_UNPROCESSABLE_CONTENT, field,
                  "over HTTP every run has the native backend; leave `backend` out");
}

static int check_degraded(const struct tenant *tenant, const char *field, const json_t *value,
                          struct submission_fault *fault)
{
    if (tenant->local || !json_is_true(value))
        return 0;
    return refuse(fault, HTTP_FORBIDDEN, field,
                  "only the operator may lower the isolation; leave `allow_degraded` out");
}

/* A tenant may ask for the strongest tier and for no weaker one. */
static int check_require(const struct tenant *tenant, const char *field, const json_t *value,
                         struct submission_fault *fault)
{
    const char *text = json_string_value(value);

    if (tenant->local || !text || !strcmp(text, "container"))
        return 0;
    return refuse(fault, HTTP_FORBIDDEN, field,
                  "only the operator may lower the isolation; leave `require` out");
}

/* A port of the server's own loopback: none of a tenant's business. */
static int check_publish(const struct tenant *tenant, const char *field, const json_t *value,
                         struct submission_fault *fault)
{
    if (tenant->local || !json_array_size(value))
        return 0;
    return refuse(fault, HTTP_FORBIDDEN, field,
                  "only the operator, without a token, may publish ports of this machine");
}

/* clang-format off */
static const struct {
    const char *name;
    field_check *check;
} checks[] = {
    { "allow_degraded", check_degraded },
    { "backend",        check_backend  },
    { "image",          check_image    },
    { "language_file",  check_never    },
    { "policy",         check_no_path  },
    { "publish",        check_publish  },
    { "require",        check_require  },
    { "template",       check_no_path  },
};
/* clang-format on */

static int check_fields(const struct tenant *tenant, const json_t *body,
                        struct submission_fault *fault)
{
    for (size_t i = 0; i < ARRAY_LEN(checks); i++) {
        const json_t *value = json_object_get(body, checks[i].name);

        if (value && checks[i].check(tenant, checks[i].name, value, fault) < 0)
            return -1;
    }
    return 0;
}

/* The field that an error of the library begins with, if any: 'the field 'x' must be'. */
static void find_field(const json_t *body, struct submission_fault *fault)
{
    const char *key;
    json_t *value;

    json_object_foreach((json_t *)body, key, value) {
        const char *at = strstr(fault->err.message, key);
        size_t len = strlen(key);

        if (at && at > fault->err.message && strchr("'`", at[-1]) && strchr("'`[", at[len])) {
            snprintf(fault->field, sizeof(fault->field), "%.60s", key);
            return;
        }
    }
}

static int check_language(const struct tenant *tenant, const sbr_request *req,
                          struct submission_fault *fault)
{
    if (tenant_allows_language(tenant, req->language ? req->language : "command"))
        return 0;
    return refuse(fault, HTTP_FORBIDDEN, "language", TENANT_OTHER_LANGUAGE);
}

/* A limit that the request names must be within the ceiling; one that it leaves open is lowered. */
static int check_limits(const struct tenant *tenant, struct limits *limits, const char *field,
                        struct submission_fault *fault)
{
    for (unsigned int i = 0; i < N_LIMITS; i++) {
        uint64_t most = tenant->ceilings.value[i];
        char text[32], message[200];

        if (!(tenant->ceilings.given & 1u << i) || limits->value[i] <= most)
            continue;
        if (!(limits->given & 1u << i)) {
            limits->value[i] = most;
            continue;
        }
        limits_format((enum sbr_limit)i, most, text, sizeof(text));
        snprintf(message, sizeof(message), "the token allows a %s of at most %s",
                 limit_defs[i].option, text);
        return refuse(fault, HTTP_FORBIDDEN, field, message);
    }
    return 0;
}

static bool is_covered(const char *hosts, const struct host_rule *wanted)
{
    for (size_t len; *hosts; hosts += len + (hosts[len] == ',')) {
        struct host_rule rule;
        char text[300];
        sbr_error ignored;

        len = strcspn(hosts, ",");
        snprintf(text, sizeof(text), "%.*s", (int)len, hosts);
        if (host_rule_parse(text, &rule, &ignored) == 0 && config_rule_covers(&rule, wanted))
            return true;
    }
    return false;
}

/* A token with hosts allows these and nothing else. */
static int check_hosts(const struct tenant *tenant, const sbr_request *req,
                       struct submission_fault *fault)
{
    if (!tenant->hosts[0])
        return 0;
    if (req->network.mode > NETWORK_ALLOW || req->network.allow_dns)
        return refuse(fault, HTTP_FORBIDDEN, "network",
                      "the token allows some hosts only; name those with `allow_hosts`");
    for (size_t i = 0; i < req->network.n_rules; i++)
        if (!is_covered(tenant->hosts, &req->network.rules[i]))
            return refuse(fault, HTTP_FORBIDDEN, "allow_hosts",
                          "the token does not allow this host; ask the operator for one that does");
    return 0;
}

static int check_network(const struct tenant *tenant, const sbr_request *req,
                         struct submission_fault *fault)
{
    char message[200];

    if (!request_has_network(req))
        return 0;
    if (req->network.mode <= tenant->network)
        return check_hosts(tenant, req, fault);
    snprintf(message, sizeof(message), "the token allows the network `%s` at most",
             network_mode_name(tenant->network));
    return refuse(fault, HTTP_FORBIDDEN, "network", message);
}

/* Packages are installed over a network. */
static bool may_install(const struct tenant *tenant)
{
    return tenant->network >= NETWORK_ALLOW;
}

static int check_deps(const struct tenant *tenant, const sbr_request *req,
                      struct submission_fault *fault)
{
    if (!req->deps.n || may_install(tenant))
        return 0;
    return refuse(fault, HTTP_FORBIDDEN, "deps",
                  "the token allows no network, which the installation of packages needs");
}

/* Names of workspaces belong to their tenant. */
static int own_workspace(const struct tenant *tenant, sbr_request *req,
                         struct submission_fault *fault)
{
    scoped_free char *name = NULL;

    if (!req->workspace || tenant->local)
        return 0;
    if (strlen(req->workspace) > WORKSPACE_SHOWN_MAX)
        return refuse(fault, HTTP_UNPROCESSABLE_CONTENT, "workspace",
                      "the name of a workspace has at most 30 bytes over HTTP");
    name = text_format("%s.%s", tenant->name, req->workspace);
    return !name ? err_set_oom(&fault->err, "request")
                 : request_set_text(&req->workspace, name, &fault->err);
}

/* The configuration is the operator's own, and may have more than the token. */
static void lower_network(const struct tenant *tenant, bool asked, sbr_request *req)
{
    bool named =
        tenant->hosts[0] && !asked; /* it names hosts, and the configuration's are others */
    enum network_mode most = named ? NETWORK_NONE : tenant->network;

    if (req->network.mode <= most)
        return;
    if (!network_goes_outside(most))
        network_done(&req->network);
    req->network.mode = req->network_asked = most;
}

static int bound(struct server *server, const struct tenant *tenant, sbr_request *req,
                 struct submission_fault *fault)
{
    bool asked = request_has_network(req);

    if (check_network(tenant, req, fault) < 0 || check_deps(tenant, req, fault) < 0 ||
        own_workspace(tenant, req, fault) < 0 ||
        check_limits(tenant, &req->compile_limits, "compile_limits", fault) < 0)
        return -1;
    if (config_apply(&server->config, req, &fault->err) < 0)
        return -1;
    lower_network(tenant, asked, req);
    if (check_limits(tenant, &req->limits, "limits", fault) < 0 ||
        check_network(tenant, req, fault) < 0)
        return -1;
    if (tenant->languages[0] &&
        request_set_text(&req->only_languages, tenant->languages, &fault->err) < 0)
        return -1;
    req->ceilings = tenant->ceilings;
    req->installs_nothing = !may_install(tenant);
    return request_set_caller(req, tenant->name, &fault->err) < 0 ? -1 : 0;
}

int submission_read(struct server *server, const struct tenant *tenant, const json_t *body,
                    sbr_request **ret, struct submission_fault *fault)
{
    sbr_request *req = NULL;
    json_t *resolved;
    int r;

    if (check_fields(tenant, body, fault) < 0)
        return -1;
    resolved = roots_resolve(&server->roots, tenant, body, fault);
    if (!resolved)
        return fault->err.code ? -1 : err_set_oom(&fault->err, "request");
    r = api_request_read_value(resolved, &req, &fault->err);
    json_decref(resolved);
    if (r < 0) {
        fault->status = HTTP_UNPROCESSABLE_CONTENT;
        find_field(body, fault);
        roots_hide_in(&server->roots, tenant->name, fault->err.message, sizeof(fault->err.message));
        return -1;
    }
    if (check_language(tenant, req, fault) < 0 || bound(server, tenant, req, fault) < 0) {
        sbr_request_free(req);
        return -1;
    }
    *ret = req;
    return 0;
}

/* A limit that was lowered to its ceiling holds for requests that begin with these. */
static void give_lowered(const struct tenant *tenant, struct limits *limits)
{
    for (unsigned int i = 0; i < N_LIMITS; i++)
        if (tenant->ceilings.given >> i & 1 && limits->value[i] == tenant->ceilings.value[i])
            limits->given |= 1u << i;
}

int submission_base(struct server *server, const struct tenant *tenant, const char *workspace,
                    sbr_request **ret, struct submission_fault *fault)
{
    sbr_request *req = NULL;

    if (sbr_request_new(NULL, NULL, &req, &fault->err) < 0)
        return -1;
    if (workspace && sbr_request_set_workspace(req, workspace) < 0)
        fault->err = *sbr_request_error(req);
    else if (bound(server, tenant, req, fault) == 0) {
        give_lowered(tenant, &req->limits);
        give_lowered(tenant, &req->compile_limits);
        *ret = req;
        return 0;
    }
    sbr_request_free(req);
    return -1;
}

void submission_refuse(struct exchange *x, const struct submission_fault *fault)
{
    struct problem problem = { .status = fault->status ? fault->status
                                                       : problem_status_of(fault->err.code),
                               .detail = fault->err.message,
                               .field = fault->field[0] ? fault->field : NULL };

    if (problem.status == HTTP_TOO_MANY_REQUESTS)
        problem.retry_s = 1;
    if (problem.status == HTTP_UNPROCESSABLE_CONTENT)
        problem.code = sbr_code_name(fault->err.code);
    problem_reply(x, &problem);
}

json_t *submission_body(struct exchange *x)
{
    struct submission_fault fault = { .status = 0 };
    struct body_read *read = x->read;
    json_t *body = read ? take_ptr(read->tree)
                        : submission_parse(x->body.data ? x->body.data : "", x->body.len, &fault);

    if (!body)
        submission_refuse(x, read ? &read->fault : &fault);
    return body;
}

/* Takes the request over. */
static int launch(struct server *server, const struct tenant *tenant, sbr_request *req,
                  const struct submission_extra *extra, struct execution **ret,
                  struct submission_fault *fault)
{
    struct problem full;

    if (!execution_has_room(server, tenant, &full)) {
        sbr_request_free(req);
        return refuse(fault, full.status, "", full.detail);
    }
    if (extra->add && extra->add(req, extra->context, &fault->err) < 0) {
        sbr_request_free(req);
        return -1;
    }
    if (execution_start(server, tenant, req, extra->mode, ret, &fault->err) == 0)
        return 0;
    if (fault->err.code == SBR_E_NOT_FOUND) /* the path is there: what it should run is not */
        fault->status = HTTP_UNPROCESSABLE_CONTENT;
    return -1;
}

int submission_begin(struct server *server, const struct tenant *tenant, const json_t *body,
                     const struct submission_extra *extra, struct execution **ret,
                     struct submission_fault *fault)
{
    sbr_request *req = NULL;

    if (submission_read(server, tenant, body, &req, fault) < 0)
        return -1;
    return launch(server, tenant, req, extra, ret, fault);
}

/* `e` as it was started; NULL: the fault says why not. */
static struct execution *started(struct exchange *x, struct execution *e,
                                 const struct submission_fault *fault)
{
    struct problem full;

    if (e) {
        spans_read_parent(exchange_header(x, "traceparent"), &e->trace);
        return e;
    }
    if (fault->status == HTTP_TOO_MANY_REQUESTS &&
        !execution_has_room(x->server, &x->tenant, &full))
        problem_reply(x, &full); /* it also knows the place in the queue */
    else
        submission_refuse(x, fault);
    return NULL;
}

struct execution *submission_start(struct exchange *x, const json_t *body, enum execution_mode mode)
{
    const struct submission_extra extra = { .mode = mode };
    struct submission_fault fault = { .status = 0 };
    struct execution *e = NULL;

    (void)submission_begin(x->server, &x->tenant, body, &extra, &e, &fault);
    return started(x, e, &fault);
}

struct execution *submission_start_body(struct exchange *x, enum execution_mode mode)
{
    const struct submission_extra extra = { .mode = mode };
    struct submission_fault fault = { .status = 0 };
    struct body_read *read = x->read;
    struct execution *e = NULL;
    json_t *body = NULL;

    if (read && read->req) {
        (void)launch(x->server, &x->tenant, take_ptr(read->req), &extra, &e, &fault);
        return started(x, e, &fault);
    }
    body = submission_body(x);
    e = body ? submission_start(x, body, mode) : NULL;
    json_decref(body);
    return e;
}
