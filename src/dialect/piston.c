/* Piston v2: /api/v2/execute, /runtimes, /packages; the socket is in piston_socket.c. */
#include "dialect/piston.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "dialect/dialects.h"
#include "http/dialect.h"
#include "http/offload.h"
#include "http/server.h"
#include "http/submission.h"

static void refuse(struct exchange *x, const struct problem *problem)
{
    /* Piston has one status for whatever is wrong with a request. */
    unsigned int status =
        problem->status == HTTP_UNPROCESSABLE_CONTENT || problem->status == HTTP_FORBIDDEN
            ? HTTP_BAD_REQUEST
            : problem->status;

    translate_reply(x, status, json_pack("{s:s}", "message", problem->detail));
}

static json_t *digest(const struct execution *e, const json_t *result,
                      const struct output_files *files)
{
    json_t *compile = piston_compile(result), *run, *answer;

    (void)files;
    run = translate_stage(result, "run") ? piston_stage(result, translate_both(e))
                                         : json_incref(compile);
    answer = json_pack("{s:O?, s:O?}", "language",
                       json_object_get(json_object_get(result, "language"), "name"), "version",
                       json_object_get(json_object_get(result, "language"), "version"));
    if (compile)
        json_object_set_new(answer, "compile", compile);
    json_object_set_new(answer, "run", run ? run : piston_stage(result, NULL));
    return answer;
}

static void reply_result(const struct execution *e, struct exchange *x)
{
    if (e->is_error)
        translate_reply(x, problem_status_of(e->err.code),
                        json_pack("{s:s}", "message", e->err.message));
    else
        translate_reply(x, HTTP_OK, json_incref(e->digested));
}

/* Clients that set no type send text/plain; pages are kept out by their origin. */
static bool check_type(struct exchange *x)
{
    const char *type = exchange_header(x, HTTP_HEADER_CONTENT_TYPE);

    if (type && (!strncasecmp(type, JSON_TYPE, strlen(JSON_TYPE)) ||
                 !strncasecmp(type, "text/plain", strlen("text/plain"))))
        return true;
    translate_reply(x, HTTP_UNSUPPORTED_MEDIA_TYPE,
                    json_pack("{s:s}", "message", "requests must be of type application/json"));
    return false;
}

/* One request: its language is looked up on the loop, the rest is made of it beside. */
struct piston_run {
    struct apart apart;
    struct server *server;
    struct grant tenant;
    struct catalog_row row;
    json_t *body;
    sbr_request *req;                  /* NULL: one of the next two says why */
    char message[PISTON_MESSAGE_SIZE]; /* empty: `fault` does */
    struct refusal fault;
};

static void make_request(struct apart *a)
{
    struct piston_run *run = link_owner(a, struct piston_run, apart);
    json_t *request = piston_request(&run->tenant, run->body, &run->row, run->message);
    json_t *input = json_object_get(run->body, "stdin");

    if (!request)
        return;
    run->message[0] = '\0';
    json_object_set_new(request, "stdin",
                        json_is_string(input) ? json_incref(input) : json_string(""));
    (void)!submission_read(run->server, &run->tenant, request, &run->req, &run->fault);
    json_decref(request);
    json_decref(take_ptr(run->body));
}

static void start(struct apart *a, struct exchange *x)
{
    struct piston_run *run = link_owner(a, struct piston_run, apart);
    struct execution *e = NULL;

    if (x && run->message[0])
        translate_reply(x, HTTP_BAD_REQUEST, json_pack("{s:s}", "message", run->message));
    else if (x)
        e = submission_start_read(x, take_ptr(run->req), EXECUTION_WATCHED, &run->fault);
    if (e) {
        e->digest = digest;
        e->form = reply_result;
        execution_wait(e, x);
    }
    json_decref(run->body);
    sbr_request_free(run->req);
    free(run);
}

static void begin(struct exchange *x, json_t *body)
{
    char message[PISTON_MESSAGE_SIZE] = "the files cannot be read";
    const struct catalog_row *row = piston_find(x->server->catalog, &x->tenant, body, message);
    struct piston_run *run = row ? calloc(1, sizeof(*run)) : NULL;

    if (!run) {
        translate_reply(x, HTTP_BAD_REQUEST, json_pack("{s:s}", "message", message));
        return;
    }
    *run = (struct piston_run){ .apart = { make_request, start },
                                .server = x->server,
                                .tenant = x->tenant,
                                .row = *row,
                                .body = json_incref(body) };
    memcpy(run->message, message, sizeof(message));
    apart_do(x, x->read != NULL, &run->apart);
}

static void execute(struct exchange *x)
{
    json_t *body;

    if (!check_type(x) || !catalog_is_ready(x))
        return;
    body = submission_body(x);
    if (body)
        begin(x, body);
    json_decref(body);
}

static json_t *describe(const struct catalog_row *row, bool as_package)
{
    const char *version = row->version[0] ? row->version : "0.0.0";
    json_t *aliases = json_array();

    for (size_t i = 0; i < row->language->aliases.n; i++)
        json_array_append_new(aliases, json_string(row->language->aliases.at[i]));
    if (!as_package)
        return json_pack("{s:s, s:s, s:o}", "language", row->language->name, "version", version,
                         "aliases", aliases);
    json_decref(aliases);
    return json_pack("{s:s, s:s, s:b}", "language", row->language->name, "language_version",
                     version, "installed", 1);
}

static void list(struct exchange *x, bool as_packages)
{
    const struct catalog_row *row;
    json_t *all;

    if (!catalog_is_ready(x))
        return;
    all = json_array();
    for (size_t i = 0; (row = catalog_at(x->server->catalog, &x->tenant, i)); i++)
        json_array_append_new(all, describe(row, as_packages));
    translate_reply(x, HTTP_OK, all);
}

static void list_runtimes(struct exchange *x)
{
    list(x, false);
}

static void list_packages(struct exchange *x)
{
    list(x, true);
}

/* What is there is there; languages come with the machine. */
static void change_package(struct exchange *x)
{
    bool install = !strcmp(x->route->method, "POST");
    const struct catalog_row *row = NULL;
    char message[PISTON_MESSAGE_SIZE];
    json_t *body;

    if (!check_type(x) || !catalog_is_ready(x))
        return;
    body = submission_body(x);
    if (!body)
        return;
    row = catalog_find(x->server->catalog, &x->tenant, translate_word(body, "language"),
                       translate_word(body, "version"));
    if (row && install) {
        translate_reply(x, HTTP_OK,
                        json_pack("{s:s, s:s}", "language", row->language->name, "version",
                                  row->version));
    } else if (row) {
        translate_reply(x, HTTP_INTERNAL_SERVER_ERROR,
                        json_pack("{s:s}", "message",
                                  "languages come with the machine; its operator removes them"));
    } else {
        snprintf(message, sizeof(message), "Requested package %.80s-%.80s does not exist",
                 translate_word(body, "language"), translate_word(body, "version"));
        translate_reply(x, HTTP_NOT_FOUND, json_pack("{s:s}", "message", message));
    }
    json_decref(body);
}

/* clang-format off */
static const struct route routes[] = {
    { "POST", "/api/v2/execute", execute, SCOPE_RUN,
      ROUTE_BYTES | ROUTE_ANY_TYPE | ROUTE_STARTS, 200, "piston_execute", "Piston: runs a program.",
      NULL, NULL, NULL },
    { "GET", "/api/v2/runtimes", list_runtimes, SCOPE_NONE, ROUTE_LOOKS, 200, "piston_runtimes",
      "Piston: lists the languages.", NULL, NULL, NULL },
    { "GET", "/api/v2/packages", list_packages, SCOPE_NONE, ROUTE_LOOKS, 200, "piston_packages",
      "Piston: lists the languages as packages.", NULL, NULL, NULL },
    { "POST", "/api/v2/packages", change_package, SCOPE_NONE,
      ROUTE_BYTES | ROUTE_ANY_TYPE | ROUTE_LOOKS, 200, "piston_install",
      "Piston: finds a language that is there.", NULL, NULL, NULL },
    { "DELETE", "/api/v2/packages", change_package, SCOPE_NONE,
      ROUTE_BYTES | ROUTE_ANY_TYPE | ROUTE_LOOKS, 200, "piston_uninstall", "Piston: refused.", NULL,
      NULL, NULL },
    { "GET", "/api/v2/connect", piston_connect, SCOPE_RUN, ROUTE_STARTS, 101, "piston_connect",
      "Piston: a WebSocket to a run.", NULL, NULL, NULL },
    { 0 },
};
/* clang-format on */

const struct dialect dialect_piston = {
    .name = "piston",
    .routes = routes,
    .token_headers = (const char *const[]){ "X-API-Key", NULL },
    .refuse = refuse,
    .tick = piston_tick,
    .close = catalog_free,
};
