/* Parts of `test` that other commands use. */
#ifndef CLI_CMD_TEST_H
#define CLI_CMD_TEST_H

#include "cli/cli.h"

/* `run` of a file with tests, as `test` would; the exit status. */
int cmd_test_run_file(struct options *o);
/* Says on stderr that a package is installed. */
void cmd_test_installs(const char *package);

#endif
