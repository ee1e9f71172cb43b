/* search_files: grep in a sandbox, over the project or over copies of a session's files. */
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "mcp/mcp_files.h"
#include "mcp/mcp_internal.h"

#define FILE_MAX ((size_t)4 << 20)
#define FILES_MAX 1000
#define OUT_MAX ((size_t)16 << 20)
#define MATCHES_MAX 500
#define LINE_SHOWN 400
#define CHARS 16000

static bool bring_files(struct mcp_call *call, sbr_request *req, const char *id)
{
    json_t *request = json_pack("{s:s}", "op", "files");
    json_t *answer = mcp_session_ask(call, id, request), *file;
    bool ok = answer != NULL;
    size_t i, n = 0;

    json_array_foreach(json_object_get(answer, "files"), i, file) {
        const char *path = mcp_text(file, "path");
        struct buf data;

        if (!ok || n == FILES_MAX || !json_is_true(json_object_get(file, "regular")) ||
            json_integer_value(json_object_get(file, "size")) > (json_int_t)FILE_MAX)
            continue;
        buf_init(&data, FILE_MAX + 1);
        n++;
        ok = mcp_files_of_session(call, id, path, &data) &&
             sbr_request_add_file(req, path, data.len ? data.data : "", data.len) == 0;
        buf_done(&data);
    }
    json_decref(request);
    json_decref(answer);
    if (!ok && !call->is_error)
        mcp_call_fail_by(call, sbr_request_error(req));
    return ok;
}

/* A request that has the files in /work; NULL: the call has failed. */
static sbr_request *make(struct mcp_call *call)
{
    bool session = json_object_get(call->arguments, "session_id") != NULL;
    const char *id = session ? mcp_session_id(call) : NULL;
    sbr_request *req = session && !id ? NULL : mcp_request_plain(call);

    if (!req)
        return NULL;
    if (session) {
        free(req->project);
        req->project = NULL;
        if (bring_files(call, req, id))
            return req;
    } else if (req->project || req->workspace) {
        return req;
    } else {
        mcp_call_fail(call, "invalid: there is no project; give session_id");
    }
    sbr_request_free(req);
    return NULL;
}

/* A line of grep: PATH, a NUL, NUMBER:TEXT.  False: it is none. */
static bool add_match(json_t *matches, const char *line, size_t len)
{
    const char *end = line + len, *nul = memchr(line, '\0', len);
    const char *colon = nul ? memchr(nul, ':', (size_t)(end - nul)) : NULL;
    char path[1100], text[LINE_SHOWN];

    if (!colon)
        return false;
    line += strncmp(line, "./", 2) ? 0 : 2;
    text_copy_visibly(path, sizeof(path), line, (size_t)(nul - line));
    text_copy_visibly(text, sizeof(text), colon + 1, (size_t)(end - colon - 1));
    json_array_append_new(matches, json_pack("{s:s, s:I, s:s}", "path", path, "line",
                                             (json_int_t)strtoll(nul + 1, NULL, 10), "text", text));
    return true;
}

static void report(struct mcp_call *call, const struct buf *out)
{
    json_t *matches = json_array(), *max = json_object_get(call->arguments, "max_chars");
    size_t room = max ? (size_t)json_integer_value(max) : CHARS, n = 0;

    for (size_t at = 0; at < out->len;) {
        const char *line = out->data + at, *end = memchr(line, '\n', out->len - at);
        size_t len = end ? (size_t)(end - line) : out->len - at;

        n++;
        if (room && json_array_size(matches) < MATCHES_MAX && add_match(matches, line, len))
            room -= len < room ? len : room;
        at += len + 1;
    }
    mcp_call_return(call, json_pack("{s:o, s:I}", "matches", matches, "total", (json_int_t)n));
}

void mcp_search_files(struct mcp_call *call)
{
    const char *path = mcp_text(call->arguments, "path");
    bool fixed = json_is_true(json_object_get(call->arguments, "literal"));
    const char *const argv[] = { "grep",
                                 "-rnIZ",
                                 "--exclude-dir=.git",
                                 fixed ? "-F" : "-E",
                                 "-e",
                                 mcp_text(call->arguments, "pattern"),
                                 "--",
                                 path ? path : ".",
                                 NULL };
    sbr_request *req = make(call);
    json_t *result = NULL;
    struct buf out;

    if (!req)
        return;
    if (sbr_request_set_argv(req, argv) < 0)
        mcp_call_fail_by(call, sbr_request_error(req));
    else
        result = mcp_run_request(call, take_ptr(req));
    sbr_request_free(req);
    if (!result)
        return;
    buf_init(&out, OUT_MAX);
    mcp_report_stream(result, "stdout", &out);
    if (json_integer_value(json_object_get(result, "exit_code")) > 1 && !out.len)
        mcp_call_fail(call, "invalid: %.300s", mcp_text(result, "stderr"));
    else if (strcmp(mcp_text(result, "outcome"), "exited") != 0)
        mcp_call_fail(call, "%s: %s", mcp_text(result, "outcome"), mcp_text(result, "explanation"));
    else
        report(call, &out);
    buf_done(&out);
    json_decref(result);
}
