/* `serve --status`. */
#ifndef CLI_SERVE_STATUS_H
#define CLI_SERVE_STATUS_H

#include "cli/options.h"

#define SERVE_STATUS_NONE 1 /* exit status: no engine runs */

/* Asks the engine that runs, and prints its answer; the exit status. */
int serve_status_print(const struct options *o);

#endif
