/* run_code, run_command: one job each. */
#include <stdlib.h>
#include <string.h>

#include "base/scope.h"
#include "base/text.h"
#include "mcp/mcp_internal.h"
#include "mcp/mcp_shape.h"

/* The newest line of output is the message of the progress. */
static void on_output(void *context, int stream, const char *data, size_t len)
{
    struct mcp_call *call = context;
    const char *end = memrchr(data, '\n', len), *begin;

    (void)stream;
    if (!end || !len)
        return;
    begin = memrchr(data, '\n', (size_t)(end - data));
    begin = begin ? begin + 1 : data;
    text_copy_visibly(call->line, sizeof(call->line), begin, (size_t)(end - begin));
    mcp_call_progress(call, call->line, false);
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

/* The JSON of the result; NULL: the call has failed. */
static json_t *run(struct mcp_call *call, const sbr_request *req)
{
    sbr_error err = { 0 };
    sbr_runtime *rt = mcp_server_runtime(call->peer->server, &err);
    scoped_free char *text = NULL;
    sbr_result *result = NULL;
    sbr_job *job = NULL;
    int r = rt ? sbr_job_start(rt, req, &job, &err) : err.code;

    if (r == 0) {
        (void)sbr_job_on_output(job, on_output, call);
        (void)sbr_job_on_event(job, on_event, call);
        r = mcp_call_watch_job(call, job) ? sbr_job_finish(job, &result, &err)
                                          : err_set(&err, SBR_E_BUSY, "mcp", "cancelled");
        (void)mcp_call_watch_job(call, NULL);
        sbr_job_free(job);
    }
    if (r < 0) {
        mcp_call_fail_by(call, &err);
        return NULL;
    }
    text = sbr_result_to_json(result);
    sbr_result_free(result);
    return text ? json_loads(text, 0, NULL) : NULL;
}

static void run_and_report(struct mcp_call *call, sbr_request *req)
{
    json_t *result = run(call, req);

    if (result)
        mcp_report(call, result);
    json_decref(result);
}

void mcp_run_code(struct mcp_call *call)
{
    const json_t *code = json_object_get(call->arguments, "code");
    sbr_request *req = mcp_request_make(call, mcp_text(call->arguments, "language"));
    json_t *arg;
    size_t i;
    int r;

    if (!req)
        return;
    r = sbr_request_set_code(req, json_string_value(code), json_string_length(code));
    json_array_foreach(json_object_get(call->arguments, "args"), i, arg) {
        const char *const one[] = { json_string_value(arg), NULL };

        if (r == 0)
            r = sbr_request_set_argv(req, one);
    }
    if (r < 0)
        mcp_call_fail_by(call, sbr_request_error(req));
    else
        run_and_report(call, req);
    sbr_request_free(req);
}

void mcp_run_command(struct mcp_call *call)
{
    const char *const argv[] = { "sh", "-c", mcp_text(call->arguments, "command"), NULL };
    sbr_request *req = mcp_request_make(call, mcp_text(call->arguments, "language"));

    if (!req)
        return;
    req->command = req->language != NULL;
    if (sbr_request_set_argv(req, argv) < 0)
        mcp_call_fail_by(call, sbr_request_error(req));
    else
        run_and_report(call, req);
    sbr_request_free(req);
}
