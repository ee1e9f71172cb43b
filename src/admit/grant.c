#include "admit/grant.h"

#include <stdio.h>
#include <string.h>

#include "config/config.h"
#include "model/request.h"
#include "plan/language.h"

static const struct {
    unsigned int scope;
    const char *name;
} scopes[] = { { SCOPE_RUN, "run" },
               { SCOPE_SESSIONS, "sessions" },
               { SCOPE_FILES, "files" },
               { SCOPE_METRICS, "metrics" },
               { SCOPE_ALL, "all" } };

bool grant_is_tenant(const char *text)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-";
    size_t len = strlen(text);

    return len > 0 && len < GRANT_TENANT_SIZE && strspn(text, plain) == len && text[0] != '-' &&
           strcmp(text, GRANT_LOCAL) != 0;
}

const char *grant_scope_name(unsigned int scope)
{
    for (size_t i = 0; i < ARRAY_LEN(scopes); i++)
        if (scopes[i].scope == scope)
            return scopes[i].name;
    return NULL;
}

static unsigned int scope_of(const char *word, size_t len)
{
    for (size_t i = 0; i < ARRAY_LEN(scopes); i++)
        if (strlen(scopes[i].name) == len && !memcmp(scopes[i].name, word, len))
            return scopes[i].scope;
    return SCOPE_NONE;
}

int grant_parse_scopes(const char *text, unsigned int *ret)
{
    unsigned int all = 0;

    for (size_t len; *text; text += len + (text[len] == ',')) {
        unsigned int scope;

        len = strcspn(text, ",");
        scope = scope_of(text, len);
        if (scope == SCOPE_NONE)
            return -1;
        all |= scope;
    }
    *ret = all;
    return 0;
}

void grant_init_local(struct grant *ret)
{
    *ret = (struct grant){
        .scopes = SCOPE_ALL, .network = NETWORK_FULL, .packages = true, .local = true
    };
    limits_init(&ret->ceilings);
    snprintf(ret->name, sizeof(ret->name), "%s", GRANT_LOCAL);
}

void grant_init_token(struct grant *ret)
{
    *ret = (struct grant){ .network = NETWORK_NONE,
                           .idle_ms = GRANT_IDLE_MS,
                           .age_ms = GRANT_AGE_MS,
                           .workspaces = GRANT_WORKSPACES,
                           .workspace_bytes = GRANT_WORKSPACE_BYTES };
    limits_init(&ret->ceilings);
}

/* Calls back for each word of a list with commas until one is right. */
static bool any_word(const char *list, bool (*is_right)(const char *word, const void *wanted),
                     const void *wanted)
{
    for (size_t len; *list; list += len + (list[len] == ',')) {
        char word[HOST_RULE_TEXT];

        len = strcspn(list, ",");
        snprintf(word, sizeof(word), "%.*s", (int)len, list);
        if (is_right(word, wanted))
            return true;
    }
    return false;
}

bool grant_has_language(const struct grant *grant, const char *language)
{
    return !grant->languages[0] || language_is_listed(grant->languages, language);
}

static bool covers_host(const char *word, const void *wanted)
{
    struct host_rule rule;
    sbr_error ignored;

    return host_rule_parse(word, &rule, &ignored) == 0 && config_rule_covers(&rule, wanted);
}

bool grant_names_host(const struct grant *grant, const struct host_rule *rule)
{
    for (size_t i = 0; grant->own && i < grant->own->n_rules; i++)
        if (config_rule_covers(&grant->own->rules[i], rule))
            return true;
    return any_word(grant->hosts, covers_host, rule);
}

/* NAME:* is every tag of NAME, and no image of a registry that is called so, as in NAME:5000/X. */
static bool covers_image(const char *word, const void *wanted)
{
    size_t len = strlen(word);
    const char *tag;

    if (len <= 2 || strcmp(word + len - 2, ":*") != 0)
        return !strcmp(word, wanted);
    if (strncmp(word, wanted, len - 2) != 0)
        return false;
    tag = (const char *)wanted + len - 2;
    return strchr(":@", *tag) && !strchr(tag, '/');
}

bool grant_has_image(const struct grant *grant, const char *image)
{
    return !grant->images[0] || any_word(grant->images, covers_image, image);
}

enum network_mode grant_widest(const struct grant *grant)
{
    return grant->hosts[0] && grant->network > NETWORK_ALLOW ? NETWORK_ALLOW : grant->network;
}

uint64_t grant_most(const struct grant *grant, enum sbr_limit which)
{
    return grant->ceilings.given >> which & 1 ? grant->ceilings.value[which] : LIMIT_NONE;
}

void grant_of_tools(const struct grant *grant, const struct sbr_request *base, struct grant *ret)
{
    if (grant)
        *ret = *grant;
    else
        *ret = (struct grant){ .scopes = SCOPE_ALL,
                               .network = base->network.mode,
                               .own = &base->network,
                               .packages = !base->installs_nothing };
    if (!grant)
        limits_init(&ret->ceilings);
    for (unsigned int i = 0; i < N_LIMITS; i++) {
        bool is_time = i == SBR_WALL_MS && !(base->limits.given >> i & 1);

        if (grant && grant->ceilings.given >> i & 1)
            continue;
        /* As long as a client waits, not the short default of a run. */
        ret->ceilings.value[i] = is_time ? GRANT_TOOL_MS : base->limits.value[i];
        ret->ceilings.given |= 1u << i;
    }
    ret->local = false;
}
