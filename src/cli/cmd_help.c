#include <stdio.h>

#include "cli/cli.h"
#include "cli/help.h"

static int help_run(struct options *o)
{
    const struct command *command = o->n_positional ? cli_find_command(o->positional[0]) : NULL;
    sbr_error err;

    if (command) {
        help_command(command);
        return 0;
    }
    if (o->n_positional) {
        err_set(&err, SBR_E_NOT_FOUND, "help", "there is no command '%.60s'", o->positional[0]);
        return cli_fail(o, &err);
    }
    help_overview();
    return 0;
}

const struct command cmd_help = {
    .name = "help",
    .usage = "[COMMAND]",
    .help = "explain a command",
    .bit = FOR_OTHERS,
    .run = help_run,
};
