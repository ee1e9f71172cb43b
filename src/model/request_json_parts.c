#include "model/request_json_parts.h"

#include <string.h>

#include "base/encoding.h"
#include "base/scope.h"
#include "model/request_files.h"

int request_json_parts_wrong(const char *field, const char *wanted, sbr_error *err)
{
    return err_set(err, SBR_E_INVALID, "request", "the field '%.60s' must be %s", field, wanted);
}

const char *request_json_parts_text(const json_t *value)
{
    const char *text = json_string_value(value);

    return text && strlen(text) == json_string_length(value) ? text : NULL;
}

#define FILES_SHAPE "an array of {path, content, encoding, executable}"

/* Refuses unknown fields.  Only `content` may contain NUL. */
static int check_file_fields(const json_t *item, sbr_error *err)
{
    const char *key;
    json_t *value;

    json_object_foreach((json_t *)item, key, value) {
        bool right;

        if (!strcmp(key, "content"))
            right = json_is_string(value);
        else if (!strcmp(key, "executable"))
            right = json_is_boolean(value);
        else if (!strcmp(key, "path") || !strcmp(key, "encoding"))
            right = request_json_parts_text(value) != NULL;
        else
            return err_set(err, SBR_E_INVALID, "request",
                           "a file of the request has an unknown field '%.60s'", key);
        if (!right)
            return request_json_parts_wrong("files", FILES_SHAPE, err);
    }
    return 0;
}

static int add_json_file(sbr_request *req, const json_t *item, sbr_error *err)
{
    const char *path = request_json_parts_text(json_object_get(item, "path"));
    const json_t *content = json_object_get(item, "content");
    const char *encoding = request_json_parts_text(json_object_get(item, "encoding"));
    scoped_free char *decoded = NULL;
    size_t len = 0;

    if (check_file_fields(item, err) < 0)
        return err->code;
    if (!path || !content)
        return request_json_parts_wrong("files", FILES_SHAPE, err);
    if (!encoding || !strcmp(encoding, "utf-8"))
        return request_files_add(req, path, json_string_value(content), json_string_length(content),
                                 err);
    if (strcmp(encoding, "base64") != 0)
        return err_set(err, SBR_E_INVALID, "request",
                       "the file '%.100s' has the encoding '%.20s'; use utf-8 or base64", path,
                       encoding);
    if (!request_json_parts_text(content) ||
        encoding_from_base64(request_json_parts_text(content), &decoded, &len) < 0)
        return err_set(err, SBR_E_INVALID, "request", "the content of '%.100s' is not base64",
                       path);
    return request_files_add(req, path, decoded, len, err);
}

int request_json_parts_files(sbr_request *req, const json_t *value, sbr_error *err)
{
    const json_t *item;
    size_t i;

    if (!json_is_array(value))
        return request_json_parts_wrong("files", FILES_SHAPE, err);
    json_array_foreach(value, i, item) {
        if (add_json_file(req, item, err) < 0)
            return err->code;
        req->files[req->n_files - 1].executable = json_is_true(json_object_get(item, "executable"));
    }
    return request_files_check(req, err);
}
