#include "http/execution_result.h"

#include <stdlib.h>

#include "base/json_read.h"
#include "http/offload.h"
#include "http/server.h"
#include "lib/runner.h"

#define LARGE_OUTPUT ((size_t)256 << 10)

struct response_text *execution_result_text(const struct execution *e, const sbr_result *result)
{
    return response_text_of(
        roots_hide(&e->server->roots, e->tenant,
                   result ? result_to_json(result) : result_error_to_json(&e->err)));
}

/* A result that lacks the version of its language's tool, or is large. */
struct unwritten {
    struct execution *e;
    sbr_result *result;
    struct response_text *text;
    json_t *tree;
    execution_result_finish *finish;
};

static int write_result(struct offload *o, sbr_error *err)
{
    struct unwritten *unwritten = o->extra;

    (void)err;
    (void)runner_find_version(unwritten->e->job, unwritten->result, true);
    unwritten->text = execution_result_text(unwritten->e, unwritten->result);
    result_drop_output(unwritten->result);      /* the text has it */
    if (unwritten->e->ended && unwritten->text) /* a dialect reads it */
        unwritten->tree = json_read_own(unwritten->text->bytes, JSON_ALLOW_NUL);
    return 0;
}

static void result_written(struct offload *o, const sbr_error *err)
{
    struct unwritten *unwritten = o->extra;

    (void)err;
    unwritten->e->tree = unwritten->tree; /* until its dialect has read it */
    unwritten->finish(unwritten->e, unwritten->result, unwritten->text, NULL);
    unwritten->e->tree = NULL;
    json_decref(unwritten->tree);
    free(unwritten);
}

static bool is_large(const sbr_result *result)
{
    return result->out.len + result->out.tail_len + result->err.len + result->err.tail_len >
           LARGE_OUTPUT;
}

/* Once per tool: the tool is asked in a sandbox, which must not hold up the loop.  Nor must a
 * program that has said as much as it may. */
bool execution_result_is_later(struct execution *e, sbr_result *result,
                               execution_result_finish *finish)
{
    struct unwritten *unwritten;

    if (runner_find_version(e->job, result, false) && !is_large(result))
        return false;
    unwritten = malloc(sizeof(*unwritten));
    if (!unwritten)
        return false;
    *unwritten = (struct unwritten){ .e = e, .result = result, .finish = finish };
    if (offload_start_own(e->server, &(struct offload){ .work = write_result,
                                                        .done = result_written,
                                                        .extra = unwritten }) < 0) {
        free(unwritten);
        return false;
    }
    loop_remove(&e->server->loop, &e->watch);
    /* cppcheck-suppress memleak ; `result_written` frees it */
    return true;
}
