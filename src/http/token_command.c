
#include <getopt.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/json_read.h"
#include "base/text.h"
#include "config/audit.h"
#include "http/token.h"
#include "model/secret.h"

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
    WORD_IMAGES,
    WORD_PACKAGES,
    WORD_SECRET,
    WORD_IDLE,
    WORD_AGE,
    WORD_WORKSPACES,
    WORD_WORKSPACE_SIZE,
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
    { "images", required_argument, NULL, WORD_IMAGES },
    { "packages", no_argument, NULL, WORD_PACKAGES },
    { "secret", required_argument, NULL, WORD_SECRET },
    { "idle", required_argument, NULL, WORD_IDLE },
    { "age", required_argument, NULL, WORD_AGE },
    { "workspaces", required_argument, NULL, WORD_WORKSPACES },
    { "workspace-size", required_argument, NULL, WORD_WORKSPACE_SIZE },
    { "expires", required_argument, NULL, WORD_EXPIRES },
    { "json", no_argument, NULL, WORD_JSON },
    { NULL, 0, NULL, 0 },
};

struct request {
    struct token grant;
    bool json, has_network;
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
    if (!grant_is_tenant(text) || strlen(text) >= size)
        return err_set(err, SBR_E_INVALID, "token",
                       "'%.40s' is no name: it has 1 to 32 letters, digits, '_' and '-', and "
                       "`local` is taken",
                       text);
    snprintf(to, size, "%s", text);
    return 0;
}

static int set_time(uint64_t *ret, const char *option, const char *text, sbr_error *err)
{
    if (text_parse_duration(text, ret) == TEXT_OK && *ret >= 1000)
        return 0;
    return err_set(err, SBR_E_INVALID, "token", "%s '%.40s' is no time, as in 30m", option, text);
}

static int set_list(char ret[GRANT_LIST_SIZE], const char *option, const char *text, sbr_error *err)
{
    if (strlen(text) >= GRANT_LIST_SIZE)
        return err_set(err, SBR_E_INVALID, "token", "%s is too long: it has at most %d bytes",
                       option, GRANT_LIST_SIZE - 1);
    snprintf(ret, GRANT_LIST_SIZE, "%s", text);
    return 0;
}

static int set_expiry(struct token *grant, const char *text, sbr_error *err)
{
    uint64_t ms;

    if (text_parse_duration(text, &ms) != TEXT_OK || ms < 1000)
        return err_set(err, SBR_E_INVALID, "token",
                       "--expires '%.40s' is no time from now, as in 24h", text);
    grant->expires_s = (uint64_t)time(NULL) + ms / 1000;
    return 0;
}

static int set_scopes(struct grant *tenant, const char *text, sbr_error *err)
{
    unsigned int scopes = 0;

    if (grant_parse_scopes(text, &scopes) < 0 || !scopes)
        return err_set(err, SBR_E_INVALID, "token",
                       "--scope '%.60s' must be run, sessions, files, metrics or all, with commas",
                       text);
    tenant->scopes |= scopes;
    return 0;
}

static int add_host(struct grant *tenant, const char *text, sbr_error *err)
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

/* A name of the configuration, which is looked for when a request uses it. */
static int add_secret(struct grant *tenant, const char *name, sbr_error *err)
{
    size_t used = strlen(tenant->secrets);
    struct secrets checked = { 0 };
    int r = secrets_add_name(&checked, name, err);

    secrets_done(&checked);
    if (r == 0 && used + strlen(name) + 2 > sizeof(tenant->secrets))
        r = err_set(err, SBR_E_INVALID, "token", "the names of --secret are too long");
    if (r == 0)
        snprintf(tenant->secrets + used, sizeof(tenant->secrets) - used, "%s%s", used ? "," : "",
                 name);
    return r;
}

static int set_word(struct request *request, int word, const char *value, sbr_error *err)
{
    struct grant *tenant = &request->grant.tenant;

    switch (word) {
    case WORD_NAME:
        return set_name(request->grant.name, GRANT_TENANT_SIZE, value, err);
    case WORD_TENANT:
        return set_name(tenant->name, sizeof(tenant->name), value, err);
    case WORD_SCOPE:
        return set_scopes(tenant, value, err);
    case WORD_LIMIT:
        return limits_set_pair(&tenant->ceilings, "the ceiling", value, err);
    case WORD_NETWORK:
        request->has_network = true;
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
        return set_list(tenant->languages, "--languages", value, err);
    case WORD_IMAGES:
        return set_list(tenant->images, "--images", value, err);
    case WORD_SECRET:
        return add_secret(tenant, value, err);
    case WORD_PACKAGES:
        tenant->packages = true;
        return 0;
    case WORD_IDLE:
        return set_time(&tenant->idle_ms, "--idle", value, err);
    case WORD_AGE:
        return set_time(&tenant->age_ms, "--age", value, err);
    case WORD_WORKSPACES:
        return set_count(&tenant->workspaces, value, err);
    case WORD_WORKSPACE_SIZE:
        if (text_parse_size(value, &tenant->workspace_bytes) == TEXT_OK && tenant->workspace_bytes)
            return 0;
        return err_set(err, SBR_E_INVALID, "token",
                       "--workspace-size '%.40s' is no size, as in 10g", value);
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
    struct grant *tenant = &request->grant.tenant;
    char text[TOKEN_TEXT_SIZE];

    if (request->which && !request->grant.name[0] &&
        set_name(request->grant.name, GRANT_TENANT_SIZE, request->which, err) < 0)
        return err->code;
    if (!request->grant.name[0])
        return err_set(err, SBR_E_INVALID, "token",
                       "a token needs a name: `sandbox-run token create NAME`");
    if (!tenant->name[0])
        snprintf(tenant->name, sizeof(tenant->name), "%.32s", request->grant.name);
    if (!tenant->scopes)
        tenant->scopes = SCOPE_RUN | SCOPE_SESSIONS | SCOPE_FILES;
    /* Hosts are for a network; a network to everywhere is also one to where packages are. */
    if (tenant->hosts[0] && !request->has_network)
        tenant->network = NETWORK_ALLOW;
    tenant->packages |= tenant->network == NETWORK_FULL && !tenant->hosts[0];
    if (token_create(&request->grant, text, err) < 0)
        return err->code;
    if (note_change("token_created", tenant->token_id, tenant->name, err) < 0) {
        char id[GRANT_TOKEN_SIZE];
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

static int show(struct request *request, sbr_error *err)
{
    scoped_free char *text = NULL;

    if (!request->which)
        return err_set(err, SBR_E_INVALID, "token", "name the token to show, by id or name");
    if (token_show(request->which, &text, err) < 0)
        return err->code;
    dprintf(STDOUT_FILENO, "%s\n", text);
    return 0;
}

static int take_back(struct request *request, sbr_error *err)
{
    char id[GRANT_TOKEN_SIZE];

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
} actions[] = { { "create", create }, { "list", list }, { "show", show }, { "revoke", take_back } };

int token_command(int argc, char **argv, sbr_error *err)
{
    struct request request = { .json = false };
    int word;

    grant_init_token(&request.grant.tenant);
    opterr = 0;
    while ((word = getopt_long(argc, argv, "", words, NULL)) != -1)
        if (set_word(&request, word, optarg, err) < 0)
            return err->code;
    request.which = optind + 1 < argc ? argv[optind + 1] : NULL;
    for (size_t i = 0; i < ARRAY_LEN(actions); i++)
        if (optind < argc && !strcmp(argv[optind], actions[i].name))
            return actions[i].run(&request, err);
    return err_set(err, SBR_E_INVALID, "token",
                   "say what to do: token create, list, show or revoke");
}
