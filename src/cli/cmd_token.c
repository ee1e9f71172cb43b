/* token: makes, lists, shows and revokes tokens of the gateway, whose program does the work. */
#include <stdlib.h>

#include "cli/cli.h"
#include "cli/gateway.h"

/* As they were written; NULL: not given. */
struct token_options {
    const char *name, *tenant, *scope, *network, *concurrency, *rate, *sessions, *languages,
        *images, *idle, *age, *workspaces, *workspace_size, *expires;
    bool packages;
    struct texts limits, hosts, secrets;
};

/* clang-format off */
static const struct option own_options[] = {
    { 0, "name",        "NAME", "what to call the token, and its tenant unless that is given",
      OPTION_OWN(struct token_options, name) },
    { 0, "tenant",      "NAME", "whose runs they are, in the engine's queue",
      OPTION_OWN(struct token_options, tenant) },
    { 0, "scope",       "LIST", "of run,sessions,files,metrics (default: the first three)",
      OPTION_OWN(struct token_options, scope) },
    { 0, "limit",       "LIMIT=VALUE", "the most that a run may ask for, as in memory=1g",
      OPTION_OWN(struct token_options, limits) },
    { 0, "network",     "MODE", "the most that its runs may reach (default: none)",
      OPTION_OWN(struct token_options, network) },
    { 0, "allow-host",  "RULE", "the only hosts that its runs may reach",
      OPTION_OWN(struct token_options, hosts) },
    { 0, "concurrency", "N",    "runs at once (default: as the engine has it)",
      OPTION_OWN(struct token_options, concurrency) },
    { 0, "rate",        "N",    "requests in a minute that start something",
      OPTION_OWN(struct token_options, rate) },
    { 0, "sessions",    "N",    "sessions at once",
      OPTION_OWN(struct token_options, sessions) },
    { 0, "languages",   "LIST", "the languages that it may use, with commas (default: all)",
      OPTION_OWN(struct token_options, languages) },
    { 0, "images",      "LIST", "the images that it may use, as NAME:TAG or NAME:* (default: all)",
      OPTION_OWN(struct token_options, images) },
    { 0, "packages",    NULL,   "it may install packages, whatever its runs may reach",
      OPTION_OWN(struct token_options, packages) },
    { 0, "secret",      "NAME", "a secret of the configuration that its runs may use, not read",
      OPTION_OWN(struct token_options, secrets) },
    { 0, "idle",        "TIME", "how long a session may wait for a cell (default: 1h)",
      OPTION_OWN(struct token_options, idle) },
    { 0, "age",         "TIME", "how long a session may live (default: 24h)",
      OPTION_OWN(struct token_options, age) },
    { 0, "workspaces",  "N",    "workspaces of its tenant at once (default: 100)",
      OPTION_OWN(struct token_options, workspaces) },
    { 0, "workspace-size", "SIZE", "of all its tenant's workspaces together (default: 10g)",
      OPTION_OWN(struct token_options, workspace_size) },
    { 0, "expires",     "TIME", "how long it is good, as in 24h (default: until it is revoked)",
      OPTION_OWN(struct token_options, expires) },
    { 0 },
};
/* clang-format on */

static int token_run(struct options *o)
{
    const struct token_options *own = o->own;
    const struct gateway_word words[] = {
        { "--name", own->name },         { "--tenant", own->tenant },
        { "--scope", own->scope },       { "--network", own->network },
        { "--rate", own->rate },         { "--concurrency", own->concurrency },
        { "--sessions", own->sessions }, { "--languages", own->languages },
        { "--images", own->images },     { "--idle", own->idle },
        { "--age", own->age },           { "--workspaces", own->workspaces },
        { "--expires", own->expires },   { "--workspace-size", own->workspace_size },
    };
    struct gateway_command command = { .words = { "sandbox-run-http", "token" }, .n = 2 };
    sbr_error err = { 0 };

    for (size_t i = 0; i < o->n_positional; i++)
        gateway_add(&command, NULL, o->positional[i]);
    for (size_t i = 0; i < ARRAY_LEN(words); i++)
        if (words[i].value)
            gateway_add(&command, words[i].option, words[i].value);
    for (size_t i = 0; i < own->limits.n; i++)
        gateway_add(&command, "--limit", own->limits.items[i]);
    for (size_t i = 0; i < own->hosts.n; i++)
        gateway_add(&command, "--allow-host", own->hosts.items[i]);
    for (size_t i = 0; i < own->secrets.n; i++)
        gateway_add(&command, "--secret", own->secrets.items[i]);
    if (own->packages)
        gateway_add(&command, NULL, "--packages");
    if (o->json)
        gateway_add(&command, NULL, "--json");
    return gateway_exec(&command, &err) < 0 ? cli_fail(o, &err) : 0;
}

const struct command cmd_token = {
    .name = "token",
    .usage = "create NAME [OPTIONS] | list | show ID | revoke ID",
    .help = "tokens of the HTTP gateway: create one, list them, show what one grants, revoke one",
    .examples = "Examples:\n"
                "  sandbox-run token create ci --limit memory=1g --packages\n"
                "  sandbox-run token create bot --allow-host api.example.org:443\n"
                "  sandbox-run token list --json\n"
                "  sandbox-run token show ci\n"
                "  sandbox-run token revoke ci\n",
    .options = (const struct option *const[]){ own_options, options_report, options_look,
                                               options_quiet, options_general, NULL },
    .own_size = sizeof(struct token_options),
    .run = token_run,
};
