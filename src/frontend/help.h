/* Help from the same tables that parse. */
#ifndef FRONTEND_HELP_H
#define FRONTEND_HELP_H

#include "frontend/cli.h"

void help_overview(void);
void help_command(const struct command *command);
void help_version(void);

#endif
