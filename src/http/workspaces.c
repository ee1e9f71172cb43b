/* Routes of /v1/workspaces.  Files are read and written by a command in a sandbox that has the
 * workspace, with its quota: the gateway opens nothing that a program could have changed. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "admit/admit.h"
#include "base/jsonw.h"
#include "base/text.h"
#include "http/handlers.h"
#include "http/holdings.h"
#include "http/offload.h"
#include "http/problem.h"
#include "http/server.h"
#include "http/submission.h"
#include "model/request.h"
#include "workspace/workspace.h"

#define FILE_BYTES (64 * MIB)

/* Words of a command without a NULL among them; the path is the last. */
struct work {
    const char *words[5];
    const char *missing; /* what a failure of the command means */
    bool makes;          /* the workspace, when there is none */
};

static const struct work reads = { { "cat", "--" },
                                   "there is no such file in the workspace",
                                   false };
static const struct work lists = { { "find", ".", "-mindepth", "1", "-printf" },
                                   "the workspace cannot be listed",
                                   false };
static const struct work removes = { { "rm", "--" },
                                     "there is no such file in the workspace",
                                     false };
static const struct work writes = { { "sh", "-c", WORKSPACE_TO_WRITE, "sh" },
                                    "the file cannot be written",
                                    true };

static int run_command(struct offload *o, sbr_error *err)
{
    const struct work *work = o->extra;
    sbr_result *result = NULL;
    const sbr_report *report;
    int r = work->makes ? 0 : workspace_check(o->req->workspace, err); /* does not make it */

    if (r == 0)
        r = sbr_run(o->server->rt, o->req, &result, err);
    if (r < 0)
        return r;
    report = sbr_result_report(result);
    if (report->verdict != SBR_EXITED || report->exit_code != 0)
        r = err_set(err, report->verdict == SBR_EXITED ? SBR_E_NOT_FOUND : SBR_E_DENIED,
                    "workspace", "%s: %.300s", work->missing, report->errout ? report->errout : "");
    else if (report->out_tail)
        r = err_set(err, SBR_E_UNSUPPORTED, "workspace",
                    "the file is larger than what the token allows, or than 64 MiB");
    if (r == 0) {
        o->len = report->out_len;
        o->exact = true;
        o->body = malloc(o->len + 1);
        if (o->body && o->len)
            memcpy(o->body, report->out, o->len);
    }
    sbr_result_free(result);
    return r;
}

/* Name, size and kind of each file, with NUL between: a name may have any other byte. */
static int list_files(struct offload *o, sbr_error *err)
{
    struct jsonw j;
    int r = run_command(o, err);
    const char *at = o->body, *end = o->body + o->len;

    if (r < 0)
        return r;
    jsonw_init(&j, false);
    jsonw_open(&j, NULL, '{');
    jsonw_open(&j, "files", '[');
    while (at && at + 2 < end) {
        const char *size = at + 2, *path = strchr(size, ' ');

        jsonw_open(&j, NULL, '{');
        jsonw_text(&j, "type", *at == 'd' ? "directory" : *at == 'f' ? "file" : "other");
        jsonw_number(&j, "size", strtoull(size, NULL, 10));
        jsonw_path(&j, "path", path ? path + 1 : "");
        jsonw_close(&j, '}');
        at += strlen(at) + 1;
    }
    jsonw_close(&j, ']');
    jsonw_close(&j, '}');
    free(o->body);
    o->body = jsonw_take(&j);
    o->exact = false;
    o->len = 0;
    return 0;
}

/* A command of ours in the workspace: whatever languages the token allows, files can be read. */
static int add_command(sbr_request *req, const struct work *work, const char *last, uint64_t most,
                       sbr_error *err)
{
    for (size_t i = 0; i < ARRAY_LEN(work->words) && work->words[i]; i++)
        if (request_add_arg(req, work->words[i], err) < 0)
            return err->code;
    free(take_ptr(req->only_languages));
    if (request_add_arg(req, last, err) < 0)
        return err->code;
    return limits_set(&req->limits, SBR_OUTPUT_BYTES, most < FILE_BYTES ? most : FILE_BYTES, err);
}

static sbr_request *make_request(struct exchange *x, const struct work *work, const char *last,
                                 struct refusal *fault)
{
    uint64_t most = grant_most(&x->tenant, SBR_OUTPUT_BYTES);
    sbr_request *req = NULL;

    if (submission_base(x->server, &x->tenant, x->words[0], &req, fault) < 0)
        return NULL;
    if (add_command(req, work, last, most, &fault->err) == 0 &&
        (!work->makes || admit_workspace(&x->server->holdings.ledger, &x->tenant, req, fault) == 0))
        return req;
    sbr_request_free(req);
    return NULL;
}

/* False: replied. */
static bool prepare(struct exchange *x, const struct work *work, const char *last,
                    struct offload *o)
{
    struct refusal fault = { 0 };

    o->req = make_request(x, work, last, &fault);
    o->extra = (void *)work;
    if (o->req && x->body.len && sbr_request_set_stdin(o->req, x->body.data, x->body.len) < 0) {
        fault.err = *sbr_request_error(o->req);
        sbr_request_free(take_ptr(o->req));
    }
    if (!o->req)
        holdings_refuse(x, &fault);
    return o->req != NULL;
}

/* The command has a sandbox, and is a run as any other. */
static void start(struct exchange *x, const struct work *work, const char *last, struct offload *o)
{
    struct need need;

    if (!prepare(x, work, last, o))
        return;
    need = need_of_run(o->req);
    o->held = holdings_take(x, &need);
    if (o->held)
        offload_start(x, o);
    else
        sbr_request_free(o->req);
}

/* The path below /work; false: replied. */
static bool check_path(struct exchange *x)
{
    if (text_is_safe_relative_path(x->words[1], REQUEST_MAX_PATH))
        return true;
    problem_reply(x, &(struct problem){ .status = HTTP_UNPROCESSABLE_CONTENT,
                                        .detail = "the path is not one below the workspace",
                                        .remedy = "leave out '..' and empty parts" });
    return false;
}

void workspaces_get_file(struct exchange *x)
{
    if (check_path(x))
        start(x, &reads, x->words[1], &(struct offload){ .work = run_command, .type = BYTES_TYPE });
}

void workspaces_put_file(struct exchange *x)
{
    if (check_path(x))
        start(x, &writes, x->words[1], &(struct offload){ .work = run_command });
}

void workspaces_delete_file(struct exchange *x)
{
    if (check_path(x))
        start(x, &removes, x->words[1], &(struct offload){ .work = run_command });
}

void workspaces_files(struct exchange *x)
{
    start(x, &lists, "%y %s %P\\0", &(struct offload){ .work = list_files });
}

struct workspace_rows {
    struct jsonw *j;
    const struct grant *tenant;
};

static int add_workspace(void *context, const struct workspace_info *info)
{
    const struct workspace_rows *rows = context;
    size_t len = strlen(rows->tenant->name);
    const char *name = info->name;

    if (!rows->tenant->local) {
        if (strncmp(name, rows->tenant->name, len) != 0 || name[len] != '.')
            return 0;
        name += len + 1;
    }
    jsonw_open(rows->j, NULL, '{');
    jsonw_text(rows->j, "name", name);
    jsonw_number(rows->j, "used_bytes", info->used_bytes);
    jsonw_number(rows->j, "quota_bytes", info->quota_bytes);
    jsonw_bool(rows->j, "busy", info->busy);
    jsonw_close(rows->j, '}');
    return 0;
}

static int list_workspaces(struct offload *o, sbr_error *err)
{
    struct jsonw j;
    struct workspace_rows rows = { &j, &o->tenant };
    int r;

    jsonw_init(&j, false);
    jsonw_open(&j, NULL, '{');
    jsonw_open(&j, "workspaces", '[');
    r = workspace_list(add_workspace, &rows, err);
    jsonw_close(&j, ']');
    jsonw_close(&j, '}');
    o->body = jsonw_take(&j);
    return r;
}

void workspaces_list(struct exchange *x)
{
    offload_start(x, &(struct offload){ .work = list_workspaces });
}

static int remove_workspace(struct offload *o, sbr_error *err)
{
    return workspace_remove(o->req->workspace, err);
}

void workspaces_remove(struct exchange *x)
{
    struct offload o = { .work = remove_workspace };

    if (prepare(x, &lists, "", &o))
        offload_start(x, &o);
}
