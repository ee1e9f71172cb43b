/* Files and output of runs as resources. */
#include <stdlib.h>
#include <string.h>

#include "base/encoding.h"
#include "base/text.h"
#include "mcp/mcp_files.h"
#include "mcp/mcp_internal.h"

#define RESOURCE_MAX ((size_t)6 << 20) /* clients read 10 MiB of a message */

static void add(json_t *list, const char *run, const char *path, const char *mime)
{
    scoped_free char *uri = NULL;
    char shown[1100];

    text_copy_visibly(shown, sizeof(shown), path, strlen(path));
    uri = mcp_uri_make(run, shown);
    if (uri)
        json_array_append_new(list, json_pack("{s:s, s:s, s:s}", "uri", uri, "name", shown,
                                              "mimeType", mime ? mime : "text/plain"));
}

json_t *mcp_resources_list(struct mcp_server *server)
{
    json_t *runs = mcp_store_list(&server->store), *run, *file, *list = json_array();
    size_t i, k;

    json_array_foreach(runs, i, run) {
        const char *id = mcp_text(run, "id");

        add(list, id, "stdout", NULL);
        add(list, id, "stderr", NULL);
        json_array_foreach(json_object_get(run, "files"), k, file) {
            const char *path = mcp_text(file, "path");

            if (mcp_text(file, "saved"))
                add(list, id, path + (strncmp(path, "/work/", 6) ? 0 : 6), mcp_text(file, "mime"));
        }
    }
    json_decref(runs);
    mcp_examples_list(server, "resources", list);
    return json_pack("{s:o}", "resources", list);
}

json_t *mcp_resources_templates(const struct mcp_server *server)
{
    json_t *list =
        json_pack("[{s:s, s:s, s:s}]", "uriTemplate", "sandbox-run://runs/{run_id}/{+path}", "name",
                  "What a run left", "description",
                  "A file of /work, or stdout, or stderr, of a run by run_id");

    mcp_examples_list(server, "templates", list);
    return json_pack("{s:o}", "resourceTemplates", list);
}

json_t *mcp_resources_complete(struct mcp_server *server, const char *begin)
{
    json_t *runs = mcp_store_list(&server->store), *run, *values = json_array();
    size_t i;

    json_array_foreach(runs, i, run)
        if (!strncmp(mcp_text(run, "id"), begin, strlen(begin)))
            json_array_append(values, json_object_get(run, "id"));
    json_decref(runs);
    return values;
}

static json_t *content_of(const char *uri, const struct buf *data)
{
    /* Bytes stay what they are; only what a person would see as well is a text for the model. */
    bool text = mcp_shape_is_visible(data->data, data->len);
    const char *image = mcp_image_type(data->data, data->len);
    scoped_free char *base64 = text ? NULL : encoding_to_base64(data->data, data->len);

    if (text)
        return json_pack("{s:[{s:s, s:s, s:s%}]}", "contents", "uri", uri, "mimeType", "text/plain",
                         "text", data->data, data->len);
    return json_pack("{s:[{s:s, s:s, s:s}]}", "contents", "uri", uri, "mimeType",
                     image ? image : "application/octet-stream", "blob", base64 ? base64 : "");
}

json_t *mcp_resources_read(struct mcp_server *server, const char *uri, sbr_error *err)
{
    scoped_free char *run = NULL, *path = NULL;
    json_t *result = mcp_uri_read(uri, &run, &path) ? mcp_store_find(&server->store, run) : NULL;
    json_t *contents = mcp_examples_resource(server, uri);
    struct buf data;
    int r;

    if (contents)
        return contents;
    buf_init(&data, RESOURCE_MAX);
    r = result ? mcp_files_of_run(result, path, &data, err)
               : err_set(err, SBR_E_NOT_FOUND, "mcp", "there is no such resource");
    json_decref(result);
    if (r == 0) {
        (void)buf_add(&data, "", 0);
        contents = content_of(uri, &data);
    }
    buf_done(&data);
    return contents;
}
