/* Tools for files: of a run that has ended, of a session, or of the project.  The project is read
 * by programs in a sandbox, so that no name in it leads elsewhere. */
#include "mcp/mcp_files.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "base/encoding.h"
#include "base/fd.h"
#include "base/text.h"
#include "mcp/mcp_internal.h"

#define FILE_MAX ((size_t)64 << 20)
#define CHARS 16000

/* Names come to a client in their visible form, and come back in it. */
static bool is_named(const char *path, const char *name)
{
    char shown[1100];

    text_copy_visibly(shown, sizeof(shown), path, strlen(path));
    if (!strncmp(shown, "/work/", 6) && name[0] != '/')
        return !strcmp(shown + 6, name);
    return !strcmp(shown, name);
}

static int read_saved(const json_t *result, const char *name, struct buf *out, sbr_error *err)
{
    json_t *file;
    size_t i;

    json_array_foreach(json_object_get(result, "files"), i, file) {
        const char *saved = mcp_text(file, "saved");
        scoped_free char *data = NULL;
        scoped_fd int fd = -1;
        size_t len;

        if (!saved || !is_named(mcp_text(file, "path"), name))
            continue;
        fd = open(saved, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
        if (fd < 0)
            return err_set_errno(err, "mcp", "the file is not kept any more");
        if (fd_read_text(fd, FILE_MAX, &data, &len, err) < 0)
            return err->code;
        return buf_add(out, data, len) < 0 ? err_set_oom(err, "mcp") : 0;
    }
    return err_set(err, SBR_E_NOT_FOUND, "mcp", "the run left no such file");
}

int mcp_files_of_run(const json_t *result, const char *name, struct buf *out, sbr_error *err)
{
    if (!strcmp(name, "stdout") || !strcmp(name, "stderr")) {
        mcp_report_stream(result, name, out);
        return out->failed ? err_set_oom(err, "mcp") : 0;
    }
    return read_saved(result, name, out, err);
}

static bool of_run(struct mcp_call *call, const char *id, const char *name, struct buf *out)
{
    json_t *result = mcp_store_find(&call->peer->server->store, id);
    sbr_error err = { 0 };
    int r = result ? mcp_files_of_run(result, name, out, &err)
                   : err_set(&err, SBR_E_NOT_FOUND, "mcp",
                             "there is no such run, or it is not kept any more");

    json_decref(result);
    if (r < 0)
        mcp_call_fail_by(call, &err);
    return r == 0;
}

bool mcp_files_of_session(struct mcp_call *call, const char *id, const char *name, struct buf *out)
{
    json_t *request = json_pack("{s:s, s:s}", "op", "get", "path", name);
    json_t *answer = mcp_session_ask(call, id, request);
    const char *base64 = mcp_text(answer, "data_b64");
    scoped_free char *data = NULL;
    size_t len = 0;
    bool ok = answer && base64 && encoding_from_base64(base64, &data, &len) == 0 &&
              buf_add(out, data, len) == 0;

    json_decref(request);
    json_decref(answer);
    if (answer && !ok)
        mcp_call_fail(call, "bug: the session's answer cannot be read");
    return ok;
}

/* Runs a command over the project; the output is for us.  False: the call has failed. */
static bool in_project(struct mcp_call *call, const char *const *argv, struct buf *out)
{
    sbr_request *req = mcp_request_plain(call);
    json_t *result = NULL;
    const char *said;

    if (!req)
        return false;
    if (!req->project && !req->workspace)
        mcp_call_fail(call, "invalid: there is no project; give session_id or run_id");
    else if (sbr_request_set_argv(req, argv) < 0)
        mcp_call_fail_by(call, sbr_request_error(req));
    else
        result = mcp_run_request(call, take_ptr(req));
    sbr_request_free(req);
    if (!result)
        return false;
    mcp_report_stream(result, "stdout", out);
    said = mcp_text(result, "stderr");
    if (!json_is_true(json_object_get(result, "success")) && !out->len && said && said[0])
        mcp_call_fail(call, "not_found: %.300s", said);
    json_decref(result);
    return !call->is_error;
}

static bool read_named(struct mcp_call *call, const char *name, struct buf *out)
{
    const char *run = mcp_text(call->arguments, "run_id"), *id;
    const char *const argv[] = { "cat", "--", name, NULL };

    if (run)
        return of_run(call, run, name, out);
    if (!json_object_get(call->arguments, "session_id"))
        return in_project(call, argv, out);
    id = mcp_session_id(call);
    return id && mcp_files_of_session(call, id, name, out);
}

static size_t argument(const struct mcp_call *call, const char *name, size_t otherwise)
{
    json_t *value = json_object_get(call->arguments, name);

    return value ? (size_t)json_integer_value(value) : otherwise;
}

/* A part of the file as text; what is no text is base64. */
static void return_part(struct mcp_call *call, const char *name, const struct buf *file)
{
    size_t max = argument(call, "max_chars", CHARS), from = argument(call, "offset", 0), len;
    bool text = text_is_utf8(file->data, file->len) && !memchr(file->data, '\0', file->len);
    scoped_free char *shown = NULL;
    json_t *structured;
    struct buf out;

    from = from < file->len ? from : file->len;
    while (text && from < file->len && ((unsigned char)file->data[from] & 0xc0) == 0x80)
        from++;
    len = file->len - from < max ? file->len - from : max;
    while (text && from + len < file->len && len &&
           ((unsigned char)file->data[from + len] & 0xc0) == 0x80)
        len--;
    buf_init(&out, 4 * FILE_MAX);
    if (text)
        (void)mcp_shape_visibly(file->data + from, len, &out);
    else if ((shown = encoding_to_base64(file->data + from, len)))
        (void)buf_add_text(&out, shown);
    structured = json_pack("{s:s, s:I, s:I, s:s, s:s}", "path", name, "size", (json_int_t)file->len,
                           "offset", (json_int_t)from, "encoding", text ? "utf-8" : "base64",
                           "content", out.len ? out.data : "");
    if (from + len < file->len)
        json_object_set_new(structured, "next_offset",
                            json_integer((json_int_t)from + (json_int_t)len));
    if (out.len)
        mcp_call_say(call, out.data, out.len);
    if (from + len < file->len)
        mcp_call_note(call, "[%zu of %zu bytes; offset %zu has the next]", len, file->len,
                      from + len);
    call->structured = structured;
    buf_done(&out);
}

void mcp_read_file(struct mcp_call *call)
{
    const char *name = mcp_text(call->arguments, "path"), *image;
    struct buf file;

    buf_init(&file, FILE_MAX);
    if (read_named(call, name, &file)) {
        (void)buf_add(&file, "", 0);
        image = mcp_image_type(file.data, file.len);
        if (image && !json_object_get(call->arguments, "offset")) {
            mcp_image_show(call, image, file.data, file.len);
            call->structured = json_pack("{s:s, s:I, s:s}", "path", name, "size",
                                         (json_int_t)file.len, "mime_type", image);
        } else {
            return_part(call, name, &file);
        }
    }
    buf_done(&file);
}

void mcp_write_file(struct mcp_call *call)
{
    const char *id = mcp_session_id(call), *encoding = mcp_text(call->arguments, "encoding");
    const json_t *content = json_object_get(call->arguments, "content");
    scoped_free char *base64 = NULL;
    json_t *request, *answer;

    if (!id)
        return;
    if (!encoding || strcmp(encoding, "base64") != 0)
        base64 = encoding_to_base64(json_string_value(content), json_string_length(content));
    request =
        json_pack("{s:s, s:O, s:s}", "op", "put", "path", json_object_get(call->arguments, "path"),
                  "data_b64", base64 ? base64 : json_string_value(content));
    answer = mcp_session_ask(call, id, request);
    json_decref(request);
    json_decref(answer);
    if (answer)
        mcp_call_return(call, json_pack("{s:b, s:O}", "written", 1, "path",
                                        json_object_get(call->arguments, "path")));
}

static void add_entry(json_t *files, const char *path, size_t len, json_int_t size)
{
    char shown[1100];

    text_copy_visibly(shown, sizeof(shown), path, len);
    json_array_append_new(files, json_pack("{s:s, s:I}", "path", shown, "size", size));
}

/* `find` writes SIZE PATH and a NUL for each. */
static bool list_project(struct mcp_call *call, json_t *files)
{
    const char *dir = mcp_text(call->arguments, "path");
    const char *const argv[] = { "find", dir ? dir : ".", "-name", ".git",    "-prune",
                                 "-o",   "-type",         "f",     "-printf", "%s %p\\0",
                                 NULL };
    struct buf out;
    bool ok;

    if (dir && dir[0] == '-') {
        mcp_call_fail(call, "invalid: a path begins with no '-'; write ./%s", dir);
        return false;
    }
    buf_init(&out, FILE_MAX);
    ok = in_project(call, argv, &out);
    for (size_t at = 0; ok && at < out.len;) {
        const char *entry = out.data + at, *space = memchr(entry, ' ', out.len - at);
        size_t len = strnlen(entry, out.len - at);

        if (space && space < entry + len) {
            space += strncmp(space, " ./", 3) ? 1 : 3;
            add_entry(files, space, (size_t)(entry + len - space), strtoll(entry, NULL, 10));
        }
        at += len + 1;
    }
    buf_done(&out);
    return ok;
}

static bool list_session(struct mcp_call *call, json_t *files)
{
    const char *id = mcp_session_id(call);
    json_t *request = json_pack("{s:s}", "op", "files");
    json_t *answer = id ? mcp_session_ask(call, id, request) : NULL, *file;
    size_t i;

    json_array_foreach(json_object_get(answer, "files"), i, file) {
        const char *path = mcp_text(file, "path");

        add_entry(files, path, strlen(path), json_integer_value(json_object_get(file, "size")));
    }
    json_decref(request);
    json_decref(answer);
    return answer != NULL;
}

static bool list_run(struct mcp_call *call, json_t *files)
{
    json_t *result =
        mcp_store_find(&call->peer->server->store, mcp_text(call->arguments, "run_id"));
    json_t *file;
    size_t i;

    if (!result)
        mcp_call_fail(call, "not_found: there is no such run, or it is not kept any more");
    json_array_foreach(json_object_get(result, "files"), i, file) {
        const char *path = mcp_text(file, "path");

        path += strncmp(path, "/work/", 6) ? 0 : 6;
        add_entry(files, path, strlen(path), json_integer_value(json_object_get(file, "size")));
    }
    json_decref(result);
    return result != NULL;
}

void mcp_list_files(struct mcp_call *call)
{
    json_t *files = json_array();
    bool ok = json_object_get(call->arguments, "run_id")       ? list_run(call, files)
              : json_object_get(call->arguments, "session_id") ? list_session(call, files)
                                                               : list_project(call, files);

    if (ok)
        mcp_call_return(call, json_pack("{s:O}", "files", files));
    json_decref(files);
}
