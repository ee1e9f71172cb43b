/* Help from the same tables that parse. */
#ifndef CLI_HELP_H
#define CLI_HELP_H

#include "cli/cli.h"

void help_overview(void);
void help_command(const struct command *command);
void help_version(void);

#endif
