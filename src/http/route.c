#include "http/route.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "http/handlers.h"
#include "http/problem.h"

/* clang-format off */
const struct route route_table[] = {
    { "GET", "/healthz", meta_health, SCOPE_NONE, ROUTE_OPEN, 200, "health",
      "Says that the gateway lives.", NULL, "health", NULL },
    { "GET", "/readyz", meta_ready, SCOPE_NONE, 0, 200, "ready",
      "Runs a small sandbox, and says whether that works.", NULL, "ready", NULL },
    { "GET", "/version", meta_version, SCOPE_NONE, 0, 200, "version",
      "Names the version.", NULL, "version", NULL },
    { "GET", "/metrics", meta_metrics, SCOPE_METRICS, 0, 200, "metrics",
      "Counters in the text format of Prometheus.", NULL, NULL, "text/plain; version=0.0.4" },
    { "GET", "/openapi.json", meta_openapi, SCOPE_NONE, 0, 200, "openapi",
      "This document.", NULL, "openapi", NULL },
    { "GET", "/v1/languages", meta_languages, SCOPE_NONE, 0, 200, "list_languages",
      "Lists the languages and their versions on this machine.", NULL, "languages", NULL },

    { "POST", "/v1/executions", executions_create, SCOPE_RUN,
      ROUTE_JSON | ROUTE_STARTS | ROUTE_STREAMS, 200, "create_execution",
      "Runs a program.  The reply is its result, also when the program was killed.", "request",
      "result", NULL },
    { "GET", "/v1/executions", executions_list, SCOPE_RUN, 0, 200, "list_executions",
      "Lists the runs of this tenant, newest first.", NULL, "execution_list", NULL },
    { "GET", "/v1/executions/{id}", executions_get, SCOPE_RUN, 0, 200, "get_execution",
      "Describes one run, with its result when it is over.", NULL, "execution", NULL },
    { "DELETE", "/v1/executions/{id}", executions_cancel, SCOPE_RUN, 0, 202, "cancel_execution",
      "Cancels a run.", NULL, "execution", NULL },
    { "GET", "/v1/executions/{id}/events", executions_events, SCOPE_RUN, ROUTE_STREAMS, 200,
      "read_events", "Streams the events of a run, from Last-Event-ID on.", NULL, "event",
      NULL },
    { "POST", "/v1/executions/{id}/stdin", executions_stdin, SCOPE_RUN, ROUTE_BYTES, 202,
      "write_stdin", "Adds to the program's stdin; ?close=1 ends it.", NULL, "stdin_taken", NULL },
    { 0 },
};
/* clang-format on */

static int digit_of(char c)
{
    return isdigit((unsigned char)c) ? c - '0' : tolower((unsigned char)c) - 'a' + 10;
}

/* NULL: a wrong escape, a NUL or a control character. */
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

static bool matches(struct exchange *x, const char *pattern)
{
    const char *path = x->path;
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
    struct problem problem = { .status = MHD_HTTP_NOT_FOUND,
                               .detail = "there is no such path",
                               .remedy = "GET /openapi.json lists the paths there are" };

    if (allowed->len) {
        problem.status = MHD_HTTP_METHOD_NOT_ALLOWED;
        problem.detail = "this path does not take the method of the request";
        problem.remedy = "the header Allow names the methods that it takes";
    }
    problem_reply(x, &problem);
    if (allowed->len)
        exchange_add_header(x, MHD_HTTP_HEADER_ALLOW, allowed->data);
    return NULL;
}

const struct route *route_find(struct exchange *x, const char *method)
{
    const struct route *found = NULL;
    struct buf allowed;

    buf_init(&allowed, 256);
    for (const struct route *route = route_table; route->method && !found; route++) {
        if (!matches(x, route->path))
            continue;
        if (!strcmp(route->method, method))
            found = route;
        else
            buf_printf(&allowed, "%s%s", allowed.len ? ", " : "", route->method);
    }
    if (!found)
        refuse(x, &allowed);
    buf_done(&allowed);
    return found;
}
