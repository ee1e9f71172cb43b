/* The JSON form of a request.  An unknown field is an error, because a misspelt limit would
 * otherwise be silently absent. */
#include <jansson.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/json_read.h"
#include "base/scope.h"
#include "base/text.h"
#include "model/request.h"
#include "model/request_json_parts.h"

typedef int field_reader(sbr_request *req, const json_t *value, sbr_error *err);

struct field {
    const char *name;
    field_reader *read;
};

static int read_language(sbr_request *req, const json_t *value, sbr_error *err)
{
    if (!request_json_parts_text(value))
        return request_json_parts_wrong("language", "a string", err);
    return request_set_text(&req->language, request_json_parts_text(value), err);
}

static int read_policy(sbr_request *req, const json_t *value, sbr_error *err)
{
    if (!request_json_parts_text(value))
        return request_json_parts_wrong("policy", "a string", err);
    return request_set_text(&req->policy, request_json_parts_text(value), err);
}

static int read_workdir(sbr_request *req, const json_t *value, sbr_error *err)
{
    if (!request_json_parts_text(value))
        return request_json_parts_wrong("workdir", "a string", err);
    return request_set_workdir(req, request_json_parts_text(value), err);
}

/* The planner names the program's file as its language does. */
static int read_code(sbr_request *req, const json_t *value, sbr_error *err)
{
    if (!json_is_string(value))
        return request_json_parts_wrong("code", "a string", err);
    return request_set_code(req, json_string_value(value), json_string_length(value), err);
}

static int read_stdin(sbr_request *req, const json_t *value, sbr_error *err)
{
    if (!json_is_string(value))
        return request_json_parts_wrong("stdin", "a string", err);
    return request_set_stdin(req, json_string_value(value), json_string_length(value), err);
}

static int read_args(sbr_request *req, const json_t *value, sbr_error *err)
{
    const json_t *item;
    size_t i;

    if (!json_is_array(value))
        return request_json_parts_wrong("args", "an array of strings", err);
    json_array_foreach(value, i, item) {
        if (!request_json_parts_text(item))
            return request_json_parts_wrong("args", "an array of strings without NUL", err);
        if (request_add_arg(req, request_json_parts_text(item), err) < 0)
            return err->code;
    }
    return 0;
}

static int read_env(sbr_request *req, const json_t *value, sbr_error *err)
{
    const char *name;
    json_t *item;

    if (!json_is_object(value))
        return request_json_parts_wrong("env", "an object of strings", err);
    json_object_foreach((json_t *)value, name, item) {
        scoped_free char *pair = NULL;

        if (!request_json_parts_text(item) || strchr(name, '='))
            return request_json_parts_wrong("env", "an object of strings, without '=' in the names",
                                            err);
        if (asprintf(&pair, "%s=%s", name, request_json_parts_text(item)) < 0)
            return err_set_oom(err, "request");
        if (request_add_env(req, pair, err) < 0)
            return err->code;
    }
    return 0;
}

typedef int add_text(sbr_request *req, const char *text, sbr_error *err);

/* `field` is the name and the expected type. */
static int read_texts(sbr_request *req, const json_t *value, const char *const field[2],
                      add_text *add, sbr_error *err)
{
    const json_t *item;
    size_t i;

    if (!json_is_array(value))
        return request_json_parts_wrong(field[0], field[1], err);
    json_array_foreach(value, i, item) {
        if (!request_json_parts_text(item))
            return request_json_parts_wrong(field[0], field[1], err);
        if (add(req, request_json_parts_text(item), err) < 0)
            return err->code;
    }
    return 0;
}

static int read_backend(sbr_request *req, const json_t *value, sbr_error *err)
{
    if (!request_json_parts_text(value))
        return request_json_parts_wrong("backend", "a string, as in \"oci:crun\"", err);
    return request_set_backend(req, request_json_parts_text(value), err);
}

static int read_image(sbr_request *req, const json_t *value, sbr_error *err)
{
    if (!request_json_parts_text(value))
        return request_json_parts_wrong("image", "a string, as in \"debian:12\"", err);
    return request_set_image(req, request_json_parts_text(value), err);
}

static int read_project(sbr_request *req, const json_t *value, sbr_error *err)
{
    if (!request_json_parts_text(value))
        return request_json_parts_wrong("project", "a string, an absolute path", err);
    return request_set_project(req, request_json_parts_text(value), err);
}

static int read_program(sbr_request *req, const json_t *value, sbr_error *err)
{
    if (!request_json_parts_text(value))
        return request_json_parts_wrong("program", "a string, a path below the project", err);
    return request_set_program(req, request_json_parts_text(value), err);
}

static int read_workspace(sbr_request *req, const json_t *value, sbr_error *err)
{
    if (!request_json_parts_text(value))
        return request_json_parts_wrong("workspace", "a string", err);
    return request_set_workspace(req, request_json_parts_text(value), err);
}

static int read_network(sbr_request *req, const json_t *value, sbr_error *err)
{
    if (!request_json_parts_text(value))
        return request_json_parts_wrong("network", "a string: none, localhost, allow or full", err);
    return request_set_network(req, request_json_parts_text(value), err);
}

/* A list can be long: the message names the entry. */
static int read_allow_hosts(sbr_request *req, const json_t *value, sbr_error *err)
{
    sbr_error reason;
    const json_t *item;
    size_t i;

    if (!json_is_array(value))
        return request_json_parts_wrong("allow_hosts", "an array of HOST or HOST:PORT strings",
                                        err);
    json_array_foreach(value, i, item) {
        if (!request_json_parts_text(item))
            return err_set(err, SBR_E_INVALID, "request",
                           "allow_hosts[%zu] must be a string, HOST or HOST:PORT, without NUL", i);
        if (request_allow_host(req, request_json_parts_text(item), &reason) < 0)
            return err_set(err, (enum sbr_code)reason.code, reason.stage,
                           "allow_hosts[%zu]: %.440s", i, reason.message);
    }
    return 0;
}

static int read_switch(bool *ret, const char *field, const json_t *value, sbr_error *err)
{
    if (!json_is_boolean(value))
        return request_json_parts_wrong(field, "true or false", err);
    *ret = json_is_true(value);
    return 0;
}

static int read_allow_dns(sbr_request *req, const json_t *value, sbr_error *err)
{
    bool allow = false;

    if (read_switch(&allow, "allow_dns", value, err) < 0)
        return err->code;
    request_allow_dns(req, allow);
    return 0;
}

static int read_deps(sbr_request *req, const json_t *value, sbr_error *err)
{
    static const char *const field[] = { "deps", "an array of NAME or NAME@VERSION strings" };

    return read_texts(req, value, field, request_add_dep, err);
}

static int read_compile_args(sbr_request *req, const json_t *value, sbr_error *err)
{
    static const char *const field[] = { "compile_args", "an array of strings" };

    return read_texts(req, value, field, request_add_compile_arg, err);
}

/* A limit under its option's name takes what the option takes: "30s", "512m", 1.5. */
static int set_option_limit(struct limits *limits, enum sbr_limit which, const json_t *item,
                            sbr_error *err)
{
    char text[48];

    if (request_json_parts_text(item))
        return limits_set_named(limits, which, limit_defs[which].option,
                                request_json_parts_text(item), err);
    if (!json_is_number(item))
        return request_json_parts_wrong(limit_defs[which].option,
                                        "a number or a text such as \"30s\" or \"512m\"", err);
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
    return request_json_parts_wrong(limit_defs[which].name, "a whole number that is not negative",
                                    err);
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

static int read_limits_into(struct limits *limits, const char *field, const json_t *value,
                            sbr_error *err)
{
    const char *key;
    json_t *item;

    if (!json_is_object(value))
        return request_json_parts_wrong(field, "an object", err);
    json_object_foreach((json_t *)value, key, item) {
        if (set_json_limit(limits, key, item, err) < 0)
            return err->code;
    }
    return 0;
}

static int read_limits(sbr_request *req, const json_t *value, sbr_error *err)
{
    return read_limits_into(&req->limits, "limits", value, err);
}

static int read_compile_limits(sbr_request *req, const json_t *value, sbr_error *err)
{
    return read_limits_into(&req->compile_limits, "compile_limits", value, err);
}

static int read_require(sbr_request *req, const json_t *value, sbr_error *err)
{
    if (!request_json_parts_text(value))
        return request_json_parts_wrong("require", "a string", err);
    req->require_given = true;
    return request_tier_from_name(request_json_parts_text(value), &req->require, err);
}

static int read_allow_degraded(sbr_request *req, const json_t *value, sbr_error *err)
{
    if (!json_is_boolean(value))
        return request_json_parts_wrong("allow_degraded", "true or false", err);
    if (json_is_true(value))
        req->require = TIER_PROCESS;
    return 0;
}

static int read_template(sbr_request *req, const json_t *value, sbr_error *err)
{
    if (!request_json_parts_text(value))
        return request_json_parts_wrong("template", "a string, a name or a file", err);
    return request_set_text(&req->template_name, request_json_parts_text(value), err);
}

static int read_set(sbr_request *req, const json_t *value, sbr_error *err)
{
    const char *name;
    json_t *item;

    if (!json_is_object(value))
        return request_json_parts_wrong("set", "an object of strings", err);
    json_object_foreach((json_t *)value, name, item) {
        scoped_free char *pair = NULL;

        if (!request_json_parts_text(item) || strchr(name, '='))
            return request_json_parts_wrong("set", "an object of strings, without '=' in the names",
                                            err);
        if (asprintf(&pair, "%s=%s", name, request_json_parts_text(item)) < 0)
            return err_set_oom(err, "request");
        if (request_add_set(req, pair, err) < 0)
            return err->code;
    }
    return 0;
}

static int read_language_file(sbr_request *req, const json_t *value, sbr_error *err)
{
    if (!request_json_parts_text(value))
        return request_json_parts_wrong("language_file", "a string, a path", err);
    return request_set_text(&req->language_file, request_json_parts_text(value), err);
}

static int read_tty(sbr_request *req, const json_t *value, sbr_error *err)
{
    const json_t *rows = json_object_get(value, "rows"),
                 *columns = json_object_get(value, "columns");

    if (!json_is_integer(rows) || !json_is_integer(columns) || json_object_size(value) != 2)
        return request_json_parts_wrong("tty", "an object with two whole numbers, rows and columns",
                                        err);
    return request_set_tty(req, (uint64_t)json_integer_value(rows),
                           (uint64_t)json_integer_value(columns), err);
}

/* clang-format off */
static const struct field fields[] = {
    { "allow_degraded", read_allow_degraded },
    { "allow_dns",      read_allow_dns      },
    { "allow_hosts",    read_allow_hosts    },
    { "args",           read_args           },
    { "code",           read_code           },
    { "compile_args",   read_compile_args   },
    { "compile_limits", read_compile_limits },
    { "deps",           read_deps           },
    { "env",            read_env            },
    { "files",          request_json_parts_files },
    { "language",       read_language       },
    { "language_file",  read_language_file  },
    { "limits",         read_limits         },
    { "network",        read_network        },
    { "policy",         read_policy         },
    { "program",        read_program        },
    { "backend",        read_backend        },
    { "image",          read_image          },
    { "project",        read_project        },
    { "require",        read_require        },
    { "set",            read_set            },
    { "stdin",          read_stdin          },
    { "template",       read_template       },
    { "tty",            read_tty            },
    { "workdir",        read_workdir        },
    { "workspace",      read_workspace      },
};
/* clang-format on */

static const struct {
    const char *name;
    size_t offset; /* of a bool in the request */
} switches[] = {
    { "buffered", offsetof(sbr_request, buffered) },
    { "check", offsetof(sbr_request, check) },
    { "command", offsetof(sbr_request, command) },
    { "diff", offsetof(sbr_request, diff) },
    { "keep", offsetof(sbr_request, keep) },
    { "keep_output", offsetof(sbr_request, keep_output) },
    { "read_only", offsetof(sbr_request, read_only) },
};

/* Lists of texts. */
static const struct {
    const char *const field[2]; /* the name and the expected type */
    add_text *add;
} lists[] = {
    { { "allow_commands", "an array of names of commands" }, request_allow_commands },
    { { "exclude", "an array of patterns" }, request_add_exclude },
    { { "include", "an array of patterns" }, request_add_include },
    { { "publish", "an array of PORT, PORT:INSIDE or HOST:PORT:INSIDE strings" }, request_publish },
    { { "outputs", "an array of PATTERN or PATTERN:DIR strings" }, request_add_output },
    { { "volumes", "an array of SRC:DST or SRC:DST:MODE strings" }, request_add_volume },
};

/* A limit at the top belongs into `limits`; anything else may be misspelt. */
static int unknown_field(const char *key, sbr_error *err)
{
    const char *names[ARRAY_LEN(fields) + ARRAY_LEN(switches) + ARRAY_LEN(lists)], *near;
    size_t n = 0;

    for (unsigned int i = 0; i < N_LIMITS; i++)
        if (!strcmp(key, limit_defs[i].option) || !strcmp(key, limit_defs[i].name))
            return err_set(err, SBR_E_INVALID, "request",
                           "the request has an unknown field '%.60s'; it is a limit: \"limits\": "
                           "{\"%.60s\": ...}",
                           key, key);
    for (size_t i = 0; i < ARRAY_LEN(fields); i++)
        names[n++] = fields[i].name;
    for (size_t i = 0; i < ARRAY_LEN(switches); i++)
        names[n++] = switches[i].name;
    for (size_t i = 0; i < ARRAY_LEN(lists); i++)
        names[n++] = lists[i].field[0];
    near = text_nearest(key, names, n);
    return err_set(err, SBR_E_INVALID, "request", "the request has an unknown field '%.60s'%s%s%s",
                   key, near ? "; did you mean '" : "", near ? near : "", near ? "'?" : "");
}

static int read_field(sbr_request *req, const char *key, const json_t *value, sbr_error *err)
{
    for (size_t i = 0; i < ARRAY_LEN(fields); i++)
        if (!strcmp(key, fields[i].name))
            return fields[i].read(req, value, err);
    for (size_t i = 0; i < ARRAY_LEN(switches); i++)
        if (!strcmp(key, switches[i].name))
            return read_switch((bool *)((char *)req + switches[i].offset), key, value, err);
    for (size_t i = 0; i < ARRAY_LEN(lists); i++)
        if (!strcmp(key, lists[i].field[0]))
            return read_texts(req, value, lists[i].field, lists[i].add, err);
    return unknown_field(key, err);
}

static int read_request(sbr_request *req, const json_t *root, sbr_error *err)
{
    const char *key;
    json_t *value;

    if (!json_is_object(root))
        return err_set(err, SBR_E_INVALID, "request", "the request is not a JSON object");
    json_object_foreach((json_t *)root, key, value) {
        if (read_field(req, key, value, err) < 0)
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
