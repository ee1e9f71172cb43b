/* go-judge: /run, and the files that one run leaves for the next. */
#include "dialect/gojudge.h"

#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>

#include "dialect/dialects.h"
#include "dialect/multipart.h"
#include "http/dialect.h"
#include "http/server.h"
#include "model/result.h"

/* Errors are bare strings. */
static void refuse(struct exchange *x, const struct problem *problem)
{
    translate_reply(x, problem->status, json_string(problem->detail));
}

static void list_files(struct exchange *x)
{
    translate_reply(x, HTTP_OK, gojudge_store_list(x->server, &x->tenant));
}

static void add_file(struct exchange *x)
{
    const char *type = exchange_header(x, HTTP_HEADER_CONTENT_TYPE);
    const struct gojudge_file *kept;
    struct multipart_part part;
    char *data;

    if (multipart_read(type, x->body.data, x->body.len, &part, 1) != 1 ||
        strcmp(part.name, "file") != 0) {
        translate_reply(x, HTTP_BAD_REQUEST,
                        json_string("the body is no form with one part `file`"));
        return;
    }
    data = malloc(part.len + 1);
    if (data)
        memcpy(data, part.data, part.len);
    kept = gojudge_store_add(x->server, &x->tenant, part.file_name,
                             response_text_of_bytes(data, part.len));
    if (kept)
        translate_reply(x, HTTP_OK, json_string(kept->id));
    else
        translate_reply(x, HTTP_INSUFFICIENT_STORAGE,
                        json_string("the store of files is full; DELETE /file/ID makes room"));
}

static struct gojudge_file *find(struct exchange *x)
{
    struct gojudge_file *file = gojudge_store_find(x->server, &x->tenant, x->words[0]);

    if (!file)
        translate_reply(x, HTTP_NOT_FOUND, json_string("there is no file of this id"));
    return file;
}

static void get_file(struct exchange *x)
{
    const struct gojudge_file *file = find(x);

    if (file)
        exchange_reply_texts(x, HTTP_OK, BYTES_TYPE, &file->content, 1);
}

static void delete_file(struct exchange *x)
{
    struct gojudge_file *file = find(x);

    if (!file)
        return;
    gojudge_store_remove(file);
    exchange_reply(x, HTTP_OK, BYTES_TYPE, strdup(""));
}

/* Our own fields, too, because this path is ours without the dialect. */
static void version(struct exchange *x)
{
    struct utsname machine;

    translate_reply(x, HTTP_OK,
                    json_pack("{s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:b, s:b}", "name",
                              "sandbox-run", "version", result_version(), "api", "v1",
                              "buildVersion", result_version(), "goVersion", "", "platform",
                              uname(&machine) == 0 ? machine.machine : "", "os", "linux",
                              "copyOutOptional", 1, "pipeProxy", 0));
}

static void config(struct exchange *x)
{
    translate_reply(x, HTTP_OK,
                    json_pack("{s:b, s:b, s:b, s:b, s:b, s:b}", "copyOutOptional", 1, "pipeProxy",
                              0, "symlink", 0, "addressSpaceLimit", 0, "stream", 0, "procPeak", 1));
}

static void not_here(struct exchange *x)
{
    translate_reply(x, HTTP_NOT_IMPLEMENTED,
                    json_string("this is not available here; use POST /run"));
}

/* clang-format off */
static const struct route routes[] = {
    { "POST", "/run", gojudge_run, SCOPE_RUN, ROUTE_JSON | ROUTE_STARTS, 200, "gojudge_run",
      "go-judge: runs commands.", NULL, NULL, NULL },
    { "GET", "/file", list_files, SCOPE_RUN, ROUTE_LOOKS, 200, "gojudge_list_files",
      "go-judge: files of this tenant.", NULL, NULL, NULL },
    { "POST", "/file", add_file, SCOPE_RUN, ROUTE_BYTES | ROUTE_COUNTED, 200, "gojudge_add_file",
      "go-judge: keeps a file.", NULL, NULL, NULL },
    { "GET", "/file/{id}", get_file, SCOPE_RUN, ROUTE_LOOKS, 200, "gojudge_get_file",
      "go-judge: one file.", NULL, NULL, BYTES_TYPE },
    { "DELETE", "/file/{id}", delete_file, SCOPE_RUN, ROUTE_COUNTED, 200, "gojudge_delete_file",
      "go-judge: forgets a file.", NULL, NULL, NULL },
    { "GET", "/version", version, SCOPE_NONE, ROUTE_LOOKS, 200, "gojudge_version",
      "go-judge: the version.", NULL, NULL, NULL },
    { "GET", "/config", config, SCOPE_NONE, ROUTE_LOOKS, 200, "gojudge_config",
      "go-judge: what is there.", NULL, NULL, NULL },
    { "GET", "/ws", not_here, SCOPE_RUN, ROUTE_LOOKS, 501, "gojudge_socket", "go-judge: refused.",
      NULL, NULL, NULL },
    { "GET", "/stream", not_here, SCOPE_RUN, ROUTE_LOOKS, 501, "gojudge_stream",
      "go-judge: refused.", NULL, NULL, NULL },
    { 0 },
};
/* clang-format on */

const struct dialect dialect_gojudge = {
    .name = "go-judge",
    .routes = routes,
    .token_headers = (const char *const[]){ NULL },
    .refuse = refuse,
    .close = gojudge_store_close,
};
