/* E2B: routes of the control plane, and those that go on to a sandbox. */
#include "dialect/e2b.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/json_read.h"
#include "base/text.h"
#include "dialect/dialects.h"
#include "http/dialect.h"
#include "http/server.h"
#include "http/submission.h"
#include "model/request.h"
#include "model/result.h"

static void refuse(struct exchange *x, const struct problem *problem)
{
    e2b_refuse(x, problem->status, problem->detail);
}

/* What a template, a volume or a rule of the network would be, we do not have. */
static const char *not_possible(const json_t *body)
{
    static const char *const fields[] = { "mcp", "iam", "volumeMounts", "network" };

    for (size_t i = 0; i < ARRAY_LEN(fields); i++) {
        const json_t *value = json_object_get(body, fields[i]);

        if (value && !json_is_null(value) && json_object_size(value) + json_array_size(value) > 0)
            return "mcp, iam, volumeMounts and network are not available here";
    }
    return json_is_false(json_object_get(body, "autoPauseMemory"))
               ? "a sandbox is paused with its memory here"
               : NULL;
}

static void create(struct exchange *x)
{
    json_t *body = submission_body(x);
    const char *reason = not_possible(body);

    if (!body)
        return;
    if (reason)
        e2b_refuse(x, HTTP_BAD_REQUEST, reason);
    else
        e2b_create(x, body);
    json_decref(body);
}

static struct e2b_sandbox *find(struct exchange *x)
{
    struct e2b_sandbox *s = e2b_find(x, x->words[0]);

    if (!s)
        e2b_refuse(x, HTTP_NOT_FOUND, "there is no sandbox of this id");
    return s;
}

/* What its run was given, in MiB; 0: nothing bounds it. */
static json_int_t mib_of(const struct e2b_sandbox *s, enum sbr_limit which)
{
    const sbr_request *req = s->execution ? s->execution->req : NULL;
    uint64_t bytes = req ? req->limits.value[which] : LIMIT_NONE;

    return bytes == LIMIT_NONE ? 0 : (json_int_t)(bytes / MIB);
}

static const char *state_of(const struct e2b_sandbox *s)
{
    return s->paused ? "paused" : "running";
}

static json_t *row_of(const struct exchange *x, const struct e2b_sandbox *s)
{
    json_t *row = e2b_describe(x, s), *metadata = json_object_get(s->about, "metadata");
    char started[RESULT_TIME_SIZE], ends[RESULT_TIME_SIZE];

    result_format_time(s->started_us, started);
    result_format_time(s->end_us, ends);
    json_object_update_new(row, json_pack("{s:s, s:s, s:s, s:i, s:I, s:I}", "startedAt", started,
                                          "endAt", ends, "state", state_of(s), "cpuCount",
                                          (int)sysconf(_SC_NPROCESSORS_ONLN), "memoryMB",
                                          mib_of(s, SBR_MEMORY_BYTES), "diskSizeMB",
                                          mib_of(s, SBR_DISK_BYTES)));
    if (json_is_object(metadata))
        json_object_set(row, "metadata", metadata);
    return row;
}

/* ?metadata= is a query in a query: every pair must be there. */
static bool has_metadata(const struct e2b_sandbox *s, const char *wanted)
{
    scoped_free char *text = wanted ? strdup(wanted) : NULL;
    const json_t *metadata = json_object_get(s->about, "metadata");
    char *rest = NULL;

    if (!text)
        return true;
    exchange_unescape(text);
    for (char *pair = strtok_r(text, "&", &rest); pair; pair = strtok_r(NULL, "&", &rest)) {
        char *value = strchr(pair, '=');

        if (!value)
            return false;
        *value++ = '\0';
        exchange_unescape(pair);
        exchange_unescape(value);
        if (strcmp(translate_word(metadata, pair), value) != 0)
            return false;
    }
    return true;
}

static void list(struct exchange *x)
{
    const char *metadata = exchange_query(x, "metadata"), *state = exchange_query(x, "state");
    json_t *rows = json_array();

    list_each(at, &x->server->sandboxes) {
        const struct e2b_sandbox *s = link_owner(at, struct e2b_sandbox, link);

        if (!strcmp(s->tenant.name, x->tenant.name) && s->ready && !s->killed &&
            has_metadata(s, metadata) && (!state || strstr(state, state_of(s))))
            json_array_append_new(rows, row_of(x, s));
    }
    translate_reply(x, HTTP_OK, rows);
}

static void get(struct exchange *x)
{
    const struct e2b_sandbox *s = find(x);

    if (s)
        translate_reply(x, HTTP_OK, row_of(x, s));
}

static void end(struct exchange *x)
{
    struct e2b_sandbox *s = find(x);

    if (!s)
        return;
    e2b_kill(s);
    exchange_reply(x, HTTP_NO_CONTENT, JSON_TYPE, strdup(""));
}

static json_int_t timeout_of(struct exchange *x)
{
    json_t *body = x->body.len
                       ? json_read(x->body.data, x->body.len, &json_read_line, 0, "the body", NULL)
                       : NULL;
    json_int_t seconds = json_integer_value(json_object_get(body, "timeout"));

    json_decref(body);
    return seconds;
}

static void set_timeout(struct exchange *x)
{
    struct e2b_sandbox *s = find(x);

    if (!s)
        return;
    if (!s->paused) /* that time is ours */
        e2b_set_timeout(s, timeout_of(x));
    exchange_reply(x, HTTP_NO_CONTENT, JSON_TYPE, strdup(""));
}

static void connect_again(struct exchange *x)
{
    struct e2b_sandbox *s = find(x);
    json_int_t seconds = timeout_of(x);
    bool was_paused = s && s->paused;

    if (!s)
        return;
    if (was_paused)
        e2b_resume(s, seconds);
    else if (seconds > 0)
        e2b_set_timeout(s, seconds);
    translate_reply(x, was_paused ? HTTP_CREATED : HTTP_OK, e2b_describe(x, s));
}

static void resume(struct exchange *x)
{
    struct e2b_sandbox *s = find(x);

    if (s && !s->paused)
        e2b_refuse(x, HTTP_CONFLICT, "the sandbox is running already");
    else if (s)
        connect_again(x);
}

static void pause_now(struct exchange *x)
{
    struct e2b_sandbox *s = find(x);
    json_t *body = x->body.len
                       ? json_read(x->body.data, x->body.len, &json_read_line, 0, "the body", NULL)
                       : NULL;
    bool files_only = json_is_false(json_object_get(body, "memory"));

    json_decref(body);
    if (!s)
        return;
    if (s->paused) {
        e2b_refuse(x, HTTP_CONFLICT, "the sandbox is paused already");
    } else if (files_only) {
        e2b_refuse(x, HTTP_BAD_REQUEST, "a sandbox is paused with its memory here");
    } else if (!s->ready) {
        e2b_refuse(x, HTTP_CONFLICT, "the sandbox is not ready yet");
    } else {
        e2b_pause(s);
        exchange_reply(x, HTTP_NO_CONTENT, JSON_TYPE, strdup(""));
    }
}

static void metrics(struct exchange *x)
{
    if (find(x))
        translate_reply(x, HTTP_OK, json_array());
}

static void not_here(struct exchange *x)
{
    e2b_refuse(x, HTTP_NOT_IMPLEMENTED, "this is not available here");
}

/* The sandbox of a call to envd or to the code interpreter; NULL: it replied. */
static struct e2b_sandbox *sandbox_of(struct exchange *x)
{
    const char *id = exchange_header(x, "E2b-Sandbox-Id");
    struct e2b_sandbox *s = id ? e2b_find(x, id) : NULL;

    if (s && s->paused && s->resumes)
        e2b_resume(s, 0);
    if (s && !s->paused)
        return s;
    e2b_refuse(x, HTTP_BAD_GATEWAY, s ? "the sandbox is paused" : "the sandbox was not found");
    return NULL;
}

static void health(struct exchange *x)
{
    if (sandbox_of(x))
        exchange_reply(x, HTTP_NO_CONTENT, JSON_TYPE, strdup(""));
}

static void pass_on(struct exchange *x)
{
    struct e2b_sandbox *s = sandbox_of(x);

    if (s)
        e2b_call(x, s);
}

#define SANDBOX(method, path, handle, flags, status, name, summary)                                \
    {                                                                                              \
        method, path, handle, SCOPE_SESSIONS, flags, status, name, summary, NULL, NULL, NULL       \
    }

/* clang-format off */
static const struct route routes[] = {
    SANDBOX("POST", "/v2/sandboxes", create, ROUTE_JSON | ROUTE_STARTS, 201, "e2b_create",
            "E2B: makes a sandbox."),
    SANDBOX("POST", "/sandboxes", create, ROUTE_JSON | ROUTE_STARTS, 201, "e2b_create_before",
            "E2B: the same, for older clients."),
    SANDBOX("GET", "/v2/sandboxes", list, ROUTE_LOOKS, 200, "e2b_list",
            "E2B: sandboxes of this tenant."),
    SANDBOX("GET", "/sandboxes", list, ROUTE_LOOKS, 200, "e2b_list_before", "E2B: the same."),
    SANDBOX("GET", "/sandboxes/{id}", get, ROUTE_LOOKS, 200, "e2b_get",
            "E2B: describes a sandbox."),
    SANDBOX("DELETE", "/sandboxes/{id}", end, ROUTE_COUNTED, 204, "e2b_kill",
            "E2B: ends a sandbox."),
    SANDBOX("POST", "/sandboxes/{id}/timeout", set_timeout, ROUTE_BYTES | ROUTE_COUNTED, 204,
            "e2b_timeout", "E2B: how long a sandbox lives from now on."),
    SANDBOX("POST", "/sandboxes/{id}/connect", connect_again, ROUTE_BYTES | ROUTE_COUNTED, 200,
            "e2b_connect_before", "E2B: finds a sandbox."),
    SANDBOX("POST", "/v2/sandboxes/{id}/connect", connect_again, ROUTE_BYTES | ROUTE_COUNTED, 200,
            "e2b_connect", "E2B: finds a sandbox."),
    SANDBOX("POST", "/sandboxes/{id}/pause", pause_now, ROUTE_BYTES | ROUTE_COUNTED, 204,
            "e2b_pause", "E2B: lets a sandbox stand still."),
    SANDBOX("POST", "/sandboxes/{id}/resume", resume, ROUTE_BYTES | ROUTE_COUNTED, 201,
            "e2b_resume", "E2B: lets it go on, for older clients."),
    SANDBOX("GET", "/sandboxes/{id}/metrics", metrics, ROUTE_LOOKS, 200, "e2b_metrics",
            "E2B: none."),
    SANDBOX("POST", "/sandboxes/{id}/{verb}", not_here, ROUTE_BYTES | ROUTE_LOOKS, 501, "e2b_verbs",
            "E2B: refused."),
    SANDBOX("PUT", "/sandboxes/{id}/{verb}", not_here, ROUTE_BYTES | ROUTE_LOOKS, 501,
            "e2b_settings", "E2B: refused."),
    SANDBOX("GET", "/health", health, ROUTE_COUNTED, 204, "e2b_health",
            "E2B: whether a sandbox runs."),
    SANDBOX("POST", "/execute", pass_on, ROUTE_BYTES | ROUTE_STARTS, 200, "e2b_execute",
            "E2B: runs code."),
    SANDBOX("GET", "/contexts", pass_on, ROUTE_STARTS, 200, "e2b_contexts",
            "E2B: contexts of code."),
    SANDBOX("POST", "/contexts", pass_on, ROUTE_BYTES | ROUTE_STARTS, 200, "e2b_add_context",
            "E2B: makes a context."),
    SANDBOX("DELETE", "/contexts/{id}", pass_on, ROUTE_STARTS, 200, "e2b_end_context",
            "E2B: ends a context."),
    SANDBOX("POST", "/contexts/{id}/restart", pass_on, ROUTE_BYTES | ROUTE_STARTS, 200,
            "e2b_restart_context", "E2B: begins a context anew."),
    SANDBOX("GET", "/files", pass_on, ROUTE_STARTS, 200, "e2b_get_file", "E2B: reads a file."),
    SANDBOX("POST", "/files", pass_on, ROUTE_BYTES | ROUTE_STARTS, 200, "e2b_put_files",
            "E2B: writes files."),
    SANDBOX("POST", "/process.Process/Start", pass_on, ROUTE_BYTES | ROUTE_STARTS, 200,
            "e2b_start_process", "E2B: runs a command."),
    SANDBOX("POST", "/process.Process/SendInput", pass_on, ROUTE_BYTES | ROUTE_COUNTED, 200,
            "e2b_process_input", "E2B: writes to a process."),
    SANDBOX("POST", "/process.Process/StreamInput", pass_on, ROUTE_BYTES | ROUTE_COUNTED, 200,
            "e2b_process_stream_input", "E2B: the same, as a stream."),
    SANDBOX("POST", "/process.Process/SendSignal", pass_on, ROUTE_BYTES | ROUTE_COUNTED, 200,
            "e2b_process_signal", "E2B: sends a signal."),
    SANDBOX("POST", "/process.Process/{method}", pass_on, ROUTE_BYTES | ROUTE_STARTS, 200,
            "e2b_process", "E2B: processes."),
    SANDBOX("POST", "/filesystem.Filesystem/{method}", pass_on, ROUTE_BYTES | ROUTE_STARTS, 200,
            "e2b_filesystem", "E2B: files and directories."),
    { 0 },
};
/* clang-format on */

const struct dialect dialect_e2b = {
    .name = "e2b",
    .routes = routes,
    .token_headers =
        (const char *const[]){ "X-API-Key", "X-Access-Token", "E2B-Traffic-Access-Token", NULL },
    .refuse = refuse,
    .tick = e2b_tick,
    .close = e2b_close,
};
