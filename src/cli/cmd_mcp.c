/* mcp: the tools of this program for agents, on stdin and stdout. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/mcp_config.h"
#include "cli/settings.h"
#include "mcp/mcp_stdio.h"

struct mcp_options {
    bool allow_apply, no_packages, roots;
    const char *client; /* whose settings are printed; NULL: serve */
};

/* clang-format off */
static const struct option own_options[] = {
    { 0, "allow-apply", NULL, "apply_changes need not ask the person",
      OPTION_OWN(struct mcp_options, allow_apply) },
    { 0, "roots", NULL, "without --project: the first root of the client is the project",
      OPTION_OWN(struct mcp_options, roots) },
    { 0, "print-config", "CLIENT", "print what to put into the settings of this client, and end",
      OPTION_OWN(struct mcp_options, client), .word = mcp_config_name },
    { 0, "no-packages", NULL, "tools install no packages",
      OPTION_OWN(struct mcp_options, no_packages) },
    { 0, "cold", NULL, "ask no engine", OPTION_FIELD(cold) },
    { 0 },
};
/* clang-format on */

static int stop_fd;

static void stop(int number)
{
    uint64_t one = 1;

    (void)number;
    (void)!write(stop_fd, &one, sizeof(one));
}

/* Ends sessions before the process ends. */
static int catch_signals(sbr_error *err)
{
    static const int numbers[] = { SIGTERM, SIGINT, SIGHUP };
    struct sigaction action = { .sa_handler = stop };

    stop_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (stop_fd < 0)
        return err_set_errno(err, "mcp", "cannot make an eventfd");
    for (size_t i = 0; i < ARRAY_LEN(numbers); i++)
        (void)sigaction(numbers[i], &action, NULL);
    return 0;
}

static int serve(struct options *o, sbr_error *err)
{
    const struct mcp_options *own = o->own;
    const struct mcp_settings settings = { .base = o->request,
                                           .allow_apply = own->allow_apply,
                                           .no_packages = own->no_packages,
                                           .roots = own->roots,
                                           .cold = o->cold };
    struct mcp_server *server;
    int r;

    if (o->n_positional || o->rest)
        return err_set(err, SBR_E_INVALID, "options", "`sandbox-run mcp` takes options only");
    if (own->client)
        return mcp_config_print(own->client, err);
    if (settings_apply(o, err) < 0 || request_check(o->request, err) < 0 ||
        catch_signals(err) < 0 || mcp_server_new(&settings, &server, err) < 0)
        return err->code;
    r = mcp_stdio_serve(server, STDIN_FILENO, STDOUT_FILENO, stop_fd, err);
    if (r > 0)
        _exit(0); /* a call still uses the server */
    mcp_server_free(server);
    return r;
}

static int mcp_run(struct options *o)
{
    sbr_error err = { 0 };

    return serve(o, &err) < 0 ? cli_fail(o, &err) : 0;
}

const struct command cmd_mcp = {
    .name = "mcp",
    .usage = "[OPTIONS]",
    .help = "serve agents: tools that run code in sandboxes, by the Model Context Protocol",
    .examples =
        "Examples:\n"
        "  sandbox-run mcp                                  what a client starts\n"
        "  sandbox-run mcp --memory 1g --timeout 60s        no tool call can have more\n"
        "  sandbox-run mcp --project .                      tools see it, changes stay inside\n"
        "  sandbox-run mcp --network allow --allow-host pypi.org\n"
        "  sandbox-run mcp --memory 1g --print-config cursor > .cursor/mcp.json\n\n"
        "Messages are lines of JSON on stdin and stdout.  docs/agents.md has the settings of\n"
        "usual clients.\n",
    .options = (const struct option *const[]){ options_trees, options_network, options_isolation,
                                               options_language_file, own_options, options_config,
                                               options_look, options_quiet, options_general, NULL },
    .limits = LIMITS_ALL,
    .own_size = sizeof(struct mcp_options),
    .run = mcp_run,
};
