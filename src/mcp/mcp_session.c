/* Tools for sessions: one sandbox that stays, one cell of code after the other. */
#include <stdlib.h>
#include <string.h>

#include "base/json_read.h"
#include "mcp/mcp_internal.h"
#include "sandboxrun.h"

#define IDLE_MS (60 * 60 * 1000ULL)

static struct mcp_store *store_of(const struct mcp_call *call)
{
    return &call->peer->server->store;
}

/* The session that the call names; NULL: the call has failed. */
const char *mcp_session_id(struct mcp_call *call)
{
    const char *id = mcp_text(call->arguments, "session_id");

    if (id && mcp_store_owns(store_of(call), MCP_SESSION, id))
        return id;
    mcp_call_fail(call, "not_found: there is no such session here; create_session makes one, and "
                        "list_sessions lists those that live");
    return NULL;
}

json_t *mcp_session_ask(struct mcp_call *call, const char *id, const json_t *request)
{
    scoped_free char *line = json_dumps(request, JSON_COMPACT), *text = NULL;
    sbr_session *session = NULL;
    sbr_error err = { 0 };
    int r = line ? sbr_session_open(id, &session, &err) : err_set_oom(&err, "mcp");

    if (r == 0)
        r = sbr_session_call(session, line, &text, &err);
    sbr_session_free(session);
    if (r < 0) {
        mcp_call_fail_by(call, &err);
        return NULL;
    }
    return json_read_own(text, 0);
}

/* The session's description; NULL: *err says why there is none.  The transport counts it from here
 * on. */
static char *make_session(struct mcp_call *call, const sbr_request *req,
                          const sbr_session_bounds *bounds, sbr_error *err)
{
    const struct mcp_host *host = call->peer->server->settings.host;
    void *held = NULL;
    char *text = NULL;
    json_t *made;
    int r;

    if (host && host->begin(host->context, req, &held, err) < 0)
        return NULL;
    r = sbr_session_create(req, bounds, &text, err);
    made = r == 0 ? json_read_own(text, 0) : NULL;
    if (host && host->made(host->context, held, mcp_text(made, "id"), req, err) < 0) {
        sbr_error ignored;

        (void)sbr_session_close(mcp_text(made, "id"), &ignored);
        free(take_ptr(text));
    }
    json_decref(made);
    return text;
}

static void note_ended(struct mcp_server *server, const char *id)
{
    const struct mcp_host *host = server->settings.host;

    if (host)
        host->ended(host->context, id);
}

void mcp_create_session(struct mcp_call *call)
{
    const char *language = mcp_text(call->arguments, "language"), *id;
    json_t *idle = json_object_get(call->arguments, "ttl_seconds"), *made;
    sbr_session_bounds bounds = { .struct_size = sizeof(bounds) };
    sbr_request *req = mcp_request_make(call, language);
    scoped_free char *text = NULL;
    sbr_error err = { 0 }, ignored;

    if (!req)
        return;
    if (idle)
        bounds.idle_ms = (uint64_t)json_integer_value(idle) * 1000;
    if (!mcp_request_life(call, &bounds.idle_ms, &bounds.age_ms)) {
        sbr_request_free(req);
        return;
    }
    if (!bounds.idle_ms)
        bounds.idle_ms = IDLE_MS;
    req->keep = req->project != NULL;
    text = make_session(call, req, &bounds, &err);
    if (!text) {
        mcp_call_fail_by(call, &err);
    } else {
        made = json_read_own(text, 0);
        id = mcp_text(made, "id");
        if (mcp_store_own(store_of(call), MCP_SESSION, id)) {
            mcp_call_return(call,
                            json_pack("{s:s, s:s, s:I}", "session_id", id, "language", language,
                                      "ttl_seconds", (json_int_t)(bounds.idle_ms / 1000)));
        } else {
            (void)sbr_session_close(id, &ignored);
            note_ended(call->peer->server, id);
            mcp_call_fail(call, "busy: %d sessions live already; close_session ends one",
                          MCP_SESSIONS_MAX);
        }
        json_decref(made);
    }
    sbr_request_free(req);
}

/* Output lines are the messages of the progress. */
static void on_line(void *context, const char *line, size_t len)
{
    json_t *event = json_read(line, len, &json_read_answer, 0, "the event", NULL);
    const char *type = mcp_text(event, "type");
    const json_t *data = json_object_get(event, "data");

    if (type && data && (!strcmp(type, "stdout") || !strcmp(type, "stderr")))
        mcp_call_show_output(context, json_string_value(data), json_string_length(data));
    json_decref(event);
}

static bool save_state(struct mcp_call *call, const char *id)
{
    json_t *request, *answer;

    if (!json_is_true(json_object_get(call->arguments, "checkpoint")))
        return true;
    request = json_pack("{s:s}", "op", "checkpoint");
    answer = mcp_session_ask(call, id, request);
    json_decref(request);
    json_decref(answer);
    return answer != NULL;
}

static int execute(struct mcp_call *call, const char *id, uint64_t timeout_ms, char **ret,
                   sbr_error *err)
{
    const json_t *code = json_object_get(call->arguments, "code");
    sbr_session *session = NULL;
    int r;

    if (sbr_session_open(id, &session, err) < 0)
        return err->code;
    sbr_session_set_width(session, (unsigned int)json_integer_value(
                                       json_object_get(call->arguments, "width")));
    r = mcp_call_watch_session(call, session)
            ? sbr_session_exec(session, json_string_value(code), json_string_length(code),
                               timeout_ms, on_line, call, ret, err)
            : err_set(err, SBR_E_BUSY, "mcp", "cancelled");
    (void)mcp_call_watch_session(call, NULL);
    sbr_session_free(session);
    return r;
}

void mcp_run_cell(struct mcp_call *call)
{
    const char *id = mcp_session_id(call);
    scoped_free char *text = NULL;
    uint64_t timeout_ms = 0;
    sbr_error err = { 0 };
    json_t *result;

    if (!id || !mcp_request_timeout(call, &timeout_ms) || !save_state(call, id))
        return;
    if (execute(call, id, timeout_ms, &text, &err) < 0) {
        mcp_call_fail_by(call, &err);
        return;
    }
    result = json_read_own(text, JSON_ALLOW_NUL);
    if (!result) {
        mcp_call_fail(call, "bug: the result cannot be read");
        return;
    }
    mcp_store_add(store_of(call), result, NULL);
    mcp_report(call, result);
    json_object_set_new(call->structured, "session_id", json_string(id));
    json_decref(result);
}

void mcp_list_sessions(struct mcp_call *call)
{
    scoped_free char *text = NULL;
    json_t *all, *one, *own = json_array();
    sbr_error err = { 0 };
    size_t i;

    if (sbr_session_list(&text, &err) < 0) {
        json_decref(own);
        mcp_call_fail_by(call, &err);
        return;
    }
    all = json_read_own(text, 0);
    json_array_foreach(json_object_get(all, "sessions"), i, one)
        if (mcp_store_owns(store_of(call), MCP_SESSION, mcp_text(one, "id")))
            json_array_append_new(own,
                                  json_pack("{s:s, s:s?, s:s?, s:I}", "session_id",
                                            mcp_text(one, "id"), "language", mcp_text(one, "lang"),
                                            "state", mcp_text(one, "state"), "cells",
                                            json_integer_value(json_object_get(one, "cells"))));
    json_decref(all);
    mcp_call_return(call, json_pack("{s:o}", "sessions", own));
}

void mcp_close_session(struct mcp_call *call)
{
    const char *id = mcp_session_id(call), *changes;
    scoped_free char *text = NULL;
    json_t *answer, *structured;
    sbr_error err = { 0 };

    if (!id)
        return;
    if (sbr_session_finish(id, &text, &err) < 0) {
        mcp_call_fail_by(call, &err);
        return;
    }
    mcp_store_disown(store_of(call), MCP_SESSION, id);
    note_ended(call->peer->server, id);
    answer = json_read_own(text, 0);
    changes = mcp_text(answer, "changes_id");
    structured = json_pack("{s:b}", "closed", 1);
    if (changes && mcp_changes_keep(call->peer->server, changes))
        json_object_set_new(structured, "changes_id", json_string(changes));
    json_decref(answer);
    mcp_call_return(call, structured);
}

void mcp_rollback_session(struct mcp_call *call)
{
    const char *id = mcp_session_id(call);
    json_t *request, *answer;

    if (!id)
        return;
    request =
        json_pack("{s:s, s:O}", "op", "rollback", "cell", json_object_get(call->arguments, "cell"));
    answer = mcp_session_ask(call, id, request);
    json_decref(request);
    json_decref(answer);
    if (answer)
        mcp_call_return(call, json_pack("{s:b}", "rolled_back", 1));
}

void mcp_session_close_all(struct mcp_server *server)
{
    const struct mcp_store *store = &server->store;
    sbr_error ignored;

    for (unsigned int i = 0; i < store->owned[MCP_SESSION].n; i++) {
        (void)sbr_session_close(store->owned[MCP_SESSION].ids[i], &ignored);
        note_ended(server, store->owned[MCP_SESSION].ids[i]);
    }
}
