#include "http/execution_result.h"

#include <stdlib.h>
#include <string.h>

#include "base/json_read.h"
#include "base/scope.h"
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

    if (!e->digest || !text || !text->bytes)
        return NULL;
    tree = json_read_own(text->bytes, JSON_ALLOW_NUL);
    digest = e->digest(e, tree, &result->files);
    json_decref(tree);
    return digest;
}

/* The streams that stand apart, in the places of their names. */
static void put_streams(json_t *at, const struct jsonw_apart *apart)
{
    const size_t mark_len = strlen(apart->mark);
    const char *key, *name;
    json_t *value;
    void *next;
    size_t i;

    json_object_foreach_safe(at, next, key, value) {
        name = json_string_value(value);
        if (name && !strncmp(name, apart->mark, mark_len)) {
            const struct jsonw_long *stream = &apart->at[strtoul(name + mark_len, NULL, 10)];
            scoped_free char *base64 =
                stream->base64 ? encoding_to_base64(stream->data, stream->len) : NULL;

            json_object_set_new_nocheck(at, key,
                                        stream->base64
                                            ? json_string_nocheck(base64 ? base64 : "")
                                            : json_stringn_nocheck(stream->data, stream->len));
        } else {
            put_streams(value, apart);
        }
    }
    json_array_foreach(at, i, value)
        put_streams(value, apart);
}

/* What a dialect makes of a result in parts, whose text it cannot read. */
static json_t *digest_parts(const struct execution *e, const char *skeleton,
                            const struct jsonw_apart *apart, const sbr_result *result)
{
    json_t *tree, *digest;

    if (!e->digest || !skeleton)
        return NULL;
    tree = json_read_own(skeleton, JSON_ALLOW_NUL);
    put_streams(tree, apart);
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

static void free_result(void *result)
{
    result_free(result);
}

/* The text keeps the result, which has its long streams. */
static int write_result(struct offload *o, sbr_error *err)
{
    struct unwritten *unwritten = o->extra;
    const struct execution *e = unwritten->e;
    struct jsonw_apart apart = { 0 };
    char *skeleton;

    (void)err;
    (void)runner_find_version(e->job, unwritten->result, true);
    if (encoding_random_id(apart.mark) < 0)
        return 0;
    skeleton =
        roots_hide(&e->server->roots, e->tenant, result_to_json_apart(unwritten->result, &apart));
    unwritten->digest = digest_parts(e, skeleton, &apart, unwritten->result);
    unwritten->text = response_text_of_apart(skeleton, &apart, unwritten->result, free_result);
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
