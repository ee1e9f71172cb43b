/* Values that both files have, as a run needs them. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config/config.h"

/* The sentence of *err with the place of the value in front. */
int config_value_fault(const struct config_text *text, const char *section, const char *key,
                       sbr_error *err)
{
    char why[sizeof(err->message)];

    snprintf(why, sizeof(why), "%s", err->message);
    return config_fault(text, section, key, why, err);
}

int config_set_limit(const struct config_text *text, const char *section, struct limits *limits,
                     enum sbr_limit which, const char *value, sbr_error *err)
{
    const char *name = limit_defs[which].option;

    if (limits_set_named(limits, which, name, value, err) < 0)
        return config_value_fault(text, section, name, err);
    return 0;
}

int config_parse_network(const struct config_text *text, const struct config_network *from,
                         struct network *ret, sbr_error *err)
{
    *ret = (struct network){ .mode = from->allow_hosts_count ? NETWORK_ALLOW : NETWORK_NONE };
    if (from->mode && network_mode_from_name(from->mode, &ret->mode, err) < 0)
        return config_value_fault(text, "network", "mode", err);
    for (unsigned int i = 0; i < from->allow_hosts_count; i++) {
        struct host_rule rule;

        if (host_rule_parse(from->allow_hosts[i], &rule, err) < 0 ||
            network_add_rule(ret, &rule, err) < 0)
            return config_value_fault(text, "network", "allow_hosts", err);
    }
    ret->allow_dns = from->allow_dns && *from->allow_dns;
    if (!network_goes_outside(ret->mode) && (ret->n_rules || ret->allow_dns))
        return config_fault(text, "network", ret->n_rules ? "allow_hosts" : "allow_dns",
                            "the mode reaches nothing outside; make it allow or full", err);
    return 0;
}

char *config_value_path(const struct config *config, const char *path)
{
    const char *home = getenv("HOME"), *own = config->path[CONFIG_OF_USER];
    char *made = NULL;
    int r;

    if (!strncmp(path, "~/", 2) && home)
        r = asprintf(&made, "%s%s", home, path + 1);
    else if (path[0] == '/')
        r = asprintf(&made, "%s", path);
    else
        r = asprintf(&made, "%.*s/%s", (int)(strrchr(own, '/') - own), own, path);
    return r < 0 ? NULL : made;
}

static int add_list(struct string_list *list, char *const *items, unsigned int n,
                    const struct config_text *text, const char *key, sbr_error *err)
{
    for (unsigned int i = 0; i < n; i++)
        if (exclude_check("the pattern", items[i], err) < 0)
            return config_value_fault(text, NULL, key, err);
        else if (string_list_add(list, items[i], err) < 0)
            return err->code;
    return 0;
}

int config_take_secrets(struct config *config, const struct config_text *text,
                        const struct config_document *document, sbr_error *err)
{
    for (unsigned int i = 0; i < document->secrets_count; i++) {
        if (secrets_check_text(document->secrets[i], err) < 0)
            return config_value_fault(text, NULL, "secrets", err);
        if (string_list_add(&config->secrets, document->secrets[i], err) < 0)
            return err->code;
    }
    return 0;
}

int config_add_patterns(struct config *config, const struct config_text *text,
                        const struct config_document *document, enum config_origin origin,
                        sbr_error *err)
{
    if (document->exclude_count)
        config->from[CONFIG_EXCLUDE] =
            (struct config_from){ origin, config_text_line(text, NULL, "exclude") };
    if (document->include_count)
        config->from[CONFIG_INCLUDE] =
            (struct config_from){ origin, config_text_line(text, NULL, "include") };
    if (add_list(&config->exclude, document->exclude, document->exclude_count, text, "exclude",
                 err) < 0)
        return err->code;
    return add_list(&config->include, document->include, document->include_count, text, "include",
                    err);
}
