#include "http/tenant.h"

#include <stdio.h>
#include <string.h>

static const struct {
    unsigned int scope;
    const char *name;
} scopes[] = { { SCOPE_RUN, "run" },
               { SCOPE_SESSIONS, "sessions" },
               { SCOPE_FILES, "files" },
               { SCOPE_METRICS, "metrics" },
               { SCOPE_ALL, "all" } };

bool tenant_is_name(const char *text)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-";
    size_t len = strlen(text);

    return len > 0 && len < TENANT_NAME_SIZE && strspn(text, plain) == len && text[0] != '-' &&
           strcmp(text, TENANT_LOCAL) != 0;
}

const char *tenant_scope_name(unsigned int scope)
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

int tenant_parse_scopes(const char *text, unsigned int *ret)
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

void tenant_init_local(struct tenant *ret)
{
    *ret = (struct tenant){ .scopes = SCOPE_ALL, .network = NETWORK_FULL, .local = true };
    limits_init(&ret->ceilings);
    snprintf(ret->name, sizeof(ret->name), "%s", TENANT_LOCAL);
}

bool tenant_allows_language(const struct tenant *tenant, const char *language)
{
    char name[64];

    snprintf(name, sizeof(name), "%.*s", (int)strcspn(language, "@"), language);
    return !tenant->languages[0] || text_list_has(tenant->languages, name);
}
