/* The JSON form of a request.  An unknown field is an error, because a misspelt limit would
 * otherwise be silently absent. */
#include <jansson.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/encoding.h"
#include "base/json_read.h"
#include "base/text.h"
#include "model/request.h"
#include "model/request_fields.h"

static int wrong(const char *field, const char *wanted, sbr_error *err)
{
    return err_set(err, SBR_E_INVALID, "request", "the field '%.60s' must be %s", field, wanted);
}

/* The text of a string without NUL; NULL for all else. */
static const char *text_of(const json_t *value)
{
    const char *text = json_string_value(value);

    return text && strlen(text) == json_string_length(value) ? text : NULL;
}

typedef int field_reader(sbr_request *req, const struct request_field *field, const json_t *value,
                         sbr_error *err);

static int read_text(sbr_request *req, const struct request_field *field, const json_t *value,
                     sbr_error *err)
{
    return text_of(value) ? request_field_set(req, field, text_of(value), err)
                          : wrong(field->name, field->must_be, err);
}

static int read_bytes(sbr_request *req, const struct request_field *field, const json_t *value,
                      sbr_error *err)
{
    return json_is_string(value)
               ? field->set_bytes(req, json_string_value(value), json_string_length(value), err)
               : wrong(field->name, field->must_be, err);
}

static int read_list(sbr_request *req, const struct request_field *field, const json_t *value,
                     sbr_error *err)
{
    const json_t *item;
    size_t i;

    if (!json_is_array(value))
        return wrong(field->name, field->must_be, err);
    json_array_foreach(value, i, item) {
        if (read_text(req, field, item, err) < 0)
            return err->code;
    }
    return 0;
}

/* A list can be long: the message names the entry. */
static int read_hosts(sbr_request *req, const struct request_field *field, const json_t *value,
                      sbr_error *err)
{
    sbr_error reason;
    const json_t *item;
    size_t i;

    if (!json_is_array(value))
        return wrong(field->name, field->must_be, err);
    json_array_foreach(value, i, item) {
        if (!text_of(item))
            return err_set(err, SBR_E_INVALID, "request",
                           "%s[%zu] must be a string, HOST or HOST:PORT, without NUL", field->name,
                           i);
        if (request_field_set(req, field, text_of(item), &reason) < 0)
            return err_set(err, (enum sbr_code)reason.code, reason.stage, "%s[%zu]: %.440s",
                           field->name, i, reason.message);
    }
    return 0;
}

/* A value in a request would be kept with it: only names. */
static int read_secrets(sbr_request *req, const struct request_field *field, const json_t *value,
                        sbr_error *err)
{
    const json_t *item;
    size_t i;

    if (!json_is_array(value))
        return wrong(field->name, field->must_be, err);
    json_array_foreach(value, i, item) {
        if (!text_of(item))
            return wrong(field->name, field->must_be, err);
        if (request_name_secret(req, text_of(item), err) < 0)
            return err->code;
    }
    return 0;
}

static int read_pairs(sbr_request *req, const struct request_field *field, const json_t *value,
                      sbr_error *err)
{
    const char *name;
    json_t *item;

    if (!json_is_object(value))
        return wrong(field->name, field->must_be, err);
    json_object_foreach((json_t *)value, name, item) {
        scoped_free char *pair = NULL;

        if (!text_of(item) || strchr(name, '='))
            return wrong(field->name, field->must_be, err);
        if (asprintf(&pair, "%s=%s", name, text_of(item)) < 0)
            return err_set_oom(err, "request");
        if (request_field_set(req, field, pair, err) < 0)
            return err->code;
    }
    return 0;
}

static int read_switch(sbr_request *req, const struct request_field *field, const json_t *value,
                       sbr_error *err)
{
    if (!json_is_boolean(value))
        return wrong(field->name, field->must_be, err);
    request_field_turn(req, field, json_is_true(value));
    return 0;
}

static int read_tty(sbr_request *req, const struct request_field *field, const json_t *value,
                    sbr_error *err)
{
    const json_t *rows = json_object_get(value, "rows"),
                 *columns = json_object_get(value, "columns");

    if (!json_is_integer(rows) || !json_is_integer(columns) || json_object_size(value) != 2)
        return wrong(field->name, field->must_be, err);
    return request_set_tty(req, (uint64_t)json_integer_value(rows),
                           (uint64_t)json_integer_value(columns), err);
}

/* A limit under its option's name takes what the option takes: "30s", "512m", 1.5. */
static int set_option_limit(struct limits *limits, enum sbr_limit which, const json_t *item,
                            sbr_error *err)
{
    char text[48];

    if (text_of(item))
        return limits_set_named(limits, which, limit_defs[which].option, text_of(item), err);
    if (!json_is_number(item))
        return wrong(limit_defs[which].option, "a number or a text such as \"30s\" or \"512m\"",
                     err);
    snprintf(text, sizeof(text), "%.15g", json_number_value(item));
    return limits_set_named(limits, which, limit_defs[which].option, text, err);
}

/* A limit under its exact name takes a whole number in the unit of the name. */
static int set_exact_limit(struct limits *limits, enum sbr_limit which, const json_t *item,
                           sbr_error *err)
{
    double value = json_number_value(item);

    if (json_is_null(item) && limit_defs[which].may_be_none) /* as in a result */
        return limits_set(limits, which, LIMIT_NONE, err);
    if (json_is_integer(item) && json_integer_value(item) >= 0)
        return limits_set(limits, which, (uint64_t)json_integer_value(item), err);
    /* Some serialisers write every number with a decimal point. */
    if (json_is_real(item) && value >= 0 && value < 0x1p63 && value == (double)(uint64_t)value)
        return limits_set(limits, which, (uint64_t)value, err);
    return wrong(limit_defs[which].name, "a whole number that is not negative", err);
}

static int unknown_limit(const char *key, sbr_error *err)
{
    const char *names[2 * N_LIMITS], *near;

    for (unsigned int i = 0; i < N_LIMITS; i++) {
        names[2 * i] = limit_defs[i].option;
        names[2 * i + 1] = limit_defs[i].name;
    }
    near = text_nearest(key, names, ARRAY_LEN(names));
    return err_set(err, SBR_E_INVALID, "request", "there is no limit '%.60s'%s%s%s", key,
                   near ? "; did you mean '" : "", near ? near : "", near ? "'?" : "");
}

static int set_json_limit(struct limits *limits, const char *key, const json_t *item,
                          sbr_error *err)
{
    for (unsigned int i = 0; i < N_LIMITS; i++) {
        if (!strcmp(key, limit_defs[i].option))
            return set_option_limit(limits, (enum sbr_limit)i, item, err);
        if (!strcmp(key, limit_defs[i].name))
            return set_exact_limit(limits, (enum sbr_limit)i, item, err);
    }
    return unknown_limit(key, err);
}

static int read_limits(sbr_request *req, const struct request_field *field, const json_t *value,
                       sbr_error *err)
{
    const char *key;
    json_t *item;

    if (!json_is_object(value))
        return wrong(field->name, field->must_be, err);
    json_object_foreach((json_t *)value, key, item) {
        if (set_json_limit(request_field_at(req, field), key, item, err) < 0)
            return err->code;
    }
    return 0;
}

/* Refuses unknown fields.  Only `content` may contain NUL. */
static int check_file_fields(const struct request_field *field, const json_t *item, sbr_error *err)
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
            right = text_of(value) != NULL;
        else
            return err_set(err, SBR_E_INVALID, "request",
                           "a file of the request has an unknown field '%.60s'", key);
        if (!right)
            return wrong(field->name, field->must_be, err);
    }
    return 0;
}

static int add_json_file(sbr_request *req, const struct request_field *field, const json_t *item,
                         sbr_error *err)
{
    const char *path = text_of(json_object_get(item, "path"));
    const json_t *content = json_object_get(item, "content");
    const char *encoding = text_of(json_object_get(item, "encoding"));
    scoped_free char *decoded = NULL;
    size_t len = 0;

    if (check_file_fields(field, item, err) < 0)
        return err->code;
    if (!path || !content)
        return wrong(field->name, field->must_be, err);
    if (!encoding || !strcmp(encoding, "utf-8"))
        return request_files_add(req, path, json_string_value(content), json_string_length(content),
                                 err);
    if (strcmp(encoding, "base64") != 0)
        return err_set(err, SBR_E_INVALID, "request",
                       "the file '%.100s' has the encoding '%.20s'; use utf-8 or base64", path,
                       encoding);
    if (!text_of(content) || encoding_from_base64(text_of(content), &decoded, &len) < 0)
        return err_set(err, SBR_E_INVALID, "request", "the content of '%.100s' is not base64",
                       path);
    return request_files_add(req, path, decoded, len, err);
}

static int read_files(sbr_request *req, const struct request_field *field, const json_t *value,
                      sbr_error *err)
{
    const json_t *item;
    size_t i;

    if (!json_is_array(value))
        return wrong(field->name, field->must_be, err);
    json_array_foreach(value, i, item) {
        if (add_json_file(req, field, item, err) < 0)
            return err->code;
        req->files[req->n_files - 1].executable = json_is_true(json_object_get(item, "executable"));
    }
    return request_files_check(req, err);
}

int request_read_field(sbr_request *req, const struct request_field *field, const json_t *value,
                       sbr_error *err)
{
    static field_reader *const readers[] = {
        [FIELD_TEXT] = read_text,     [FIELD_WORD] = read_text,   [FIELD_LIST] = read_list,
        [FIELD_TEXTS] = read_list,    [FIELD_HOSTS] = read_hosts, [FIELD_PAIRS] = read_pairs,
        [FIELD_SWITCH] = read_switch, [FIELD_BYTES] = read_bytes, [FIELD_LIMITS] = read_limits,
        [FIELD_FILES] = read_files,   [FIELD_TTY] = read_tty,     [FIELD_SECRETS] = read_secrets,
    };

    return readers[field->kind](req, field, value, err);
}

/* A limit at the top belongs into `limits`; anything else may be misspelt. */
static int unknown_field(const char *key, sbr_error *err)
{
    const char *names[N_REQUEST_FIELDS], *near;

    for (unsigned int i = 0; i < N_LIMITS; i++)
        if (!strcmp(key, limit_defs[i].option) || !strcmp(key, limit_defs[i].name))
            return err_set(err, SBR_E_INVALID, "request",
                           "the request has an unknown field '%.60s'; it is a limit: \"limits\": "
                           "{\"%.60s\": ...}",
                           key, key);
    for (size_t i = 0; i < N_REQUEST_FIELDS; i++)
        names[i] = request_fields[i].name;
    near = text_nearest(key, names, N_REQUEST_FIELDS);
    return err_set(err, SBR_E_INVALID, "request", "the request has an unknown field '%.60s'%s%s%s",
                   key, near ? "; did you mean '" : "", near ? near : "", near ? "'?" : "");
}

/* In the order of the body: of `require` and `allow_degraded` the later counts. */
static int read_request(sbr_request *req, const json_t *root, sbr_error *err)
{
    const char *key;
    json_t *value;

    if (!json_is_object(root))
        return err_set(err, SBR_E_INVALID, "request", "the request is not a JSON object");
    json_object_foreach((json_t *)root, key, value) {
        const struct request_field *field = request_field_find(key);

        if (!field)
            return unknown_field(key, err);
        if (request_read_field(req, field, value, err) < 0)
            return err->code;
    }
    return 0;
}

int request_from_value(const json_t *root, sbr_request **ret, sbr_error *err)
{
    sbr_request *req = NULL;

    if (request_new(NULL, NULL, &req, err) < 0 || read_request(req, root, err) < 0) {
        request_free(req);
        return err->code;
    }
    *ret = req;
    return 0;
}

/* 10,000 files with their paths, contents and encodings, and base64 takes a third more. */
static const struct json_bounds request_bounds = {
    .bytes = 2 * REQUEST_MAX_BYTES,
    .values = 100000,
    .depth = 32,
};

int request_from_json(const char *json, size_t len, sbr_request **ret, sbr_error *err)
{
    sbr_error fault;
    json_t *root = json_read(json, len, &request_bounds, JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL,
                             "the request", &fault);
    int r;

    if (!root)
        return err_set(err, SBR_E_INVALID, "request", "%s", fault.message);
    r = request_from_value(root, ret, err);
    json_decref(root);
    return r;
}
