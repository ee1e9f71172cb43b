/* The configuration files as the command line uses them; config/config.h reads them. */
#ifndef CLI_SETTINGS_H
#define CLI_SETTINGS_H

#include "cli/cli.h"
#include "config/config_find.h"

/* True for commands that take --no-config. */
bool settings_apply_to(const struct command *command);
/* Where the project's file is looked for: --project, the program's directory, or "" for the
 * current one. */
const char *settings_start(const struct options *o, char dir[CONFIG_PATH_SIZE]);
/* True when the command reads a configuration and there is one. */
bool settings_exist(const struct options *o);
/* True when --policy is a file. */
bool settings_names_policy_file(const struct options *o);
/* After the answer: cleans what is kept, when it is time. */
void settings_retain(const struct options *o);
/* Sets what the request leaves open, and pulls the image that it needs and that is not here. */
int settings_apply(const struct options *o, sbr_error *err) must_check;

#endif
