#include "http/problem.h"

#include <stdio.h>
#include <string.h>

#include "base/jsonw.h"
#include "base/text.h"
#include "http/dialect.h"
#include "http/server.h"

#define RETRY_S 1

/* clang-format off */
static const struct {
    unsigned int status;
    const char *code, *title;
} statuses[] = {
    { 400, "bad_request",     "The request is malformed" },
    { 401, "unauthorized",    "A token is needed" },
    { 403, "forbidden",       "This is not allowed" },
    { 404, "not_found",       "There is nothing here" },
    { 405, "method",          "This method does nothing here" },
    { 406, "not_acceptable",  "The reply has another form" },
    { 409, "conflict",        "Another request is in the way" },
    { 410, "gone",            "It is no longer kept" },
    { 411, "length_required", "The length of the body is missing" },
    { 413, "too_large",       "The body is too large" },
    { 415, "media_type",      "The body has another form" },
    { 421, "wrong_host",      "The request is for another host" },
    { 422, "invalid",         "The request cannot be carried out as it is" },
    { 426, "upgrade",         "This path is for a WebSocket" },
    { 429, "busy",            "There is too much to do" },
    { 500, "internal",        "The gateway failed" },
    { 501, "unsupported",     "This is not there" },
    { 503, "unavailable",     "The gateway cannot do it now" },
};

static const struct {
    int code;
    unsigned int status;
} codes[] = {
    { SBR_E_INVALID,     422 },
    { SBR_E_NOT_FOUND,   404 },
    { SBR_E_UNSUPPORTED, 501 },
    { SBR_E_DENIED,      403 },
    { SBR_E_BUSY,        429 },
    { SBR_E_NO_MEMORY,   503 },
};
/* clang-format on */

unsigned int problem_status_of(int code)
{
    for (size_t i = 0; i < ARRAY_LEN(codes); i++)
        if (codes[i].code == code)
            return codes[i].status;
    return HTTP_INTERNAL_SERVER_ERROR;
}

static size_t row_of(unsigned int status)
{
    for (size_t i = 0; i < ARRAY_LEN(statuses); i++)
        if (statuses[i].status == status)
            return i;
    return ARRAY_LEN(statuses) - 3; /* internal */
}

static void put_field(struct jsonw *j, const struct problem *problem)
{
    scoped_free char *pointer = text_format("#/%s", problem->field);

    jsonw_open(j, "errors", '[');
    jsonw_open(j, NULL, '{');
    jsonw_text(j, "pointer", pointer);
    jsonw_text(j, "detail", problem->detail);
    jsonw_close(j, '}');
    jsonw_close(j, ']');
}

static char *to_json(const struct exchange *x, const struct problem *problem)
{
    size_t row = row_of(problem->status);
    const char *code = problem->code ? problem->code : statuses[row].code;
    scoped_free char *type = text_format("urn:sandbox-run:problem:%s", code);
    char path[200];
    struct jsonw j;

    text_copy_visibly(path, sizeof(path), x->path, strlen(x->path));
    jsonw_init(&j, false);
    jsonw_open(&j, NULL, '{');
    jsonw_text(&j, "type", type);
    jsonw_text(&j, "title", statuses[row].title);
    jsonw_number(&j, "status", problem->status);
    jsonw_text(&j, "detail", problem->detail);
    jsonw_text(&j, "code", code);
    if (problem->remedy)
        jsonw_text(&j, "remedy", problem->remedy);
    jsonw_text(&j, "instance", path);
    if (problem->position)
        jsonw_number(&j, "position", problem->position);
    if (problem->field)
        put_field(&j, problem);
    jsonw_close(&j, '}');
    return jsonw_take(&j);
}

/* What goes wrong is told here, and paths of the host stay here. */
void problem_reply(struct exchange *x, const struct problem *given)
{
    char seconds[16], detail[sizeof(((sbr_error *)0)->message)] = "";
    struct problem hidden = *given, *problem = &hidden;

    if (given->detail) {
        snprintf(detail, sizeof(detail), "%s", given->detail);
        roots_hide_in(&x->server->roots, x->tenant.name, detail, sizeof(detail));
        hidden.detail = detail;
    }
    x->reason = problem->code ? problem->code : statuses[row_of(problem->status)].code;
    if (x->dialect)
        x->dialect->refuse(x, problem);
    else
        exchange_reply(x, problem->status, PROBLEM_TYPE, to_json(x, problem));
    if (problem->status == HTTP_UNAUTHORIZED)
        exchange_add_header(x, HTTP_HEADER_WWW_AUTHENTICATE, "Bearer realm=\"sandbox-run\"");
    if (!problem->retry_s)
        return;
    snprintf(seconds, sizeof(seconds), "%u", problem->retry_s);
    exchange_add_header(x, HTTP_HEADER_RETRY_AFTER, seconds);
}

void problem_reply_error(struct exchange *x, const sbr_error *err)
{
    struct problem problem = { .status = problem_status_of(err->code),
                               .code = sbr_code_name(err->code),
                               .detail = err->message };

    if (err->code == SBR_E_BUSY || err->code == SBR_E_NO_MEMORY)
        problem.retry_s = RETRY_S;
    problem_reply(x, &problem);
}
