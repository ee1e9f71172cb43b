/* sbr_request, and languages from files: checks arguments, translates.  A setter that refuses
 * leaves the reason in the request. */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "base/fd.h"
#include "base/scope.h"
#include "config/config.h"
#include "lib/runner.h"
#include "model/request.h"
#include "plan/language.h"
#include "plan/language_file.h"
#include "plan/policy.h"
#include "plan/template_program.h"

static int read_template(const char *path, char **ret, size_t *ret_len, sbr_error *err)
{
    scoped_fd int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);

    if (fd < 0)
        return err_set_errno(err, "template", "cannot open the template '%.200s'", path);
    return fd_read_text(fd, REQUEST_MAX_BYTES, ret, ret_len, err);
}

/* `sets` are NAME=VALUE.  A name with a slash is a file. */
static int put_template(sbr_request *req, const char *name, const char *const *sets, size_t n,
                        sbr_error *err)
{
    struct template_use use = { .name = name, .values = sets, .n_values = n };
    scoped_free char *text = NULL;

    if (strchr(name, '/') && read_template(name, &text, &use.len, err) < 0)
        return err->code;
    use.text = text;
    return template_program(req, &use, err);
}

/* What a request in JSON asks for besides: its own language, and a template for its program. */
static int complete(sbr_request *req, sbr_error *err)
{
    if (req->language_file && sbr_language_add_file(req->language_file, err) < 0)
        return err->code;
    if (req->sets.n && !req->template_name)
        return err_set(err, SBR_E_INVALID, "request", "`set` needs a `template` to set it in");
    return !req->template_name
               ? 0
               : put_template(req, req->template_name, (const char *const *)req->sets.items,
                              req->sets.n, err);
}

/* Languages of the user are known by now: sbr_language_add_file comes before requests. */
static int check_names(const sbr_request *req, sbr_error *err)
{
    const struct language *language;
    const struct policy *policy;

    if (req->language && language_resolve(req->language, &language, err) < 0)
        return err->code;
    return policy_resolve(req->policy, &policy, err);
}

/* Takes the request over. */
static int return_checked(sbr_request *req, sbr_request **ret, sbr_error *err)
{
    if (complete(req, err) < 0 || check_names(req, err) < 0) {
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

int api_request_read_value(const struct json_t *root, sbr_request **ret, sbr_error *err)
{
    sbr_request *req;

    return request_from_value(root, &req, err) < 0 ? err->code : return_checked(req, ret, err);
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

int sbr_request_set_code(sbr_request *req, const char *code, size_t len)
{
    if (!req || (!code && len))
        return missing(req, "the text of the program");
    return request_set_code(req, code, len, &req->refusal);
}

int sbr_request_add_file(sbr_request *req, const char *path, const void *data, size_t len)
{
    if (!req || !path || (!data && len))
        return missing(req, path ? "the content of the file" : "the path of the file");
    return request_add_file(req, path, data, len, &req->refusal);
}

int sbr_request_set_template(sbr_request *req, const char *name, const char *const *values)
{
    size_t n = 0;

    if (!req || !name)
        return missing(req, "the name of the template");
    while (values && values[n])
        n++;
    return put_template(req, name, values, n, &req->refusal);
}

int sbr_request_set_stdin(sbr_request *req, const void *data, size_t len)
{
    if (!req || (!data && len))
        return missing(req, "the text of stdin");
    return request_set_stdin(req, data, len, &req->refusal);
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

int sbr_request_set_limit(sbr_request *req, enum sbr_limit which, uint64_t value)
{
    if (!req)
        return missing(req, "");
    if ((unsigned int)which >= N_LIMITS)
        return err_set(&req->refusal, SBR_E_INVALID, "limits",
                       "there is no limit number %d; enum sbr_limit has those there are",
                       (int)which);
    return limits_set(&req->limits, which, value, &req->refusal);
}

typedef int set_text(sbr_request *req, const char *text, sbr_error *err);

static int set_by(sbr_request *req, const char *text, set_text *set, const char *what)
{
    return req && text ? set(req, text, &req->refusal) : missing(req, what);
}

int sbr_request_set_workdir(sbr_request *req, const char *dir)
{
    return set_by(req, dir, request_set_workdir, "the work directory");
}

int sbr_request_set_backend(sbr_request *req, const char *name)
{
    return set_by(req, name, request_set_backend, "the backend");
}

int sbr_request_set_image(sbr_request *req, const char *ref)
{
    return set_by(req, ref, request_set_image, "the name of an image");
}

int sbr_request_add_compile_arg(sbr_request *req, const char *arg)
{
    return set_by(req, arg, request_add_compile_arg, "the argument");
}

static int set_require(sbr_request *req, const char *name, sbr_error *err)
{
    enum tier tier;

    if (request_tier_from_name(name, &tier, err) < 0)
        return err->code;
    request_set_require(req, tier);
    return 0;
}

int sbr_request_set_require(sbr_request *req, const char *tier)
{
    return set_by(req, tier, set_require, "the isolation tier");
}

int sbr_request_set_tty(sbr_request *req, unsigned int rows, unsigned int columns)
{
    return req ? request_set_tty(req, rows, columns, &req->refusal) : SBR_E_INVALID;
}

int sbr_request_set_caller(sbr_request *req, const char *name)
{
    return set_by(req, name, request_set_caller, "the name of the caller");
}

int sbr_request_add_dependency(sbr_request *req, const char *name)
{
    return set_by(req, name, request_add_dep, "the name of the package");
}

int sbr_request_set_network(sbr_request *req, const char *mode)
{
    return set_by(req, mode, request_set_network, "the network mode");
}

int sbr_request_allow_host(sbr_request *req, const char *rule)
{
    return set_by(req, rule, request_allow_host, "the host");
}

int sbr_request_publish(sbr_request *req, const char *port)
{
    return set_by(req, port, request_publish, "the published port");
}

int sbr_request_allow_dns(sbr_request *req, int allow)
{
    if (!req)
        return SBR_E_INVALID;
    request_allow_dns(req, allow != 0);
    return 0;
}

int sbr_request_add_volume(sbr_request *req, const char *spec)
{
    return set_by(req, spec, request_add_volume, "the volume");
}

int sbr_request_set_project(sbr_request *req, const char *dir)
{
    return set_by(req, dir, request_set_project, "the directory of the project");
}

int sbr_request_add_exclude(sbr_request *req, const char *pattern)
{
    return set_by(req, pattern, request_add_exclude, "the pattern");
}

int sbr_request_add_include(sbr_request *req, const char *pattern)
{
    return set_by(req, pattern, request_add_include, "the pattern");
}

int sbr_request_allow_commands(sbr_request *req, const char *names)
{
    return set_by(req, names, request_allow_commands, "the names of the commands");
}

int sbr_request_set_program(sbr_request *req, const char *path)
{
    return set_by(req, path, request_set_program, "the path of the program");
}

int sbr_request_set_workspace(sbr_request *req, const char *name)
{
    return set_by(req, name, request_set_workspace, "the name of the workspace");
}

int sbr_request_add_output(sbr_request *req, const char *spec)
{
    return set_by(req, spec, request_add_output, "the pattern of the outputs");
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

int sbr_request_set_read_only(sbr_request *req, int read_only)
{
    if (!req)
        return SBR_E_INVALID;
    req->read_only = read_only;
    return 0;
}

int sbr_request_set_keep_output(sbr_request *req, int keep)
{
    if (!req)
        return SBR_E_INVALID;
    req->keep_output = keep;
    return 0;
}

int sbr_request_set_buffered(sbr_request *req, int buffered)
{
    if (!req)
        return SBR_E_INVALID;
    req->buffered = buffered;
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
