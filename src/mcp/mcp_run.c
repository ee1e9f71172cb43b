/* run_code, run_command: one job each. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/json_read.h"
#include "base/text.h"
#include "mcp/mcp_internal.h"

#define EVERYTHING "**"

static void on_output(void *context, int stream, const char *data, size_t len)
{
    (void)stream;
    mcp_call_show_output(context, data, len);
}

static void on_event(void *context, const sbr_event *event)
{
    struct mcp_call *call = context;

    if (event->type == SBR_EVENT_STAGE) {
        mcp_call_progress(call, event->stage ? event->stage : "", true);
        mcp_call_log(call, MCP_LOG_INFO, json_pack("{s:s?}", "stage", event->stage));
    } else if (event->type == SBR_EVENT_DENIAL) {
        mcp_call_log(call, MCP_LOG_WARNING,
                     json_pack("{s:s?, s:s?, s:s?, s:s?}", "kind", event->kind, "target",
                               event->target, "rule", event->rule, "remedy", event->remedy));
    }
}

void mcp_run_done(struct mcp_spent *spent)
{
    sbr_job_free(spent->job);
    sbr_request_free(spent->req); /* which the job still looks at */
    *spent = (struct mcp_spent){ NULL, NULL };
}

json_t *mcp_run_request(struct mcp_call *call, sbr_request *req)
{
    sbr_error err = { 0 };
    sbr_runtime *rt = mcp_server_runtime(call->peer->server, &err);
    scoped_free char *text = NULL;
    sbr_result *result = NULL;
    sbr_job *job = NULL;
    json_t *json;
    int r = rt ? sbr_job_start(rt, req, &job, &err) : err.code;

    if (r == 0) {
        (void)sbr_job_on_output(job, on_output, call);
        (void)sbr_job_on_event(job, on_event, call);
        r = mcp_call_watch_job(call, job) ? sbr_job_finish(job, &result, &err)
                                          : err_set(&err, SBR_E_BUSY, "mcp", "cancelled");
        (void)mcp_call_watch_job(call, NULL);
    }
    mcp_run_done(&call->spent);
    call->spent = (struct mcp_spent){ job, req };
    if (r < 0) {
        mcp_call_fail_by(call, &err);
        return NULL;
    }
    text = sbr_result_to_json(result);
    sbr_result_free(result);
    json = json_read_own(text, JSON_ALLOW_NUL);
    if (!json)
        mcp_call_fail(call, "bug: the result cannot be read");
    return json;
}

/* Files that the program leaves in /work come back; of a project, its changes do. */
static char *want_files(struct mcp_call *call, sbr_request *req)
{
    char *dir;
    scoped_free char *rule = NULL;

    if (req->project || req->workspace) {
        req->keep = req->diff = req->project != NULL;
        return NULL;
    }
    dir = mcp_store_make_dir(&call->peer->server->store);
    rule = dir ? text_format(EVERYTHING ":%s", dir) : NULL;
    if (rule)
        (void)sbr_request_add_output(req, rule);
    return dir;
}

/* The rule itself is an entry when it matched nothing. */
static void drop_rules(json_t *files)
{
    for (size_t i = json_array_size(files); i-- > 0;) {
        const char *path = mcp_text(json_array_get(files, i), "path");

        if (!strcmp(path, EVERYTHING) || !strcmp(path, "/work/" EVERYTHING))
            json_array_remove(files, i);
    }
}

/* Takes the request over, which is whole, or `r` is negative. */
static void run_and_report(struct mcp_call *call, sbr_request *req, int r)
{
    struct mcp_store *store = &call->peer->server->store;
    const char *changes;
    json_t *result;
    char *dir;

    if (r < 0) {
        mcp_call_fail_by(call, sbr_request_error(req));
        sbr_request_free(req);
        return;
    }
    dir = want_files(call, req);
    result = mcp_run_request(call, req);
    changes = mcp_text(result, "changes_id");
    drop_rules(json_object_get(result, "files"));
    if (!json_array_size(json_object_get(result, "files")) && dir) {
        mcp_store_return_dir(store, dir);
        dir = NULL;
    }
    if (result) {
        mcp_store_add(store, result, dir);
        if (changes)
            (void)mcp_changes_keep(call->peer->server, changes);
        mcp_report(call, result);
    }
    json_decref(result);
}

void mcp_run_code(struct mcp_call *call)
{
    sbr_request *req = mcp_request_make(call, mcp_text(call->arguments, "language"));

    if (req)
        run_and_report(call, req, 0);
}

void mcp_run_command(struct mcp_call *call)
{
    const char *const argv[] = { "sh", "-c", mcp_text(call->arguments, "command"), NULL };
    sbr_request *req = mcp_request_make(call, mcp_text(call->arguments, "language"));

    if (!req)
        return;
    req->command = req->language != NULL;
    run_and_report(call, req, sbr_request_set_argv(req, argv));
}
