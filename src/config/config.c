#include "config/config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config/trust.h"
#include "plan/language.h"
#include "plan/policy_own.h"

#define NOTES_MAX (64 * 1024)

static void note_from(struct config *config, unsigned int item, const struct config_text *text,
                      const char *section, const char *key)
{
    config->from[item] =
        (struct config_from){ CONFIG_BY_USER, config_text_line(text, section, key) };
}

/* By its name, or from a file. */
static int find_policy(const struct config *config, const char *word, const struct policy **ret,
                       sbr_error *err)
{
    scoped_free char *path = NULL;

    if (!policy_is_file(word))
        return policy_resolve(word, ret, err);
    path = config_value_path(config, word);
    return path ? policy_own_add(path, ret, err) : err_set_oom(err, "config");
}

static int parse_audit(const char *word, struct config *config, sbr_error *err)
{
    config->audit_code = !strcmp(word, "with-code");
    config->audit = config->audit_code || !strcmp(word, "true");
    if (config->audit || !strcmp(word, "false"))
        return 0;
    return err_set(err, SBR_E_INVALID, "config",
                   "'%.40s' is neither true nor false nor with-code; say `audit: true`", word);
}

static int take_names(struct config *config, const struct config_text *text,
                      const struct config_document *document, sbr_error *err)
{
    const struct policy *policy;

    if (document->policy) {
        if (find_policy(config, document->policy, &policy, err) < 0)
            return config_value_fault(text, NULL, "policy", err);
        snprintf(config->policy, sizeof(config->policy), "%s", policy->name);
        note_from(config, CONFIG_POLICY, text, NULL, "policy");
    }
    if (document->audit) {
        if (parse_audit(document->audit, config, err) < 0)
            return config_value_fault(text, NULL, "audit", err);
        note_from(config, CONFIG_AUDIT, text, NULL, "audit");
    }
    if (document->require) {
        if (request_tier_from_name(document->require, &config->require, err) < 0)
            return config_value_fault(text, NULL, "require", err);
        note_from(config, CONFIG_REQUIRE, text, NULL, "require");
    }
    if (document->backend) {
        if (request_check_backend(document->backend, err) < 0)
            return config_value_fault(text, NULL, "backend", err);
        config->backend = document->backend;
        note_from(config, CONFIG_BACKEND, text, NULL, "backend");
    }
    return 0;
}

static int take_retention(struct config *config, const struct config_text *text,
                          const struct config_document *document, sbr_error *err)
{
    for (unsigned int i = 0; i < N_RETENTIONS; i++) {
        const char *value = document->retention.value[i], *reason;
        char why[200];

        if (!value)
            continue;
        if (retention_parse((enum retention_item)i, value, &config->retention.value[i], &reason) <
            0) {
            snprintf(why, sizeof(why), "'%.60s' %s; write it as %s", value, reason,
                     retention_defs[i].is_age ? "30d or 12h" : "10g");
            return config_fault(text, "retention", retention_defs[i].key, why, err);
        }
        note_from(config, CONFIG_RETENTION + i, text, "retention", retention_defs[i].key);
    }
    return 0;
}

/* `values` are of the section; `first` is the item of its first limit. */
static int take_limits(struct config *config, const struct config_text *text, const char *section,
                       char *const *values, struct limits *ret, unsigned int first, sbr_error *err)
{
    for (unsigned int i = 0; i < N_LIMITS; i++) {
        if (!values[i])
            continue;
        if (config_set_limit(text, section, ret, (enum sbr_limit)i, values[i], err) < 0)
            return err->code;
        note_from(config, first + i, text, section, limit_defs[i].option);
    }
    return 0;
}

static int take_user(struct config *config, const struct config_text *text,
                     const struct config_document *document, sbr_error *err)
{
    const struct config_network *network = &document->network;

    if (take_limits(config, text, "limits", document->limits.value, &config->limits, 0, err) < 0 ||
        take_limits(config, text, "compile_limits", document->compile_limits.value,
                    &config->compile_limits, CONFIG_COMPILE, err) < 0)
        return err->code;
    if (network->mode || network->allow_hosts_count || network->allow_dns) {
        if (config_parse_network(text, network, &config->network, err) < 0)
            return err->code;
        note_from(config, CONFIG_NETWORK, text, NULL, "network");
    }
    if (take_retention(config, text, document, err) < 0 ||
        config_take_secrets(config, text, document, err) < 0 ||
        config_add_patterns(config, text, document, CONFIG_BY_USER, err) < 0)
        return err->code;
    return take_names(config, text, document, err);
}

static int load_user(struct config *config, sbr_error *err)
{
    struct config_text text = { .text = NULL };
    int r;

    if (!config_user_path(config->path[CONFIG_OF_USER]))
        return 0;
    r = config_text_read(CONFIG_OF_USER, config->path[CONFIG_OF_USER], &text, err);
    if (r == 1)
        r = config_document_load(&text, CONFIG_OF_USER, &config->user, err);
    else if (r == 0)
        return 0;
    if (r == 0)
        r = take_user(config, &text, config->user, err);
    config->languages_line = config_text_line(&text, NULL, "languages");
    config->state[CONFIG_OF_USER] = CONFIG_READ;
    config_text_done(&text);
    return r;
}

static int load_project(struct config *config, const char *start, sbr_error *err)
{
    struct config_text text = { .text = NULL };
    struct config_document *document = NULL;
    sbr_error refusal;
    int r;

    if (!start || !config_project_path(start, config->path[CONFIG_OF_PROJECT])) {
        config->path[CONFIG_OF_PROJECT][0] = '\0';
        return 0;
    }
    r = config_text_read(CONFIG_OF_PROJECT, config->path[CONFIG_OF_PROJECT], &text, &refusal);
    /* A file that is not trusted, or that others could have written, changes nothing. */
    config->state[CONFIG_OF_PROJECT] = r == 0 ? CONFIG_ABSENT : CONFIG_IGNORED;
    if (r < 0) {
        buf_printf(&config->notes, "%s; it is ignored\n", refusal.message);
    } else if (r == 1 && !trust_has(text.path, text.digest)) {
        buf_printf(&config->notes,
                   "'%s' is not trusted and is ignored; read it, then say `sandbox-run trust %s`\n",
                   text.path, text.path);
    } else if (r == 1) {
        config->state[CONFIG_OF_PROJECT] = CONFIG_READ;
        r = config_document_load(&text, CONFIG_OF_PROJECT, &document, err);
        if (r == 0)
            r = config_tighten(config, &text, document, err);
        config_document_free(document);
    }
    config_text_done(&text);
    return config->state[CONFIG_OF_PROJECT] == CONFIG_READ ? r : 0;
}

static void init(struct config *config)
{
    *config =
        (struct config){ .require = TIER_CONTAINER, .policy = "default", .backend = "native" };
    limits_init(&config->limits);
    limits_init(&config->compile_limits);
    retention_init(&config->retention);
    buf_init(&config->notes, NOTES_MAX);
}

int config_load(const char *start, struct config *ret, sbr_error *err)
{
    init(ret);
    if (load_user(ret, err) < 0 || load_project(ret, start, err) < 0) {
        config_done(ret);
        return err->code;
    }
    return 0;
}

void config_done(struct config *config)
{
    network_done(&config->network);
    string_list_done(&config->exclude);
    string_list_done(&config->include);
    string_list_done(&config->secrets);
    config_document_free(config->user);
    buf_done(&config->notes);
    config->user = NULL;
}

int config_check_project(const struct config_text *text, sbr_error *err)
{
    struct config_document *document = NULL;
    struct config config;
    int r;

    init(&config);
    r = config_document_load(text, CONFIG_OF_PROJECT, &document, err);
    if (r == 0)
        r = config_tighten(&config, text, document, err);
    config_document_free(document);
    config_done(&config);
    return r;
}

static int apply_network(const struct config *config, sbr_request *req, sbr_error *err)
{
    const struct network *network = &config->network;

    if (config->from[CONFIG_NETWORK].origin == CONFIG_BY_DEFAULT || request_has_network(req) ||
        req->network.allow_dns || (req->policy && strcmp(req->policy, "default") != 0))
        return 0; /* another policy has a network of its own */
    if (req->secrets.n && !network_goes_outside(network->mode))
        return 0; /* whoever gives a secret gives its hosts */
    for (size_t i = 0; i < network->n_rules; i++)
        if (network_add_rule(&req->network, &network->rules[i], err) < 0)
            return err->code;
    req->network.mode = network->mode;
    req->network.allow_dns = network->allow_dns;
    req->network_given = true;
    req->network_asked = network->mode;
    return 0;
}

/* The version that the user prefers, when the request names the language alone. */
static int apply_version(const struct config *config, sbr_request *req, sbr_error *err)
{
    const struct language *wanted = NULL;

    if (!config->user || !req->language || strchr(req->language, '@'))
        return 0;
    wanted = language_find(req->language);
    for (unsigned int i = config->user->n_languages; wanted && i-- > 0;) {
        const struct config_language *l = &config->user->languages[i];
        char name[128];

        if (!l->version || !l->name || language_find(l->name) != wanted)
            continue;
        snprintf(name, sizeof(name), "%.60s@%.60s", req->language, l->version);
        return request_set_text(&req->language, name, err);
    }
    return 0;
}

/* The files' patterns hold beside the request's own. */
static int apply_patterns(const struct config *config, sbr_request *req, sbr_error *err)
{
    for (size_t i = 0; i < config->exclude.n; i++)
        if (request_add_exclude(req, config->exclude.items[i], err) < 0)
            return err->code;
    for (size_t i = 0; i < config->include.n; i++)
        if (request_add_include(req, config->include.items[i], err) < 0)
            return err->code;
    return 0;
}

/* Those that a file has and the request has not. */
static void apply_limits(const struct config *config, struct limits limits, unsigned int first,
                         struct limits *ret)
{
    limits.given = 0;
    for (unsigned int i = 0; i < N_LIMITS; i++)
        if (config->from[first + i].origin != CONFIG_BY_DEFAULT && !(ret->given >> i & 1))
            limits.given |= 1u << i;
    limits_override(ret, &limits);
}

int config_apply(const struct config *config, sbr_request *req, sbr_error *err)
{
    apply_limits(config, config->limits, 0, &req->limits);
    apply_limits(config, config->compile_limits, CONFIG_COMPILE, &req->compile_limits);
    req->audit |= config->audit;
    req->audit_code |= config->audit_code;
    req->keep_seconds = config->retention.value[RETAIN_OUTPUT_AGE];
    req->keep_bytes = config->retention.value[RETAIN_OUTPUT_SIZE];
    req->audit_bytes = config->retention.value[RETAIN_AUDIT_SIZE];
    if (config->from[CONFIG_POLICY].origin != CONFIG_BY_DEFAULT && !req->policy &&
        request_set_text(&req->policy, config->policy, err) < 0)
        return err->code;
    if (config->from[CONFIG_REQUIRE].origin != CONFIG_BY_DEFAULT && !req->require_given)
        request_set_require(req, config->require);
    if (config->from[CONFIG_BACKEND].origin != CONFIG_BY_DEFAULT && !req->backend &&
        request_set_text(&req->backend, config->backend, err) < 0)
        return err->code;
    if (secrets_resolve(&req->secrets, &config->secrets, err) < 0)
        return err->code;
    if (apply_patterns(config, req, err) < 0 || apply_network(config, req, err) < 0)
        return err->code;
    return apply_version(config, req, err);
}
