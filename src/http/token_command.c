#include "http/token_command.h"

#include <getopt.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/json_read.h"
#include "base/scope.h"
#include "base/text.h"
#include "config/audit.h"
#include "http/token.h"

enum token_word {
    WORD_NAME = 256,
    WORD_TENANT,
    WORD_SCOPE,
    WORD_LIMIT,
    WORD_NETWORK,
    WORD_HOST,
    WORD_CONCURRENCY,
    WORD_RATE,
    WORD_SESSIONS,
    WORD_LANGUAGES,
    WORD_EXPIRES,
    WORD_JSON
};

static const struct option words[] = {
    { "name", required_argument, NULL, WORD_NAME },
    { "tenant", required_argument, NULL, WORD_TENANT },
    { "scope", required_argument, NULL, WORD_SCOPE },
    { "limit", required_argument, NULL, WORD_LIMIT },
    { "network", required_argument, NULL, WORD_NETWORK },
    { "allow-host", required_argument, NULL, WORD_HOST },
    { "concurrency", required_argument, NULL, WORD_CONCURRENCY },
    { "rate", required_argument, NULL, WORD_RATE },
    { "sessions", required_argument, NULL, WORD_SESSIONS },
    { "languages", required_argument, NULL, WORD_LANGUAGES },
    { "expires", required_argument, NULL, WORD_EXPIRES },
    { "json", no_argument, NULL, WORD_JSON },
    { NULL, 0, NULL, 0 },
};

struct request {
    struct token_grant grant;
    bool json;
    const char *which;
};

static int set_count(unsigned int *ret, const char *text, sbr_error *err)
{
    uint64_t value;

    if (text_parse_count(text, &value) != TEXT_OK || value == 0 || value > 1000000)
        return err_set(err, SBR_E_INVALID, "token", "'%.40s' is no number from 1 to 1000000", text);
    *ret = (unsigned int)value;
    return 0;
}

static int set_name(char *to, size_t size, const char *text, sbr_error *err)
{
    if (!tenant_is_name(text) || strlen(text) >= size)
        return err_set(err, SBR_E_INVALID, "token",
                       "'%.40s' is no name: it has 1 to 32 letters, digits, '_' and '-', and "
                       "`local` is taken",
                       text);
    snprintf(to, size, "%s", text);
    return 0;
}

static int set_expiry(struct token_grant *grant, const char *text, sbr_error *err)
{
    uint64_t ms;

    if (text_parse_duration(text, &ms) != TEXT_OK || ms < 1000)
        return err_set(err, SBR_E_INVALID, "token",
                       "--expires '%.40s' is no time from now, as in 24h", text);
    grant->expires_s = (uint64_t)time(NULL) + ms / 1000;
    return 0;
}

static int set_scopes(struct tenant *tenant, const char *text, sbr_error *err)
{
    unsigned int scopes = 0;

    if (tenant_parse_scopes(text, &scopes) < 0 || !scopes)
        return err_set(err, SBR_E_INVALID, "token",
                       "--scope '%.60s' must be run, sessions, files, metrics or all, with commas",
                       text);
    tenant->scopes |= scopes;
    return 0;
}

static int add_host(struct tenant *tenant, const char *text, sbr_error *err)
{
    size_t used = strlen(tenant->hosts);
    struct host_rule rule;

    if (host_rule_parse(text, &rule, err) < 0)
        return err->code;
    if (used + strlen(text) + 2 > sizeof(tenant->hosts))
        return err_set(err, SBR_E_INVALID, "token", "the rules of --allow-host are too long");
    snprintf(tenant->hosts + used, sizeof(tenant->hosts) - used, "%s%s", used ? "," : "", text);
    return 0;
}

static int set_word(struct request *request, int word, const char *value, sbr_error *err)
{
    struct tenant *tenant = &request->grant.tenant;

    switch (word) {
    case WORD_NAME:
        return set_name(request->grant.name, TENANT_NAME_SIZE, value, err);
    case WORD_TENANT:
        return set_name(tenant->name, sizeof(tenant->name), value, err);
    case WORD_SCOPE:
        return set_scopes(tenant, value, err);
    case WORD_LIMIT:
        return limits_set_pair(&tenant->ceilings, "the ceiling", value, err);
    case WORD_NETWORK:
        return network_mode_from_name(value, &tenant->network, err);
    case WORD_HOST:
        return add_host(tenant, value, err);
    case WORD_CONCURRENCY:
        return set_count(&tenant->concurrency, value, err);
    case WORD_RATE:
        return set_count(&tenant->per_minute, value, err);
    case WORD_SESSIONS:
        return set_count(&tenant->sessions, value, err);
    case WORD_EXPIRES:
        return set_expiry(&request->grant, value, err);
    case WORD_JSON:
        request->json = true;
        return 0;
    case WORD_LANGUAGES:
        if (strlen(value) >= sizeof(tenant->languages))
            return err_set(err, SBR_E_INVALID, "token", "--languages is too long");
        snprintf(tenant->languages, sizeof(tenant->languages), "%s", value);
        return 0;
    }
    return err_set(err, SBR_E_INVALID, "token", "see `sandbox-run token --help`");
}

/* With an audit, a token that cannot go on record is not made. */
static int note_change(const char *kind, const char *id, const char *tenant, sbr_error *err)
{
    const struct audit_field fields[] = { { "token", id }, { "caller", tenant } };

    return audit_note_if_wanted(kind, fields, ARRAY_LEN(fields), err);
}

static int create(struct request *request, sbr_error *err)
{
    struct tenant *tenant = &request->grant.tenant;
    char text[TOKEN_TEXT_SIZE];

    if (request->which && !request->grant.name[0] &&
        set_name(request->grant.name, TENANT_NAME_SIZE, request->which, err) < 0)
        return err->code;
    if (!request->grant.name[0])
        return err_set(err, SBR_E_INVALID, "token",
                       "a token needs a name: `sandbox-run token create NAME`");
    if (!tenant->name[0])
        snprintf(tenant->name, sizeof(tenant->name), "%.32s", request->grant.name);
    if (!tenant->scopes)
        tenant->scopes = SCOPE_ALL;
    if (token_create(&request->grant, text, err) < 0)
        return err->code;
    if (note_change("token_created", tenant->token_id, tenant->name, err) < 0) {
        char id[TENANT_TOKEN_ID_SIZE];
        sbr_error ignored;

        (void)!token_revoke(tenant->token_id, id, &ignored);
        return err->code;
    }
    if (request->json)
        dprintf(STDOUT_FILENO,
                "{\"id\":\"%s\",\"name\":\"%s\",\"tenant\":\"%s\",\"token\":\"%s\"}\n",
                tenant->token_id, request->grant.name, tenant->name, text);
    else
        dprintf(STDOUT_FILENO, "%s\n", text);
    return 0;
}

static void print_row(const json_t *token)
{
    static const char *const keys[] = { "id", "name", "tenant", "network" };
    const json_t *scope;
    size_t i;

    for (i = 0; i < ARRAY_LEN(keys); i++)
        dprintf(STDOUT_FILENO, "%-18s", json_string_value(json_object_get(token, keys[i])));
    json_array_foreach(json_object_get(token, "scopes"), i, scope)
        dprintf(STDOUT_FILENO, "%s%s", i ? "," : "", json_string_value(scope));
    dprintf(STDOUT_FILENO, "\n");
}

static int list(struct request *request, sbr_error *err)
{
    scoped_free char *text = NULL;
    json_t *all, *token;
    size_t i;

    if (token_list(&text, err) < 0)
        return err->code;
    if (request->json) {
        dprintf(STDOUT_FILENO, "%s\n", text);
        return 0;
    }
    all = json_read_own(text, 0);
    json_array_foreach(json_object_get(all, "tokens"), i, token)
        print_row(token);
    json_decref(all);
    return 0;
}

static int take_back(struct request *request, sbr_error *err)
{
    char id[TENANT_TOKEN_ID_SIZE];

    if (!request->which)
        return err_set(err, SBR_E_INVALID, "token", "name the token to revoke, by id or name");
    if (token_revoke(request->which, id, err) < 0 ||
        note_change("token_revoked", id, NULL, err) < 0)
        return err->code;
    if (request->json)
        dprintf(STDOUT_FILENO, "{\"id\":\"%s\",\"revoked\":true}\n", id);
    else
        dprintf(STDOUT_FILENO, "revoked %s\n", id);
    return 0;
}

static const struct {
    const char *name;
    int (*run)(struct request *request, sbr_error *err);
} actions[] = { { "create", create }, { "list", list }, { "revoke", take_back } };

int token_command(int argc, char **argv, sbr_error *err)
{
    struct request request = { .grant.tenant.network = NETWORK_FULL };
    int word;

    limits_init(&request.grant.tenant.ceilings);
    opterr = 0;
    while ((word = getopt_long(argc, argv, "", words, NULL)) != -1)
        if (set_word(&request, word, optarg, err) < 0)
            return err->code;
    request.which = optind + 1 < argc ? argv[optind + 1] : NULL;
    for (size_t i = 0; i < ARRAY_LEN(actions); i++)
        if (optind < argc && !strcmp(argv[optind], actions[i].name))
            return actions[i].run(&request, err);
    return err_set(err, SBR_E_INVALID, "token", "say what to do: token create, list or revoke");
}
