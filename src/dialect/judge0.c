/* Judge0 1.13: submissions and what surrounds them. */
#include "dialect/judge0.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/scope.h"
#include "base/text.h"
#include "dialect/dialects.h"
#include "http/dialect.h"
#include "http/guard.h"
#include "http/server.h"
#include "http/submission.h"
#include "model/result.h"

#define VERSION "1.13.1" /* whose interface this is */
#define BATCH_MAX 20
#define PER_PAGE 20
#define CONVERSION                                                                                 \
    "some attributes for this submission cannot be converted to UTF-8, use base64_encoded=true "   \
    "query parameter"

static void refuse(struct exchange *x, const struct problem *problem)
{
    unsigned int status = problem->status;

    if (status == HTTP_TOO_MANY_REQUESTS)
        status = HTTP_SERVICE_UNAVAILABLE;
    translate_reply(x, status,
                    json_pack("{s:s}", "error",
                              status == HTTP_SERVICE_UNAVAILABLE ? "queue is full"
                                                                 : problem->detail));
}

static void reply_error(struct exchange *x, unsigned int status, const char *message)
{
    translate_reply(x, status, json_pack("{s:s}", "error", message));
}

static bool is_true(const struct exchange *x, const char *name)
{
    const char *value = exchange_query(x, name);

    return value && !strcmp(value, "true");
}

/* A star may come escaped. */
static const char *fields_of(const struct exchange *x)
{
    const char *fields = exchange_query(x, "fields");

    return fields && !strcasecmp(fields, "%2A") ? "*" : fields;
}

/* False: it replied. */
static bool check_fields(struct exchange *x)
{
    scoped_free char *wrong = judge0_wrong_field(fields_of(x)), *message = NULL;

    if (!wrong)
        return true;
    message = text_format("invalid fields: [%.100s]", wrong);
    reply_error(x, HTTP_BAD_REQUEST, message ? message : "invalid fields");
    return false;
}

static void reply_submission(struct exchange *x, const struct judge0_submission *s,
                             unsigned int status)
{
    json_t *shown = judge0_show(s, is_true(x, "base64_encoded"), fields_of(x));

    if (shown)
        translate_reply(x, status, shown);
    else if (status == HTTP_CREATED)
        translate_reply(x, status, json_pack("{s:s, s:s}", "token", s->token, "error", CONVERSION));
    else
        reply_error(x, HTTP_BAD_REQUEST, CONVERSION);
}

static void submission_ended(struct execution *e, void *context)
{
    struct judge0_submission *s = context;
    struct exchange *waiter = s->waiter;

    judge0_judge(s, e);
    s->execution = NULL;
    s->ended_us = clock_now_us();
    s->waiter = NULL;
    judge0_call_back(e->server, s);
    if (waiter)
        reply_submission(waiter, s, HTTP_CREATED);
}

static void waiter_left(struct exchange *x)
{
    struct judge0_submission *s = x->subject;

    s->waiter = NULL; /* the submission goes on, as in Judge0 */
}

/* Bytes of stdin, which JSON cannot hold. */
static int add_stdin(sbr_request *req, void *context, sbr_error *err)
{
    const json_t *row = context;
    scoped_free char *bytes = NULL;
    size_t len = 0;

    (void)!encoding_from_base64(translate_word(row, "stdin"), &bytes, &len);
    if (sbr_request_set_stdin(req, bytes ? bytes : "", len) == 0)
        return 0;
    *err = *sbr_request_error(req);
    return err->code;
}

/* NULL: *ret_errors says why, by field; NULL there, too: *fault says it. */
static struct judge0_submission *create(struct exchange *x, const json_t *body, json_t **ret_errors,
                                        struct submission_fault *fault)
{
    struct judge0_submission *s = judge0_add(&x->tenant);
    const struct submission_extra extra = { EXECUTION_QUEUED, add_stdin, s ? s->row : NULL };
    struct execution *e = NULL;
    char time[RESULT_TIME_SIZE];
    json_t *request;

    if (!s) {
        err_set_oom(&fault->err, "http");
        return NULL;
    }
    request = judge0_request(x->server, &x->tenant, body, is_true(x, "base64_encoded"), s->row,
                             ret_errors);
    if (!request || submission_begin(x->server, &x->tenant, request, &extra, &e, fault) < 0) {
        json_decref(request);
        judge0_remove(s);
        return NULL;
    }
    json_decref(request);
    result_format_time(e->created_us, time);
    json_object_set_new(s->row, "created_at", json_string(time));
    json_object_set_new(s->row, "status_id", json_integer(JUDGE0_QUEUE));
    s->redirect = json_is_true(json_object_get(s->row, "redirect_stderr_to_stdout"));
    s->execution = e;
    e->ended = submission_ended;
    e->ended_context = s;
    return s;
}

static void create_one(struct exchange *x)
{
    struct submission_fault fault = { .status = 0 };
    struct judge0_submission *s = NULL;
    json_t *body, *errors = NULL;

    if (!catalog_is_ready(x) || !check_fields(x))
        return;
    body = submission_body(x);
    if (!body)
        return;
    s = create(x, body, &errors, &fault);
    json_decref(body);
    if (errors) {
        translate_reply(x, HTTP_UNPROCESSABLE_CONTENT, errors);
    } else if (!s) {
        submission_refuse(x, &fault);
    } else if (!is_true(x, "wait")) {
        translate_reply(x, HTTP_CREATED, json_pack("{s:s}", "token", s->token));
    } else {
        s->waiter = x;
        exchange_wait(x, waiter_left, s);
    }
}

/* False: it replied. */
static bool check_batch(struct exchange *x, size_t n)
{
    if (n >= 1 && n <= BATCH_MAX)
        return true;
    reply_error(x, HTTP_BAD_REQUEST,
                n ? "number of submissions in a batch should be less than or equal to 20"
                  : "there should be at least one submission in a batch");
    return false;
}

static void create_batch(struct exchange *x)
{
    json_t *body, *answer, *one;
    bool any = false;
    size_t i, n;

    if (!catalog_is_ready(x))
        return;
    body = submission_body(x);
    if (!body)
        return;
    answer = json_array();
    n = json_array_size(json_object_get(body, "submissions"));
    if (!check_batch(x, n) || !guard_takes(x, n - 1)) {
        json_decref(body);
        json_decref(answer);
        return;
    }
    json_array_foreach(json_object_get(body, "submissions"), i, one) {
        struct submission_fault fault = { .status = 0 };
        json_t *errors = NULL;
        const struct judge0_submission *s = create(x, one, &errors, &fault);

        any |= s != NULL;
        json_array_append_new(answer, s        ? json_pack("{s:s}", "token", s->token)
                                      : errors ? errors
                                               : json_pack("{s:s}", "error", fault.err.message));
    }
    json_decref(body);
    translate_reply(x, any ? HTTP_CREATED : HTTP_UNPROCESSABLE_CONTENT, answer);
}

static void note_progress(struct judge0_submission *s)
{
    if (s->execution && s->execution->began)
        json_object_set_new(s->row, "status_id", json_integer(JUDGE0_PROCESSING));
}

static struct judge0_submission *find(struct exchange *x)
{
    struct judge0_submission *s = judge0_find(&x->tenant, x->words[0]);

    if (s)
        note_progress(s);
    else
        reply_error(x, HTTP_NOT_FOUND, "there is no submission of this token");
    return s;
}

static void show_one(struct exchange *x)
{
    const struct judge0_submission *s = check_fields(x) ? find(x) : NULL;

    if (s)
        reply_submission(x, s, HTTP_OK);
}

static void show_batch(struct exchange *x)
{
    const char *tokens = exchange_query(x, "tokens"), *list = tokens ? tokens : "";
    json_t *rows;
    size_t n = 0;

    for (const char *at = list; *at; at += strcspn(at, ","), at += *at == ',')
        n++;
    if (!check_fields(x) || !check_batch(x, n))
        return;
    rows = json_array();
    for (size_t len; *list; list += len + (list[len] == ',')) {
        char token[ENCODING_ID_SIZE];
        struct judge0_submission *s;

        len = strcspn(list, ",");
        snprintf(token, sizeof(token), "%.*s", (int)(len < sizeof(token) ? len : 0), list);
        s = judge0_find(&x->tenant, token);
        if (s)
            note_progress(s);
        json_array_append_new(rows, s ? judge0_show(s, is_true(x, "base64_encoded"), fields_of(x))
                                      : json_null());
    }
    translate_reply(x, HTTP_OK, json_pack("{s:o}", "submissions", rows));
}

static unsigned long number_of(const struct exchange *x, const char *name, unsigned long preset)
{
    const char *text = exchange_query(x, name);

    return text ? strtoul(text, NULL, 10) : preset;
}

static void list_all(struct exchange *x)
{
    unsigned long page = number_of(x, "page", 1), size = number_of(x, "per_page", PER_PAGE);
    unsigned long n = 0, pages;
    json_t *rows = json_array();

    if (page == 0 || size == 0 || size > 1000) {
        json_decref(rows);
        reply_error(x, HTTP_BAD_REQUEST, "invalid page or per_page");
        return;
    }
    for (struct link *at = judge0_all()->prev; at != judge0_all(); at = at->prev) {
        const struct judge0_submission *s = link_owner(at, struct judge0_submission, link);

        if (strcmp(s->tenant.name, x->tenant.name) != 0)
            continue;
        if (n / size == page - 1)
            json_array_append_new(rows, judge0_show(s, true, fields_of(x)));
        n++;
    }
    pages = (n + size - 1) / size;
    translate_reply(x, HTTP_OK,
                    json_pack("{s:o, s:{s:I, s:o, s:o, s:I, s:I}}", "submissions", rows, "meta",
                              "current_page", (json_int_t)page, "next_page",
                              page < pages ? json_integer((json_int_t)page + 1) : json_null(),
                              "prev_page",
                              page > 1 ? json_integer((json_int_t)page - 1) : json_null(),
                              "total_pages", (json_int_t)pages, "total_count", (json_int_t)n));
}

static void delete_one(struct exchange *x)
{
    struct judge0_submission *s = check_fields(x) ? find(x) : NULL;

    if (!s)
        return;
    if (s->execution) {
        reply_error(x, HTTP_BAD_REQUEST,
                    "submission cannot be deleted because its status is 2 (Processing)");
        return;
    }
    translate_reply(x, HTTP_OK, judge0_show(s, true, fields_of(x)));
    judge0_remove(s);
}

static void statuses(struct exchange *x)
{
    json_t *list = json_array();

    for (int i = 1; i <= JUDGE0_N_STATUSES; i++)
        json_array_append_new(list, json_pack("{s:i, s:s}", "id", i, "description",
                                              judge0_status_name((enum judge0_status)i)));
    translate_reply(x, HTTP_OK, list);
}

static void about(struct exchange *x)
{
    scoped_free char *ours = text_format("sandbox-run %s", result_version());

    translate_reply(x, HTTP_OK,
                    json_pack("{s:s, s:n, s:n, s:s}", "version", VERSION, "homepage", "source_code",
                              "maintainer", ours ? ours : ""));
}

static void version(struct exchange *x)
{
    exchange_reply(x, HTTP_OK, "text/plain", strdup(VERSION));
}

/* Null where only the machine bounds it. */
static json_t *most(const struct exchange *x, enum sbr_limit which, uint64_t unit)
{
    return x->tenant.ceilings.given & 1u << which
               ? json_integer((json_int_t)(x->tenant.ceilings.value[which] / unit))
               : json_null();
}

static void config_info(struct exchange *x)
{
    json_t *info = json_pack("{s:b, s:b, s:i, s:b, s:b, s:b, s:b, s:i, s:i, s:i}",
                             "maintenance_mode", 0, "enable_wait_result", 1, "max_queue_size",
                             (int)x->server->options.running, "enable_compiler_options", 1,
                             "enable_command_line_arguments", 1, "enable_callbacks",
                             x->server->options.callbacks[0] != NULL, "enable_additional_files", 0,
                             "cpu_time_limit", 5, "wall_time_limit", 10, "number_of_runs", 1);

    json_object_update_new(info,
                           json_pack("{s:b, s:i, s:i, s:b}", "enable_batched_submissions", 1,
                                     "max_submission_batch_size", BATCH_MAX, "max_number_of_runs",
                                     1, "allow_enable_network", x->tenant.network == NETWORK_FULL));
    json_object_set_new(info, "max_cpu_time_limit", most(x, SBR_CPU_MS, 1000));
    json_object_set_new(info, "max_wall_time_limit", most(x, SBR_WALL_MS, 1000));
    json_object_set_new(info, "max_memory_limit", most(x, SBR_MEMORY_BYTES, 1024));
    json_object_set_new(info, "max_max_processes_and_or_threads", most(x, SBR_PIDS, 1));
    translate_reply(x, HTTP_OK, info);
}

static void workers(struct exchange *x)
{
    unsigned int running = execution_count(x->server, NULL);

    translate_reply(x, HTTP_OK,
                    json_pack("[{s:s, s:i, s:i, s:i, s:i}]", "queue", "default", "size", 0,
                              "available", (int)x->server->options.running, "idle",
                              (int)(x->server->options.running - running), "working",
                              (int)running));
}

/* The guard has looked at the token. */
static void authenticate(struct exchange *x)
{
    exchange_reply(x, HTTP_OK, JSON_TYPE, strdup(""));
}

static void not_here(struct exchange *x)
{
    reply_error(x, HTTP_NOT_IMPLEMENTED, "this is not available here");
}

/* clang-format off */
static const struct route routes[] = {
    { "POST", "/submissions", create_one, SCOPE_RUN, ROUTE_JSON | ROUTE_STARTS, 201,
      "judge0_create", "Judge0: a submission.", NULL, NULL, NULL },
    { "GET", "/submissions", list_all, SCOPE_RUN, 0, 200, "judge0_list",
      "Judge0: the submissions of this tenant.", NULL, NULL, NULL },
    { "POST", "/submissions/batch", create_batch, SCOPE_RUN, ROUTE_JSON | ROUTE_STARTS, 201,
      "judge0_create_batch", "Judge0: up to 20 submissions.", NULL, NULL, NULL },
    { "GET", "/submissions/batch", show_batch, SCOPE_RUN, 0, 200, "judge0_show_batch",
      "Judge0: up to 20 results.", NULL, NULL, NULL },
    { "GET", "/submissions/{token}", show_one, SCOPE_RUN, 0, 200, "judge0_show",
      "Judge0: one result.", NULL, NULL, NULL },
    { "DELETE", "/submissions/{token}", delete_one, SCOPE_RUN, 0, 200, "judge0_delete",
      "Judge0: forgets a result.", NULL, NULL, NULL },
    { "GET", "/languages", judge0_languages, SCOPE_NONE, 0, 200, "judge0_languages",
      "Judge0: languages and their ids.", NULL, NULL, NULL },
    { "GET", "/languages/all", judge0_languages, SCOPE_NONE, 0, 200, "judge0_all_languages",
      "Judge0: the same.", NULL, NULL, NULL },
    { "GET", "/languages/{id}", judge0_one_language, SCOPE_NONE, 0, 200, "judge0_language",
      "Judge0: one language.", NULL, NULL, NULL },
    { "GET", "/statuses", statuses, SCOPE_NONE, 0, 200, "judge0_statuses",
      "Judge0: statuses and their ids.", NULL, NULL, NULL },
    { "GET", "/about", about, SCOPE_NONE, 0, 200, "judge0_about",
      "Judge0: whose interface this is.", NULL, NULL, NULL },
    { "GET", "/version", version, SCOPE_NONE, ROUTE_BELOW, 200, "judge0_version",
      "Judge0: the version of the interface.", NULL, NULL, "text/plain" },
    { "GET", "/config_info", config_info, SCOPE_NONE, 0, 200, "judge0_config_info",
      "Judge0: what is allowed.", NULL, NULL, NULL },
    { "GET", "/workers", workers, SCOPE_NONE, 0, 200, "judge0_workers",
      "Judge0: how much runs.", NULL, NULL, NULL },
    { "POST", "/authenticate", authenticate, SCOPE_NONE, 0, 200, "judge0_authenticate",
      "Judge0: whether the token is one.", NULL, NULL, NULL },
    { "GET", "/system_info", not_here, SCOPE_NONE, 0, 501, "judge0_system_info",
      "Judge0: refused.", NULL, NULL, NULL },
    { "GET", "/statistics", not_here, SCOPE_NONE, 0, 501, "judge0_statistics",
      "Judge0: refused.", NULL, NULL, NULL },
    { 0 },
};
/* clang-format on */

const struct dialect dialect_judge0 = {
    .name = "judge0",
    .routes = routes,
    .token_headers = (const char *const[]){ "X-Auth-Token", "X-RapidAPI-Key", NULL },
    .refuse = refuse,
    .tick = judge0_tick,
    .close = judge0_close,
};
