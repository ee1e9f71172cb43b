/* token: makes, lists and revokes tokens of the HTTP gateway, whose program does the work. */
#include <stdlib.h>

#include "cli/cli.h"
#include "cli/gateway.h"

/* As they were written; NULL: not given. */
struct token_options {
    const char *name, *tenant, *scope, *network, *concurrency, *rate, *sessions, *languages,
        *expires;
    struct texts limits, hosts;
};

/* clang-format off */
static const struct option own_options[] = {
    { 0, "name",        "NAME", "what to call the token, and its tenant unless that is given",
      OPTION_OWN(struct token_options, name) },
    { 0, "tenant",      "NAME", "whose runs they are, in the engine's queue",
      OPTION_OWN(struct token_options, tenant) },
    { 0, "scope",       "LIST", "run, sessions, files, metrics, with commas (default: all)",
      OPTION_OWN(struct token_options, scope) },
    { 0, "limit",       "LIMIT=VALUE", "the most that a run may ask for, as in memory=1g",
      OPTION_OWN(struct token_options, limits) },
    { 0, "network",     "MODE", "the most that its runs may reach (default: full)",
      OPTION_OWN(struct token_options, network) },
    { 0, "allow-host",  "RULE", "the only hosts that its runs may name",
      OPTION_OWN(struct token_options, hosts) },
    { 0, "concurrency", "N",    "runs at once (default: as the engine has it)",
      OPTION_OWN(struct token_options, concurrency) },
    { 0, "rate",        "N",    "requests in a minute that start something",
      OPTION_OWN(struct token_options, rate) },
    { 0, "sessions",    "N",    "sessions at once",
      OPTION_OWN(struct token_options, sessions) },
    { 0, "languages",   "LIST", "the languages that it may use, with commas (default: all)",
      OPTION_OWN(struct token_options, languages) },
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
        { "--expires", own->expires },
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
    if (o->json)
        gateway_add(&command, NULL, "--json");
    return gateway_exec(&command, &err) < 0 ? cli_fail(o, &err) : 0;
}

const struct command cmd_token = {
    .name = "token",
    .usage = "create NAME [OPTIONS] | list | revoke ID",
    .help = "tokens of the HTTP gateway: create one, list them, revoke one",
    .examples = "Examples:\n"
                "  sandbox-run token create ci --limit memory=1g --network none\n"
                "  sandbox-run token list --json\n"
                "  sandbox-run token revoke ci\n",
    .options = (const struct option *const[]){ own_options, options_report, options_look,
                                               options_general, NULL },
    .own_size = sizeof(struct token_options),
    .run = token_run,
};
