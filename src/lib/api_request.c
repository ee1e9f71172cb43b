/* sbr_request, and languages from files: checks arguments, translates. */
#include <stdio.h>
#include <string.h>

#include "base/scope.h"
#include "model/request.h"
#include "plan/language_file.h"

int sbr_request_new(const char *language, const char *policy, sbr_request **ret, sbr_error *err)
{
    sbr_error unused;

    return ret ? request_new(language, policy, ret, err ? err : &unused) : SBR_E_INVALID;
}

int sbr_request_from_json(const char *json, size_t len, sbr_request **ret, sbr_error *err)
{
    sbr_error unused;

    return json && ret ? request_from_json(json, len, ret, err ? err : &unused) : SBR_E_INVALID;
}

int sbr_language_add_file(const char *path, sbr_error *err)
{
    sbr_error unused = { 0 }, *e = err ? err : &unused;

    return path ? language_file_add(path, e) : err_set(e, SBR_E_INVALID, "language", "no file");
}

int sbr_request_add_file(sbr_request *req, const char *path, const void *data, size_t len)
{
    sbr_error err;

    if (!req || !path || (!data && len))
        return SBR_E_INVALID;
    return request_add_file(req, path, data, len, &err);
}

int sbr_request_set_stdin(sbr_request *req, const void *data, size_t len)
{
    sbr_error err;

    return req && (data || !len) ? request_set_stdin(req, data, len, &err) : SBR_E_INVALID;
}

int sbr_request_set_argv(sbr_request *req, const char *const *argv)
{
    sbr_error err;

    if (!req || !argv)
        return SBR_E_INVALID;
    for (; *argv; argv++)
        if (request_add_arg(req, *argv, &err) < 0)
            return err.code;
    return 0;
}

int sbr_request_set_env(sbr_request *req, const char *name, const char *value)
{
    scoped_free char *pair = NULL;
    sbr_error err;

    if (!req || !name || !value || strchr(name, '='))
        return SBR_E_INVALID;
    if (asprintf(&pair, "%s=%s", name, value) < 0)
        return SBR_E_NO_MEMORY;
    return request_add_env(req, pair, &err);
}

int sbr_request_set_limit(sbr_request *req, enum sbr_limit which, uint64_t value)
{
    sbr_error err;

    if (!req || (unsigned int)which >= N_LIMITS)
        return SBR_E_INVALID;
    return limits_set(&req->limits, which, value, &err);
}

int sbr_request_add_dependency(sbr_request *req, const char *name)
{
    sbr_error err;

    return req && name ? request_add_dep(req, name, &err) : SBR_E_INVALID;
}

int sbr_request_set_network(sbr_request *req, const char *mode)
{
    sbr_error err;

    return req && mode ? request_set_network(req, mode, &err) : SBR_E_INVALID;
}

int sbr_request_allow_host(sbr_request *req, const char *rule)
{
    sbr_error err;

    return req && rule ? request_allow_host(req, rule, &err) : SBR_E_INVALID;
}

int sbr_request_allow_dns(sbr_request *req, int allow)
{
    if (!req)
        return SBR_E_INVALID;
    req->network.allow_dns = allow != 0;
    return 0;
}

int sbr_request_add_volume(sbr_request *req, const char *spec)
{
    sbr_error err;

    return req && spec ? request_add_volume(req, spec, &err) : SBR_E_INVALID;
}

int sbr_request_set_project(sbr_request *req, const char *dir)
{
    sbr_error err;

    return req && dir ? request_set_project(req, dir, &err) : SBR_E_INVALID;
}

int sbr_request_set_program(sbr_request *req, const char *path)
{
    sbr_error err;

    return req && path ? request_set_program(req, path, &err) : SBR_E_INVALID;
}

int sbr_request_set_workspace(sbr_request *req, const char *name)
{
    sbr_error err;

    return req && name ? request_set_workspace(req, name, &err) : SBR_E_INVALID;
}

int sbr_request_add_output(sbr_request *req, const char *spec)
{
    sbr_error err;

    return req && spec ? request_add_output(req, spec, &err) : SBR_E_INVALID;
}

int sbr_request_set_changes(sbr_request *req, unsigned int flags)
{
    if (!req || flags & ~(unsigned int)(SBR_CHANGES_DIFF | SBR_CHANGES_KEEP))
        return SBR_E_INVALID;
    req->diff = flags & SBR_CHANGES_DIFF;
    req->keep = flags & SBR_CHANGES_KEEP;
    return 0;
}

int sbr_request_set_check(sbr_request *req, int check)
{
    if (!req)
        return SBR_E_INVALID;
    req->check = check != 0;
    return 0;
}

int sbr_request_allow_degraded(sbr_request *req, int allow)
{
    if (!req)
        return SBR_E_INVALID;
    req->require = allow ? TIER_PROCESS : TIER_CONTAINER;
    return 0;
}

void sbr_request_free(sbr_request *req)
{
    request_free(req);
}
