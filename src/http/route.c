#include "http/route.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "http/dialect.h"
#include "http/handlers.h"
#include "http/server.h"

/* clang-format off */
const struct route route_table[] = {
    { "GET", "/healthz", meta_health, SCOPE_NONE, ROUTE_OPEN | ROUTE_LOOKS, 200, "health",
      "Says that the gateway lives.", NULL, "health", NULL },
    { "GET", "/readyz", meta_ready, SCOPE_NONE, ROUTE_STARTS, 200, "ready",
      "Runs a small sandbox, and says whether that works.", NULL, "ready", NULL },
    { "GET", "/version", meta_version, SCOPE_NONE, ROUTE_LOOKS, 200, "version",
      "Names the version.", NULL, "version", NULL },
    { "GET", "/metrics", meta_metrics, SCOPE_NONE, ROUTE_LOOKS, 200, "metrics",
      "Counters in the text format of Prometheus: of all with the scope `metrics`, else one's own.",
      NULL, NULL, "text/plain; version=0.0.4" },
    { "GET", "/openapi.json", meta_openapi, SCOPE_NONE, ROUTE_LOOKS, 200, "openapi",
      "This document.", NULL, "openapi", NULL },
    { "GET", "/docs", meta_reference, SCOPE_NONE, ROUTE_OPEN | ROUTE_LOOKS, 200, "reference",
      "A page that lists the routes.", NULL, NULL, "text/html; charset=utf-8" },
    { "GET", "/v1/languages", meta_languages, SCOPE_NONE, ROUTE_LOOKS, 200, "list_languages",
      "Lists the languages and their versions on this machine.", NULL, "languages", NULL },

    { "POST", "/v1/executions", executions_create, SCOPE_RUN,
      ROUTE_JSON | ROUTE_STARTS | ROUTE_STREAMS | ROUTE_ASYNC | ROUTE_RUN, 200, "create_execution",
      "Runs a program.  The reply is its result, also when the program was killed.", "request",
      "result", NULL },
    { "POST", "/v1/execute", execute_create, SCOPE_RUN, ROUTE_JSON | ROUTE_STARTS, 200, "execute",
      "Runs a line of shell with a configuration of few words; waits for its end.", "execute",
      "execute_answer", NULL },
    { "GET", "/v1/executions", executions_list, SCOPE_RUN, ROUTE_LOOKS, 200, "list_executions",
      "Lists the runs of this tenant, newest first.", NULL, "execution_list", NULL },
    { "GET", "/v1/executions/{id}", executions_get, SCOPE_RUN, ROUTE_LOOKS, 200, "get_execution",
      "Describes one run, with its result when it is over.", NULL, "execution", NULL },
    { "DELETE", "/v1/executions/{id}", executions_cancel, SCOPE_RUN, ROUTE_COUNTED, 202,
      "cancel_execution", "Cancels a run.", NULL, "execution", NULL },
    { "GET", "/v1/executions/{id}/events", executions_events, SCOPE_RUN,
      ROUTE_STREAMS | ROUTE_LOOKS, 200, "read_events",
      "Streams the events of a run, from Last-Event-ID on.", NULL, "event", NULL },
    { "POST", "/v1/executions/{id}/stdin", executions_stdin, SCOPE_RUN, ROUTE_BYTES | ROUTE_COUNTED,
      202, "write_stdin", "Adds to the program's stdin; ?close=1 ends it.", NULL, "stdin_taken",
      NULL },
    { "GET", "/v1/executions/{id}/socket", executions_socket, SCOPE_RUN, ROUTE_COUNTED, 101,
      "open_socket", "A WebSocket: events out, stdin, signals and the terminal's size in.", NULL,
      NULL, NULL },
    { "GET", "/v1/executions/{id}/output/{stream}", executions_output, SCOPE_RUN, ROUTE_LOOKS, 200,
      "read_output", "All that a run with `keep_output` wrote to stdout or stderr.", NULL, NULL,
      BYTES_TYPE },
    { "POST", "/v1/batch", batches_create, SCOPE_RUN, ROUTE_JSON | ROUTE_STARTS | ROUTE_ASYNC, 200,
      "create_batch", "Runs up to 256 requests; the reply has all results.", "batch",
      "batch_results", NULL },
    { "GET", "/v1/batch/{id}", batch_jobs_get, SCOPE_RUN, ROUTE_LOOKS, 200, "get_batch",
      "Describes a batch that goes on without its client, with its results when it is over.", NULL,
      "batch_job", NULL },
    { "DELETE", "/v1/batch/{id}", batch_jobs_cancel, SCOPE_RUN, ROUTE_COUNTED, 202, "cancel_batch",
      "Cancels the runs of a batch.", NULL, "batch_job", NULL },

    { "POST", "/v1/sessions", sessions_create, SCOPE_SESSIONS,
      ROUTE_JSON | ROUTE_STARTS | ROUTE_RUN | ROUTE_SESSION, 201,
      "create_session", "Makes a session of a language.", "session_request", "session", NULL },
    { "GET", "/v1/sessions", sessions_list, SCOPE_SESSIONS, ROUTE_LOOKS, 200, "list_sessions",
      "Lists the sessions of this tenant.", NULL, "session_list", NULL },
    { "GET", "/v1/sessions/{id}", sessions_get, SCOPE_SESSIONS, ROUTE_LOOKS, 200, "get_session",
      "Describes a session.", NULL, "session", NULL },
    { "DELETE", "/v1/sessions/{id}", sessions_end, SCOPE_SESSIONS, ROUTE_COUNTED, 200,
      "delete_session", "Ends a session.", NULL, "session_ended", NULL },
    { "POST", "/v1/sessions/{id}/cells", cells_create, SCOPE_SESSIONS,
      ROUTE_JSON | ROUTE_STARTS | ROUTE_STREAMS, 200, "create_cell",
      "Executes a cell.  A client that leaves interrupts it.", "cell_request", "cell_result",
      NULL },
    { "GET", "/v1/sessions/{id}/vars", sessions_vars, SCOPE_SESSIONS, ROUTE_STARTS, 200,
      "list_variables", "Lists the variables of a session.", NULL, "session_answer", NULL },
    { "GET", "/v1/sessions/{id}/metrics", sessions_metrics, SCOPE_SESSIONS, ROUTE_LOOKS, 200,
      "read_session_metrics", "What a session uses now.", NULL, "session_answer", NULL },
    { "POST", "/v1/sessions/{id}/interrupt", sessions_interrupt, SCOPE_SESSIONS, ROUTE_COUNTED, 200,
      "interrupt_session", "Interrupts the cell that runs.", NULL, "session_answer", NULL },
    { "POST", "/v1/sessions/{id}/restart", sessions_restart, SCOPE_SESSIONS, ROUTE_STARTS, 200,
      "restart_session", "Begins anew with an empty session.", NULL, "session_answer", NULL },
    { "POST", "/v1/sessions/{id}/checkpoint", sessions_checkpoint, SCOPE_SESSIONS, ROUTE_STARTS,
      200, "checkpoint_session", "Saves the state before the next cell.", NULL, "session_answer",
      NULL },
    { "POST", "/v1/sessions/{id}/rollback", sessions_rollback, SCOPE_SESSIONS,
      ROUTE_JSON | ROUTE_STARTS, 200, "rollback_session", "Goes back to the state before a cell.",
      "rollback_request", "session_answer", NULL },
    { "POST", "/v1/sessions/{id}/fork", sessions_fork, SCOPE_SESSIONS, ROUTE_STARTS, 201,
      "fork_session", "Makes a session with the same state.", NULL, "session", NULL },
    { "GET", "/v1/sessions/{id}/files", sessions_files, SCOPE_SESSIONS, ROUTE_STARTS, 200,
      "list_session_files", "Lists the files of a session.", NULL, "session_answer", NULL },
    { "PUT", "/v1/sessions/{id}/files/{path...}", sessions_put_file, SCOPE_SESSIONS,
      ROUTE_BYTES | ROUTE_STARTS, 200, "put_session_file", "Writes a file of a session.", NULL,
      "session_answer", NULL },
    { "GET", "/v1/sessions/{id}/files/{path...}", sessions_get_file, SCOPE_SESSIONS, ROUTE_STARTS,
      200, "get_session_file", "Reads a file of a session.", NULL, NULL, BYTES_TYPE },
    { "DELETE", "/v1/sessions/{id}/files/{path...}", sessions_delete_file, SCOPE_SESSIONS,
      ROUTE_STARTS, 200, "delete_session_file", "Removes a file of a session.", NULL,
      "session_answer", NULL },

    { "GET", "/v1/changes", kept_changes_list, SCOPE_FILES, ROUTE_LOOKS, 200, "list_changes",
      "Lists the changes that runs with `keep` have left.", NULL, "changes_list", NULL },
    { "GET", "/v1/changes/{id}", kept_changes_get, SCOPE_FILES, ROUTE_LOOKS, 200, "get_changes",
      "Describes kept changes, each with its path.", NULL, "changes", NULL },
    { "DELETE", "/v1/changes/{id}", kept_changes_remove, SCOPE_FILES, ROUTE_COUNTED, 204,
      "delete_changes", "Forgets kept changes and their undo.", NULL, NULL, NULL },
    { "GET", "/v1/changes/{id}/diff", kept_changes_read_diff, SCOPE_FILES, ROUTE_LOOKS, 200,
      "diff_changes", "Kept changes as a unified diff.", NULL, NULL, "text/x-diff; charset=utf-8" },
    { "POST", "/v1/changes/{id}/apply", kept_changes_apply, SCOPE_FILES, ROUTE_JSON | ROUTE_STARTS,
      200, "apply_changes", "Makes kept changes real in a root that the tenant may write to.",
      "apply_request", "apply_report", NULL },
    { "POST", "/v1/changes/{id}/undo", kept_changes_undo, SCOPE_FILES, ROUTE_JSON | ROUTE_STARTS,
      200, "undo_changes", "Takes applied changes back.", "apply_request", "apply_report", NULL },

    { "GET", "/v1/workspaces", workspaces_list, SCOPE_FILES, ROUTE_LOOKS, 200, "list_workspaces",
      "Lists the workspaces of this tenant.", NULL, "workspace_list", NULL },
    { "DELETE", "/v1/workspaces/{name}", workspaces_remove, SCOPE_FILES, ROUTE_COUNTED, 204,
      "delete_workspace", "Removes a workspace.", NULL, NULL, NULL },
    { "GET", "/v1/workspaces/{name}/files", workspaces_files, SCOPE_FILES, ROUTE_STARTS, 200,
      "list_workspace_files", "Lists the files of a workspace.", NULL, "file_list", NULL },
    { "PUT", "/v1/workspaces/{name}/files/{path...}", workspaces_put_file, SCOPE_FILES,
      ROUTE_BYTES | ROUTE_STARTS, 204, "put_workspace_file",
      "Writes a file; the first makes the workspace.", NULL, NULL, NULL },
    { "GET", "/v1/workspaces/{name}/files/{path...}", workspaces_get_file, SCOPE_FILES,
      ROUTE_STARTS, 200, "get_workspace_file", "Reads a file of a workspace.", NULL, NULL,
      BYTES_TYPE },
    { "DELETE", "/v1/workspaces/{name}/files/{path...}", workspaces_delete_file, SCOPE_FILES,
      ROUTE_STARTS, 204, "delete_workspace_file", "Removes a file of a workspace.", NULL, NULL,
      NULL },

    { "POST", "/v1/tests", work_calls_test, SCOPE_RUN, ROUTE_JSON | ROUTE_STARTS, 200,
      "create_test", "Runs the tests of a project: each case of the runner.", "test_request",
      "test", NULL },
    { "POST", "/v1/builds", work_calls_build, SCOPE_RUN, ROUTE_JSON | ROUTE_STARTS, 200,
      "create_build", "Builds a project: messages with places, artifacts.", "build_request",
      "build", NULL },
    { "POST", "/v1/golden", work_calls_golden, SCOPE_RUN, ROUTE_JSON | ROUTE_STARTS, 200,
      "create_golden", "Runs commands, and compares with what is expected of them.",
      "golden_request", "golden", NULL },
    { "POST", "/v1/verify", work_calls_verify, SCOPE_RUN, ROUTE_JSON | ROUTE_STARTS, 200,
      "create_verification", "Checks code: syntax, types, lint, tests, examples, calls.",
      "verify_request", "verify", NULL },
    { "POST", "/v1/comparisons", work_calls_compare, SCOPE_RUN, ROUTE_JSON | ROUTE_STARTS, 200,
      "create_comparison", "Runs two programs with the same inputs: outputs, times, memory.",
      "comparison_request", "comparison", NULL },
    { "POST", "/v1/profiles", work_calls_profile, SCOPE_RUN, ROUTE_JSON | ROUTE_STARTS, 200,
      "create_profile", "Runs a program again and again: times, memory, use over time.",
      "profile_request", "profile", NULL },

    { "POST", "/mcp", mcp_post, SCOPE_RUN, ROUTE_JSON | ROUTE_RPC | ROUTE_COUNTED, 200,
      "send_mcp_message", "A message of an agent by the Model Context Protocol (docs/agents.md).",
      "mcp_message", "mcp_message", NULL },
    { "GET", "/mcp", mcp_get, SCOPE_RUN, ROUTE_RPC | ROUTE_COUNTED, 200, "open_mcp_stream",
      "The stream of a client that sent initialize.", NULL, NULL, SSE_TYPE },
    { "DELETE", "/mcp", mcp_delete, SCOPE_RUN, ROUTE_RPC | ROUTE_COUNTED, 204, "end_mcp_session",
      "Ends what initialize began.", NULL, NULL, NULL },
    { 0 },
};
/* clang-format on */

static int digit_of(char c)
{
    return isdigit((unsigned char)c) ? c - '0' : tolower((unsigned char)c) - 'a' + 10;
}

/* NULL: a wrong escape, a NUL, a control character, or no UTF-8, which no message could repeat. */
static char *decode(const char *text, size_t len)
{
    char *out = malloc(len + 1);
    size_t n = 0;

    for (size_t i = 0; out && i < len; i++) {
        int c = (unsigned char)text[i];

        if (c == '%') {
            if (i + 2 >= len || !isxdigit((unsigned char)text[i + 1]) ||
                !isxdigit((unsigned char)text[i + 2])) {
                free(out);
                return NULL;
            }
            c = digit_of(text[i + 1]) * 16 + digit_of(text[i + 2]);
            i += 2;
        }
        if (c < ' ' || c == 127) {
            free(out);
            return NULL;
        }
        out[n++] = (char)c;
    }
    if (out && !text_is_utf8(out, n)) {
        free(out);
        return NULL;
    }
    if (out)
        out[n] = '\0';
    return out;
}

static void forget_words(struct exchange *x)
{
    for (size_t i = 0; i < EXCHANGE_MAX_WORDS; i++) {
        free(x->words[i]);
        x->words[i] = NULL;
    }
}

/* One {name} of the pattern against the path; false: it does not match. */
static bool take_word(struct exchange *x, size_t n, const char **pattern, const char **path)
{
    size_t name = strcspn(*pattern, "}");
    bool rest = name > 3 && !strncmp(*pattern + name - 3, "...", 3);
    size_t len = rest ? strlen(*path) : strcspn(*path, "/");

    if (len == 0 || n >= EXCHANGE_MAX_WORDS)
        return false;
    x->words[n] = decode(*path, len);
    *pattern += name + 1;
    *path += len;
    return x->words[n] != NULL;
}

static bool matches(struct exchange *x, const char *pattern, const char *path)
{
    size_t n = 0;

    forget_words(x);
    while (*pattern) {
        if (*pattern == '{') {
            if (!take_word(x, n++, &pattern, &path))
                return false;
        } else if (*pattern++ != *path++) {
            return false;
        }
    }
    return *path == '\0';
}

static const struct route *refuse(struct exchange *x, const struct buf *allowed)
{
    struct problem problem = { .status = HTTP_NOT_FOUND,
                               .detail = "there is no such path",
                               .remedy = "GET /openapi.json lists the paths there are" };

    if (allowed->len) {
        problem.status = HTTP_METHOD_NOT_ALLOWED;
        problem.detail = "this path does not take the method of the request";
        problem.remedy = "the header Allow names the methods that it takes";
    }
    problem_reply(x, &problem);
    if (allowed->len)
        exchange_add_header(x, HTTP_HEADER_ALLOW, allowed->data);
    return NULL;
}

/* What a request asks for, and what the tables have said so far. */
struct search {
    const char *method, *path;
    bool below; /* the path was one below /NAME/ */
    struct buf allowed;
};

static const struct route *find_in(struct exchange *x, const struct route *table, struct search *s)
{
    for (const struct route *route = table; route->method; route++) {
        if ((route->flags & ROUTE_BELOW && !s->below) || !matches(x, route->path, s->path))
            continue;
        if (!strcmp(route->method, s->method))
            return route;
        buf_printf(&s->allowed, "%s%s", s->allowed.len ? ", " : "", route->method);
    }
    return NULL;
}

/* At the root, or below the dialect's name. */
static const struct route *find_in_dialect(struct exchange *x, struct search *s)
{
    size_t len = strlen(x->dialect->name);

    s->below = !strncmp(x->path + 1, x->dialect->name, len) && x->path[len + 1] == '/';
    s->path = s->below ? x->path + 1 + len : x->path;
    return find_in(x, x->dialect->routes, s);
}

const struct route *route_find(struct exchange *x, const char *method)
{
    struct search s = { .method = method };
    const struct route *found = NULL;

    buf_init(&s.allowed, 256);
    for (size_t i = 0; x->server->options.dialects[i] && x->path[0] && !found; i++) {
        x->dialect = x->server->options.dialects[i];
        found = find_in_dialect(x, &s);
    }
    if (!found) {
        x->dialect = NULL;
        s.path = x->path;
        found = find_in(x, route_table, &s);
    }
    if (!found)
        refuse(x, &s.allowed);
    buf_done(&s.allowed);
    return found;
}
