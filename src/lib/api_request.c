/* sbr_request, and languages from files: checks arguments, translates.  A setter that refuses
 * leaves the reason in the request. */
#include <stdio.h>
#include <string.h>

#include "config/config.h"
#include "job/job_steps.h"
#include "model/request_fields.h"
#include "plan/language_file.h"

/* Takes the request over. */
static int return_checked(sbr_request *req, sbr_request **ret, sbr_error *err)
{
    if (request_complete(req, err) < 0) {
        request_free(req);
        return err->code;
    }
    *ret = req;
    return 0;
}

int sbr_request_new(const char *language, const char *policy, sbr_request **ret, sbr_error *err)
{
    sbr_error unused = { 0 }, *e = err ? err : &unused;
    sbr_request *req;

    if (!ret)
        return err_set(e, SBR_E_INVALID, "request", "there is no place for the request");
    return request_new(language, policy, &req, e) < 0 ? e->code : return_checked(req, ret, e);
}

int sbr_request_from_json(const char *json, size_t len, sbr_request **ret, sbr_error *err)
{
    sbr_error unused = { 0 }, *e = err ? err : &unused;
    sbr_request *req;

    if (!json || !ret)
        return err_set(e, SBR_E_INVALID, "request", "there is no %s",
                       json ? "place for the request" : "JSON text");
    return request_from_json(json, len, &req, e) < 0 ? e->code : return_checked(req, ret, e);
}

const sbr_error *sbr_request_error(const sbr_request *req)
{
    return req ? &req->refusal : NULL;
}

int sbr_request_apply_config(sbr_request *req, const char *dir, sbr_error *err)
{
    sbr_error unused = { 0 }, *e = err ? err : &unused;
    struct config config;
    int r;

    if (!req)
        return err_set(e, SBR_E_INVALID, "config", "there is no request");
    if (config_load(dir, &config, e) < 0)
        return e->code;
    r = config_apply(&config, req, e);
    if (r == 0 && dir && config.notes.len) {
        err_set(e, SBR_E_DENIED, "config", "%.*s", (int)strcspn(config.notes.data, "\n"),
                config.notes.data);
        r = 1;
    }
    config_done(&config);
    return r;
}

int sbr_language_add_file(const char *path, sbr_error *err)
{
    sbr_error unused = { 0 }, *e = err ? err : &unused;

    int r = path ? language_file_add(path, e) : err_set(e, SBR_E_INVALID, "language", "no file");

    if (r < 0 && !strcmp(e->stage, "compile")) /* the reader's own word, while we are built */
        snprintf(e->stage, sizeof(e->stage), "language");
    return r;
}

/* An argument is NULL that must not be. */
static int missing(sbr_request *req, const char *what)
{
    sbr_error unused;

    return err_set(req ? &req->refusal : &unused, SBR_E_INVALID, "request", "%s is missing",
                   req ? what : "the request");
}

int sbr_request_add_file(sbr_request *req, const char *path, const void *data, size_t len)
{
    if (!req || !path || (!data && len))
        return missing(req, path ? "the content of the file" : "the path of the file");
    return request_add_file(req, path, data, len, &req->refusal);
}

int sbr_request_add_executable(sbr_request *req, const char *path, const void *data, size_t len)
{
    int r = sbr_request_add_file(req, path, data, len);

    if (r == 0)
        req->files[req->n_files - 1].executable = true;
    return r;
}

int sbr_request_set_template(sbr_request *req, const char *name, const char *const *values)
{
    size_t n = 0;

    if (!req || !name)
        return missing(req, "the name of the template");
    while (values && values[n])
        n++;
    return request_complete_template(req, name, values, n, &req->refusal);
}

int sbr_request_set_argv(sbr_request *req, const char *const *argv)
{
    if (!req || !argv)
        return missing(req, "the list of arguments");
    for (; *argv; argv++)
        if (request_add_arg(req, *argv, &req->refusal) < 0)
            return req->refusal.code;
    return 0;
}

int sbr_request_set_env(sbr_request *req, const char *name, const char *value)
{
    scoped_free char *pair = NULL;

    if (!req || !name || !value)
        return missing(req, name ? "the value of the variable" : "the name of the variable");
    if (strchr(name, '='))
        return err_set(&req->refusal, SBR_E_INVALID, "request",
                       "the name of the variable '%.100s' has a '='", name);
    if (asprintf(&pair, "%s=%s", name, value) < 0)
        return err_set_oom(&req->refusal, "request");
    return request_add_env(req, pair, &req->refusal);
}

static int set_limit(sbr_request *req, enum request_field_id id, enum sbr_limit which,
                     uint64_t value)
{
    if (!req)
        return missing(req, "");
    if ((unsigned int)which >= N_LIMITS)
        return err_set(&req->refusal, SBR_E_INVALID, "limits",
                       "there is no limit number %d; enum sbr_limit has those there are",
                       (int)which);
    return limits_set(request_field_at(req, &request_fields[id]), which, value, &req->refusal);
}

int sbr_request_set_limit(sbr_request *req, enum sbr_limit which, uint64_t value)
{
    return set_limit(req, FIELD_limits, which, value);
}

int sbr_request_set_compile_limit(sbr_request *req, enum sbr_limit which, uint64_t value)
{
    return set_limit(req, FIELD_compile_limits, which, value);
}

static int no_value(sbr_request *req, enum request_field_id id)
{
    char what[80];

    snprintf(what, sizeof(what), "the value of '%s'", request_fields[id].name);
    return missing(req, what);
}

#define C_TEXT(id, function, value)                                                                \
    int function(sbr_request *req, const char *value)                                              \
    {                                                                                              \
        return req && value                                                                        \
                   ? request_field_set(req, &request_fields[FIELD_##id], value, &req->refusal)     \
                   : no_value(req, FIELD_##id);                                                    \
    }
#define C_BYTES(id, type, function, value)                                                         \
    int function(sbr_request *req, const type *value, size_t len)                                  \
    {                                                                                              \
        return req && (value || !len)                                                              \
                   ? request_fields[FIELD_##id].set_bytes(req, value, len, &req->refusal)          \
                   : no_value(req, FIELD_##id);                                                    \
    }
#define C_SWITCH(id, function, value)                                                              \
    int function(sbr_request *req, int value)                                                      \
    {                                                                                              \
        if (!req)                                                                                  \
            return SBR_E_INVALID;                                                                  \
        request_field_turn(req, &request_fields[FIELD_##id], (value) != 0);                        \
        return 0;                                                                                  \
    }
#include "model/request_fields.def"

int sbr_request_set_tty(sbr_request *req, unsigned int rows, unsigned int columns)
{
    return req ? request_set_tty(req, rows, columns, &req->refusal) : SBR_E_INVALID;
}

int sbr_request_set_caller(sbr_request *req, const char *name)
{
    return req && name ? request_set_caller(req, name, &req->refusal)
                       : missing(req, "the name of the caller");
}

int sbr_request_set_changes(sbr_request *req, unsigned int flags)
{
    if (!req)
        return missing(req, "");
    if (flags & ~(unsigned int)(SBR_CHANGES_DIFF | SBR_CHANGES_KEEP))
        return err_set(&req->refusal, SBR_E_INVALID, "request",
                       "the flags 0x%x have bits that enum sbr_changes_flag does not", flags);
    req->diff = flags & SBR_CHANGES_DIFF;
    req->keep = flags & SBR_CHANGES_KEEP;
    return 0;
}

void sbr_request_free(sbr_request *req)
{
    request_free(req);
}
