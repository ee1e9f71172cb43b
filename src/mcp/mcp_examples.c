#include "mcp/mcp_internal.h"

#ifdef SBR_TEST_HOOKS
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fd.h"
#include "base/json_read.h"

/* Of a row of the file, what clients are shown. */
static json_t *shown(const json_t *row)
{
    json_t *copy = json_deep_copy(row);

    json_object_del(copy, "steps");
    json_object_del(copy, "contents");
    return copy;
}

static json_t *find(const struct mcp_server *server, const char *kind, const char *name)
{
    json_t *row;
    size_t i;

    json_array_foreach(json_object_get(server->examples, kind), i, row)
        if (name && !strcmp(mcp_text(row, "name"), name))
            return row;
    return NULL;
}

void mcp_examples_list(const struct mcp_server *server, const char *kind, json_t *list)
{
    json_t *row;
    size_t i;

    json_array_foreach(json_object_get(server->examples, kind), i, row)
        json_array_append_new(list, shown(row));
}

int mcp_examples_load(struct mcp_server *server, sbr_error *err)
{
    const char *path = getenv("SANDBOX_RUN_TEST_MCP");
    scoped_fd int fd = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    scoped_free char *text = NULL;
    size_t len;

    if (!path)
        return 0;
    if (fd < 0)
        return err_set_errno(err, "mcp", "cannot open %s", path);
    if (fd_read_text(fd, json_read_document.bytes, &text, &len, err) < 0)
        return err->code;
    server->examples = json_read(text, len, &json_read_document, 0, path, err);
    if (!server->examples)
        return err->code;
    mcp_examples_list(server, "tools", server->tools);
    return 0;
}

/* Puts arguments in the place of {NAME}, in every text of a value. */
static json_t *filled(const json_t *value, const json_t *arguments)
{
    scoped_free char *text = json_dumps(value, JSON_ENCODE_ANY);
    const char *key;
    json_t *argument, *result;

    json_object_foreach((json_t *)arguments, key, argument) {
        char mark[64], *at, *next;

        snprintf(mark, sizeof(mark), "{%.60s}", key);
        while (json_is_string(argument) && (at = strstr(text, mark))) {
            if (asprintf(&next, "%.*s%s%s", (int)(at - text), text, json_string_value(argument),
                         at + strlen(mark)) < 0)
                break;
            free(text);
            text = next;
        }
    }
    result = json_read_own(text, JSON_DECODE_ANY);
    return result ? result : json_null();
}

/* Asks, and says what came.  False: the call has its result. */
static bool ask(struct mcp_call *call, const json_t *step, unsigned int round)
{
    json_t *requests = filled(json_object_get(step, "ask"), call->arguments);
    json_t *answers = mcp_ask_inputs(call, requests, round);
    scoped_free char *text = answers ? json_dumps(answers, JSON_COMPACT) : NULL;
    const char *said = mcp_text(step, "said");

    if (text && said)
        mcp_call_note(call, "%s %s", said, text);
    json_decref(requests);
    json_decref(answers);
    return text != NULL;
}

/* False: the call has its result. */
static bool take_step(struct mcp_call *call, const json_t *step)
{
    const char *log = mcp_text(step, "log"), *needs = mcp_text(step, "needs");
    const json_t *say = json_object_get(step, "say");

    if (needs && !json_object_get(call->era.capabilities, needs)) {
        mcp_ask_lacks(call, needs);
        return false;
    }
    if (log)
        mcp_call_log(call, MCP_LOG_INFO, json_string(log));
    if (json_object_get(step, "progress"))
        mcp_call_progress(call, mcp_text(step, "progress"), true);
    if (json_object_get(step, "wait_ms"))
        (void)poll(NULL, 0, (int)json_integer_value(json_object_get(step, "wait_ms")));
    if (say)
        json_array_append_new(call->content, filled(say, call->arguments));
    if (json_object_get(step, "fail"))
        mcp_call_fail(call, "%s", mcp_text(step, "fail"));
    return true;
}

static void take_steps(struct mcp_call *call, const json_t *steps)
{
    unsigned int round = 0, reached = mcp_ask_round(call);
    json_t *step;
    size_t i;

    json_array_foreach(steps, i, step) {
        if (!json_object_get(step, "ask")) {
            if (!take_step(call, step))
                return;
        } else if (round++ >= reached && !ask(call, step, round - 1)) {
            return;
        }
    }
    if (reached && reached >= round) {
        call->fault = MCP_INVALID_PARAMS; /* no round has checked the state */
        call->why = "requestState is of no round";
    }
}

static void run(struct mcp_call *call)
{
    const json_t *row = find(call->peer->server, "tools", mcp_text(call->params, "name"));

    take_steps(call, json_object_get(row, "steps"));
}

mcp_tool_fn *mcp_examples_tool(const struct mcp_server *server, const char *name)
{
    return find(server, "tools", name) ? run : NULL;
}

bool mcp_examples_prompt(struct mcp_call *call, const char *name)
{
    const json_t *row = find(call->peer->server, "prompts", name);

    if (row)
        take_steps(call, json_object_get(row, "steps"));
    return row != NULL;
}

/* `uri` against NAME://BEFORE{id}AFTER; the id, which the caller frees. */
static char *id_of(const char *uri, const char *form)
{
    static const char mark[] = "{id}";
    const char *at = strstr(form, mark), *after = at ? at + sizeof(mark) - 1 : NULL;
    size_t before = at ? (size_t)(at - form) : 0, len = strlen(uri);

    if (!at || len <= before + strlen(after) || strncmp(uri, form, before) != 0 ||
        strcmp(uri + len - strlen(after), after) != 0)
        return NULL;
    return strndup(uri + before, len - before - strlen(after));
}

json_t *mcp_examples_resource(const struct mcp_server *server, const char *uri)
{
    json_t *row, *with, *result = NULL;
    size_t i;

    json_array_foreach(json_object_get(server->examples, "resources"), i, row)
        if (!strcmp(mcp_text(row, "uri"), uri))
            return json_pack("{s:O}", "contents", json_object_get(row, "contents"));
    json_array_foreach(json_object_get(server->examples, "templates"), i, row) {
        scoped_free char *id = id_of(uri, mcp_text(row, "uriTemplate"));

        if (!id)
            continue;
        with = json_pack("{s:s}", "id", id);
        result = json_pack("{s:o}", "contents", filled(json_object_get(row, "contents"), with));
        json_decref(with);
        break;
    }
    return result;
}
#endif
