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

json_t *execution_result_digest(const struct execution *e, const struct response_text *text,
                                const sbr_result *result)
{
    json_t *tree, *digest;

    if (!e->digest || !text)
        return NULL;
    tree = json_read_own(text->bytes, JSON_ALLOW_NUL);
    digest = e->digest(e, tree, &result->files);
    json_decref(tree);
    return digest;
}

/* A result that lacks the version of its language's tool, or is large. */
struct unwritten {
    struct execution *e;
    sbr_result *result;
    struct response_text *text;
    json_t *digest;
    execution_result_finish *finish;
};

static int write_result(struct offload *o, sbr_error *err)
{
    struct unwritten *unwritten = o->extra;

    (void)err;
    (void)runner_find_version(unwritten->e->job, unwritten->result, true);
    unwritten->text = execution_result_text(unwritten->e, unwritten->result);
    result_drop_output(unwritten->result); /* the text has it */
    unwritten->digest = execution_result_digest(unwritten->e, unwritten->text, unwritten->result);
    return 0;
}

static void result_written(struct offload *o, const sbr_error *err)
{
    struct unwritten *unwritten = o->extra;

    (void)err;
    unwritten->e->users--;
    unwritten->e->digested = unwritten->digest;
    unwritten->finish(unwritten->e, unwritten->result, unwritten->text, NULL);
    free(unwritten);
}

/* A dialect reads the files, too. */
static bool is_large(const struct execution *e, const sbr_result *result)
{
    uint64_t bytes =
        result->out.len + result->out.tail_len + result->err.len + result->err.tail_len;

    for (size_t i = 0; e->digest && i < result->files.n; i++)
        bytes += result->files.items[i].size;
    return bytes > LARGE_OUTPUT;
}

/* Once per tool: the tool is asked in a sandbox, which must not hold up the loop.  Nor must a
 * program that has said as much as it may. */
bool execution_result_is_later(struct execution *e, sbr_result *result,
                               execution_result_finish *finish)
{
    struct unwritten *unwritten;

    if (runner_find_version(e->job, result, false) && !is_large(e, result))
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
    e->users++;
    loop_remove(&e->server->loop, &e->watch);
    /* cppcheck-suppress memleak ; `result_written` frees it */
    return true;
}
