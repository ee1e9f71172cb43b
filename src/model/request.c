#include "model/request.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "model/request_fields.h"

static const char *const tier_names[N_TIERS] = {
    [TIER_PROCESS] = "process",
    [TIER_REDUCED] = "reduced",
    [TIER_CONTAINER] = "container",
};

const char *request_tier_name(enum tier tier)
{
    return tier_names[tier];
}

int request_tier_from_name(const char *name, enum tier *ret, sbr_error *err)
{
    for (int i = 0; i < N_TIERS; i++) {
        if (!strcmp(name, tier_names[i])) {
            *ret = (enum tier)i;
            return 0;
        }
    }
    return err_set(err, SBR_E_INVALID, "request",
                   "there is no isolation tier '%.40s'; choose container, reduced or process",
                   name);
}

int request_new(const char *language, const char *policy, sbr_request **ret, sbr_error *err)
{
    sbr_request *req = calloc(1, sizeof(*req));

    if (!req)
        return err_set_oom(err, "request");
    limits_init(&req->limits);
    limits_init(&req->compile_limits);
    req->require = TIER_CONTAINER;
    if (request_set_text(&req->language, language, err) < 0 ||
        request_set_text(&req->policy, policy, err) < 0) {
        request_free(req);
        return err->code;
    }
    *ret = req;
    return 0;
}

int request_add_file(sbr_request *req, const char *path, const void *data, size_t len,
                     sbr_error *err)
{
    for (size_t i = 0; i < req->n_files; i++)
        if (request_files_clash(req->files[i].path, path))
            return request_files_refuse(path, req->files[i].path, err);
    return request_files_add(req, path, data, len, err);
}

/* Replaces one text of the request. */
static int set_bytes(char **field, const void *data, size_t len, const char *what, sbr_error *err)
{
    char *copy;

    if (len > REQUEST_MAX_BYTES)
        return err_set(err, SBR_E_INVALID, "request", "%s is at most %llu bytes", what,
                       (unsigned long long)REQUEST_MAX_BYTES);
    copy = request_files_copy(data, len);
    if (!copy)
        return err_set_oom(err, "request");
    free(*field);
    *field = copy;
    return 0;
}

int request_replace_file(sbr_request *req, size_t index, const void *data, size_t len,
                         sbr_error *err)
{
    struct request_file *file = &req->files[index];

    if (set_bytes(&file->data, data, len, "a file", err) < 0)
        return err->code;
    req->file_bytes += len - file->len;
    file->len = len;
    return 0;
}

int request_set_code(sbr_request *req, const void *code, size_t len, sbr_error *err)
{
    if (set_bytes(&req->code, code, len, "the program", err) < 0)
        return err->code;
    req->code_len = len;
    return 0;
}

int request_set_stdin(sbr_request *req, const void *data, size_t len, sbr_error *err)
{
    if (set_bytes(&req->stdin_data, data, len, "stdin", err) < 0)
        return err->code;
    req->stdin_len = len;
    return 0;
}

int request_add_arg(sbr_request *req, const char *arg, sbr_error *err)
{
    if (req->args.n >= REQUEST_MAX_ARGS)
        return err_set(err, SBR_E_INVALID, "request", "a program takes at most %d arguments",
                       REQUEST_MAX_ARGS);
    return string_list_add(&req->args, arg, err);
}

/* Installers would read these as an option, a path or an address, not as a name. */
static bool is_no_dependency(const char *dep)
{
    size_t len = strlen(dep);

    return len == 0 || len > REQUEST_MAX_DEP || strchr("-./~", dep[0]) || strstr(dep, "..") ||
           strstr(dep, ":/") || strstr(dep, "file:") || dep[strspn(dep, "@")] == '\0' ||
           (dep[0] == '@' && !strchr(dep, '/'));
}

int request_add_dep(sbr_request *req, const char *dep, sbr_error *err)
{
    if (is_no_dependency(dep))
        return err_set(err, SBR_E_INVALID, "request",
                       "the dependency '%.100s' is not NAME or NAME@VERSION", dep);
    for (const char *p = dep; *p; p++)
        if (!isalnum((unsigned char)*p) && !strchr("@/._-+:[],=<>~!^*", *p))
            return err_set(err, SBR_E_INVALID, "request",
                           "the dependency '%.100s' has a character that no package name has", dep);
    if (req->deps.n >= REQUEST_MAX_DEPS)
        return err_set(err, SBR_E_INVALID, "request", "a request has at most %d dependencies",
                       REQUEST_MAX_DEPS);
    return string_list_add(&req->deps, dep, err);
}

int request_add_compile_arg(sbr_request *req, const char *arg, sbr_error *err)
{
    if (req->compile_args.n >= REQUEST_MAX_ARGS)
        return err_set(err, SBR_E_INVALID, "request", "a compiler takes at most %d arguments",
                       REQUEST_MAX_ARGS);
    return string_list_add(&req->compile_args, arg, err);
}

int request_add_env(sbr_request *req, const char *pair, sbr_error *err)
{
    const char *equals = strchr(pair, '=');

    if (!equals || equals == pair)
        return err_set(err, SBR_E_INVALID, "request",
                       "the environment entry '%.100s' is not NAME=VALUE", pair);
    for (const char *p = pair; p < equals; p++)
        if ((unsigned char)*p <= 0x20 || *p == 0x7f)
            return err_set(err, SBR_E_INVALID, "request",
                           "the environment name in '%.100s' has a blank or control character",
                           pair);
    if (req->env.n >= REQUEST_MAX_ENV)
        return err_set(err, SBR_E_INVALID, "request", "a request has at most %d variables",
                       REQUEST_MAX_ENV);
    return string_list_add(&req->env, pair, err);
}

/* Names and hosts need the way out that `allow` has, which opens no connection without a rule; a
 * loopback of the program's own is there as well. */
static void widen_localhost(sbr_request *req)
{
    if (req->network_given && req->network_asked == NETWORK_LOCALHOST)
        req->network.mode =
            req->network.allow_dns || req->network.n_rules ? NETWORK_ALLOW : NETWORK_LOCALHOST;
}

void request_allow_dns(sbr_request *req, bool allow)
{
    req->network.allow_dns = allow;
    widen_localhost(req);
    if (!req->network_given && !req->network.n_rules)
        req->network.mode = req->network.allow_dns ? NETWORK_ALLOW : NETWORK_NONE;
}

int request_set_network(sbr_request *req, const char *mode, sbr_error *err)
{
    if (network_mode_from_name(mode, &req->network_asked, err) < 0)
        return err->code;
    req->network.mode = req->network_asked;
    req->network_given = true;
    request_allow_dns(req, req->network.allow_dns);
    return 0;
}

int request_allow_host(sbr_request *req, const char *rule, sbr_error *err)
{
    struct host_rule parsed;

    if (host_rule_parse(rule, &parsed, err) < 0)
        return err->code;
    if (!req->network_given)
        req->network.mode = NETWORK_ALLOW;
    if (network_add_rule(&req->network, &parsed, err) < 0)
        return err->code;
    widen_localhost(req);
    return 0;
}

bool request_has_network(const sbr_request *req)
{
    return req->network_given || req->network.n_rules || req->network.allow_dns;
}

static int check_network(const sbr_request *req, sbr_error *err)
{
    const struct network *network = &req->network;
    enum network_mode asked = req->network_given ? req->network_asked : network->mode;
    const char *mode = request_word(req, CALLED_NETWORK);
    const char *rule = request_word(req, network->n_rules ? CALLED_ALLOW_HOST : CALLED_ALLOW_DNS);

    if (asked != NETWORK_NONE || (!network->n_rules && !network->allow_dns))
        return 0;
    return err_set(
        err, SBR_E_INVALID, "network",
        "%s does not go together with %s %s; choose %s allow or %s full, or leave %s out", rule,
        mode, network_mode_name(asked), mode, mode, rule);
}

/* The sources of a program lie together; a command may have files at other places, too. */
static int check_places(const sbr_request *req, sbr_error *err)
{
    for (size_t i = 0; req->language && !req->command && i < req->n_files; i++)
        if (req->files[i].path[0] == '/')
            return err_set(err, SBR_E_INVALID, "request",
                           "the file '%.100s' lies outside /work, which only a command may have; "
                           "give a relative path",
                           req->files[i].path);
    return 0;
}

int request_check(const sbr_request *req, sbr_error *err)
{
    if (check_network(req, err) < 0 || check_places(req, err) < 0)
        return err->code;
    return request_check_trees(req, err);
}

int request_set_workdir(sbr_request *req, const char *dir, sbr_error *err)
{
    if (dir[0] != '/' || (dir[1] && !text_is_safe_relative_path(dir + 1, REQUEST_MAX_PATH)))
        return err_set(err, SBR_E_INVALID, "request",
                       "the work directory '%.100s' is not an absolute path without '..' inside "
                       "the sandbox",
                       dir);
    return request_set_text(&req->workdir, dir, err);
}

int request_set_caller(sbr_request *req, const char *name, sbr_error *err)
{
    size_t len = strlen(name);

    if (len == 0 || len > REQUEST_MAX_CALLER)
        return err_set(err, SBR_E_INVALID, "request",
                       "the caller '%.80s' has %zu bytes; give a name of 1 to %d", name, len,
                       REQUEST_MAX_CALLER);
    memcpy(req->caller, name, len + 1);
    return 0;
}

void request_set_require(sbr_request *req, enum tier tier)
{
    req->require = tier;
    req->require_given = true;
}

int request_require(sbr_request *req, const char *name, sbr_error *err)
{
    if (request_tier_from_name(name, &req->require, err) < 0)
        return err->code;
    req->require_given = true;
    return 0;
}

void request_allow_degraded(sbr_request *req, bool allow)
{
    if (allow) {
        request_set_require(req, TIER_PROCESS);
    } else if (req->require == TIER_PROCESS) {
        req->require = TIER_CONTAINER;
        req->require_given = false;
    }
}

/* Adds to the list of `req` what the same list of `over` has. */
static int append(sbr_request *req, const struct request_field *field,
                  const struct string_list *over, sbr_error *err)
{
    for (size_t i = 0; i < over->n; i++)
        if (request_field_set(req, field, over->items[i], err) < 0)
            return err->code;
    return 0;
}

static int replace(void *to, const void *from, const struct request_field *field, sbr_error *err)
{
    const char *const *text = from, *byte = from;

    if (field->kind == FIELD_TEXT)
        return *text ? request_set_text(to, *text, err) : 0;
    if (field->kind == FIELD_LIMITS)
        limits_override(to, from);
    else if (byte[0] || memcmp(byte, byte + 1, field->size - 1) != 0)
        memcpy(to, from, field->size);
    return 0;
}

static int override_fields(sbr_request *req, const sbr_request *over, sbr_error *err)
{
    for (const struct request_field *field = request_fields; field->size; field++) {
        void *to = request_field_at(req, field);
        const void *from = request_field_at(over, field);

        if (field->merge == MERGE_OR)
            *(bool *)to |= *(const bool *)from;
        else if (field->merge == MERGE_REPLACE && replace(to, from, field, err) < 0)
            return err->code;
        else if (field->merge == MERGE_APPEND && field->kind != FIELD_TEXTS &&
                 append(req, field, from, err) < 0)
            return err->code;
    }
    return 0;
}

static int override_volumes(sbr_request *req, const sbr_request *over, sbr_error *err)
{
    for (size_t i = 0; i < over->n_volumes; i++) {
        const struct request_volume *volume = &over->volumes[i];
        scoped_free char *spec = NULL;

        if (asprintf(&spec, "%s:%s:%s", volume->source, volume->target,
                     request_volume_mode_name(volume)) < 0)
            return err_set_oom(err, "request");
        if (request_add_volume(req, spec, err) < 0)
            return err->code;
    }
    for (size_t i = 0; i < over->outputs.n; i++) {
        const struct output_rule *rule = &over->outputs.items[i];
        scoped_free char *spec = NULL;

        if (asprintf(&spec, "%s%s%s", rule->pattern, rule->dir ? ":" : "",
                     rule->dir ? rule->dir : "") < 0)
            return err_set_oom(err, "request");
        if (request_add_output(req, spec, err) < 0)
            return err->code;
    }
    return 0;
}

/* /work holds one tree only: the one of `over` replaces the request's, with the program in it. */
static int override_trees(sbr_request *req, const sbr_request *over, sbr_error *err)
{
    if (!over->project && !over->workspace)
        return 0;
    if ((!over->project && request_set_text(&req->program, NULL, err) < 0) ||
        request_set_text(&req->project, over->project, err) < 0)
        return err->code;
    return request_set_text(&req->workspace, over->workspace, err);
}

/* Adds the rules of `over`, except when its mode leaves nothing for rules to open. */
static int override_network(sbr_request *req, const sbr_request *over, sbr_error *err)
{
    if (over->network_given) {
        req->network.mode = over->network.mode;
        req->network_asked = over->network_asked;
        req->network_given = true;
        if (!network_goes_outside(req->network.mode)) {
            network_done(&req->network);
            req->network = (struct network){ .mode = over->network.mode };
        }
    } else if (over->network.n_rules && !req->network_given) {
        req->network.mode = NETWORK_ALLOW;
    }
    for (size_t i = 0; i < over->network.n_rules; i++)
        if (network_add_rule(&req->network, &over->network.rules[i], err) < 0)
            return err->code;
    request_allow_dns(req, req->network.allow_dns || over->network.allow_dns);
    if (secrets_join(&req->secrets, &over->secrets, err) < 0)
        return err->code;
    return publish_join(&req->publish, &over->publish, err);
}

bool request_is_term(const char *text)
{
    size_t len = strlen(text);

    return len > 0 && len < REQUEST_MAX_TERM &&
           strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._+-") ==
               len;
}

int request_set_tty(sbr_request *req, uint64_t rows, uint64_t columns, sbr_error *err)
{
    if (rows < 1 || rows > REQUEST_TTY_MAX || columns < 1 || columns > REQUEST_TTY_MAX)
        return err_set(err, SBR_E_INVALID, "request",
                       "a terminal has 1 to %d rows and 1 to %d columns", REQUEST_TTY_MAX,
                       REQUEST_TTY_MAX);
    req->tty.rows = (unsigned int)rows;
    req->tty.columns = (unsigned int)columns;
    req->tty.streams = REQUEST_TTY_ALL;
    return 0;
}

int request_override(sbr_request *req, const sbr_request *over, sbr_error *err)
{
    if (over->require_given)
        request_set_require(req, over->require);
    if (override_fields(req, over, err) < 0 || override_network(req, over, err) < 0 ||
        override_trees(req, over, err) < 0)
        return err->code;
    return override_volumes(req, over, err);
}
