/* The project's file: each value is taken only when it allows less than what holds without it. */
#include <stdio.h>
#include <string.h>

#include "config/config.h"
#include "plan/policy.h"

static void take(struct config *config, unsigned int item, unsigned int line)
{
    config->from[item] = (struct config_from){ CONFIG_BY_PROJECT, line };
}

static void leave(struct config *config, const struct config_text *text, unsigned int line,
                  const char *value, const char *holds)
{
    buf_printf(&config->notes,
               "%s:%u: '%s' would allow more than what holds (%s) and is not taken; an option or "
               "your own configuration can allow it\n",
               text->path, line, value, holds);
}

static int tighten_limits(struct config *config, const struct config_text *text,
                          const struct config_document *document, sbr_error *err)
{
    for (unsigned int i = 0; i < N_LIMITS; i++) {
        const char *value = document->limits.value[i];
        unsigned int line = config_text_line(text, "limits", limit_defs[i].option);
        struct limits asked = config->limits;
        char holds[32];

        if (!value)
            continue;
        if (config_set_limit(text, "limits", &asked, (enum sbr_limit)i, value, err) < 0)
            return err->code;
        if (asked.value[i] > config->limits.value[i]) {
            limits_format((enum sbr_limit)i, config->limits.value[i], holds, sizeof(holds));
            leave(config, text, line, value, holds);
            continue;
        }
        config->limits = asked;
        take(config, i, line);
    }
    return 0;
}

bool config_rule_covers(const struct host_rule *wide, const struct host_rule *narrow)
{
    size_t wide_len = strlen(wide->name), len = strlen(narrow->name);

    if ((wide->port && wide->port != narrow->port) || narrow->anywhere > wide->anywhere)
        return false;
    switch (wide->kind) {
    case HOST_NAME:
        return narrow->kind == HOST_NAME && !strcmp(wide->name, narrow->name);
    case HOST_BELOW: /* *.NAME covers what is below NAME, not NAME itself */
        if (narrow->kind == HOST_BELOW && !strcmp(wide->name, narrow->name))
            return true;
        return narrow->kind != HOST_NETWORK && len > wide_len + 1 &&
               narrow->name[len - wide_len - 1] == '.' &&
               !strcmp(narrow->name + len - wide_len, wide->name);
    case HOST_NETWORK:
        return narrow->kind == HOST_NETWORK && narrow->prefix >= wide->prefix &&
               address_in(&narrow->network, &wide->network, wide->prefix);
    case N_HOST_RULE_KINDS:
        break;
    }
    return false;
}

/* Mode `full` reaches every public address, so every name that leads to one. */
bool config_network_covers(const struct network *holds, const struct host_rule *rule)
{
    if (holds->mode == NETWORK_FULL && rule->kind != HOST_NETWORK && !rule->anywhere &&
        !network_rule_is_loopback(rule))
        return true;
    for (size_t i = 0; i < holds->n_rules; i++)
        if (config_rule_covers(&holds->rules[i], rule))
            return true;
    return false;
}

/* Keeps of `asked` what `holds` allows. */
static int meet(struct config *config, const struct config_text *text, struct network *asked,
                struct network *ret, sbr_error *err)
{
    struct network *holds = &config->network;
    unsigned int line = config_text_line(text, "network", "allow_hosts");
    bool dns = holds->allow_dns || holds->mode == NETWORK_FULL;

    *ret = (struct network){ .mode = asked->mode, .allow_dns = asked->allow_dns && dns };
    if (asked->mode > holds->mode) {
        leave(config, text, config_text_line(text, "network", "mode"),
              network_mode_name(asked->mode), network_mode_name(holds->mode));
        ret->mode = holds->mode;
    }
    if (asked->allow_dns && !dns)
        leave(config, text, config_text_line(text, "network", "allow_dns"), "allow_dns: true",
              "allow_dns: false");
    for (size_t i = 0; i < asked->n_rules; i++) {
        if (!config_network_covers(holds, &asked->rules[i]))
            leave(config, text, line, asked->rules[i].text, "the allowed hosts");
        else if (network_add_rule(ret, &asked->rules[i], err) < 0)
            return err->code;
    }
    return 0;
}

/* A mode without a list of hosts leaves the user's list as it is. */
static int keep_hosts(const struct network *holds, struct network *ret, sbr_error *err)
{
    for (size_t i = 0; i < holds->n_rules; i++)
        if (network_add_rule(ret, &holds->rules[i], err) < 0)
            return err->code;
    return 0;
}

static int tighten_network(struct config *config, const struct config_text *text,
                           const struct config_network *from, sbr_error *err)
{
    struct network asked = { .n_rules = 0 }, met = { .n_rules = 0 };
    int r;

    if (!from->mode && !from->allow_hosts_count && !from->allow_dns)
        return 0;
    r = config_parse_network(text, from, &asked, err);
    if (r == 0)
        r = meet(config, text, &asked, &met, err);
    if (r == 0 && !from->allow_hosts_count && network_goes_outside(met.mode))
        r = keep_hosts(&config->network, &met, err);
    /* With every host left out, nothing outside is reached. */
    if (met.mode == NETWORK_ALLOW && !met.n_rules && !met.allow_dns)
        met.mode = NETWORK_NONE;
    if (!network_goes_outside(met.mode)) {
        enum network_mode mode = met.mode;

        network_done(&met);
        met.mode = mode;
    }
    network_done(&asked);
    if (r < 0) {
        network_done(&met);
        return r;
    }
    network_done(&config->network);
    config->network = met;
    take(config, CONFIG_NETWORK, config_text_line(text, NULL, "network"));
    return 0;
}

/* The default policy allows most; every other that a file can name extends it. */
static int tighten_policy(struct config *config, const struct config_text *text, const char *name,
                          sbr_error *err)
{
    unsigned int line = config_text_line(text, NULL, "policy");
    const struct policy *policy;

    if (policy_is_file(name))
        return config_fault(text, NULL, "policy",
                            "only the user's own file can name a file; name a shipped policy", err);
    if (policy_resolve(name, &policy, err) < 0)
        return config_value_fault(text, NULL, "policy", err);
    if (strcmp(name, config->policy) != 0 && strcmp(config->policy, "default") != 0) {
        leave(config, text, line, name, config->policy);
        return 0;
    }
    snprintf(config->policy, sizeof(config->policy), "%s", name);
    take(config, CONFIG_POLICY, line);
    return 0;
}

static int tighten_require(struct config *config, const struct config_text *text, const char *name,
                           sbr_error *err)
{
    unsigned int line = config_text_line(text, NULL, "require");
    enum tier tier;

    if (request_tier_from_name(name, &tier, err) < 0)
        return config_value_fault(text, NULL, "require", err);
    if (tier < config->require) {
        leave(config, text, line, name, request_tier_name(config->require));
        return 0;
    }
    config->require = tier;
    take(config, CONFIG_REQUIRE, line);
    return 0;
}

int config_tighten(struct config *config, const struct config_text *text,
                   const struct config_document *document, sbr_error *err)
{
    if (tighten_limits(config, text, document, err) < 0 ||
        tighten_network(config, text, &document->network, err) < 0 ||
        config_add_patterns(config, text, document, CONFIG_BY_PROJECT, err) < 0)
        return err->code;
    if (document->policy && tighten_policy(config, text, document->policy, err) < 0)
        return err->code;
    return document->require ? tighten_require(config, text, document->require, err) : 0;
}
