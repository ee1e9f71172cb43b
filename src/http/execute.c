/* POST /v1/execute: a line of shell with a configuration of few words; otherwise a run as any. */
#include <stdlib.h>
#include <string.h>

#include "admit/grant.h"
#include "http/handlers.h"
#include "http/holdings.h"
#include "http/problem.h"
#include "http/submission.h"
#include "model/executes.h"

static json_t *digest(const struct execution *e, const json_t *result,
                      const struct output_files *files)
{
    (void)e;
    (void)files;
    json_t *answer = execute_answer(result), *text = NULL;
    char *bytes = answer ? json_dumps(answer, JSON_COMPACT) : NULL;

    text = bytes ? json_string(bytes) : NULL; /* written here, beside the loop */
    free(bytes);
    json_decref(answer);
    return text;
}

static void reply(const struct execution *e, struct exchange *x)
{
    if (e->is_error || !e->digested)
        problem_reply_error(x, &e->err);
    else
        exchange_reply(x, HTTP_OK, JSON_TYPE, strdup(json_string_value(e->digested)));
}

static json_t *request_of(struct exchange *x, const json_t *body)
{
    struct execute_most most = { .network = grant_widest(&x->tenant) };
    struct refusal fault = { .kind = REFUSED_WRONG };
    json_t *request;

    for (unsigned int i = 0; i < N_LIMITS; i++)
        most.limits[i] = grant_most(&x->tenant, (enum sbr_limit)i);
    request = execute_request(body, &most, &fault.err);
    if (!request)
        holdings_refuse(x, &fault);
    return request;
}

void execute_create(struct exchange *x)
{
    const struct submission_extra extra = { .mode = EXECUTION_WAITED };
    json_t *body = submission_body(x), *request = body ? request_of(x, body) : NULL;
    struct execution *e = request ? submission_start(x, request, &extra) : NULL;

    if (e) {
        e->digest = digest;
        e->form = reply;
        execution_wait(e, x);
    }
    json_decref(request);
    json_decref(body);
}
