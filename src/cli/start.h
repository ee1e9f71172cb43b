/* Runs a request for the command line: streams, signals, presentation, exit status. */
#ifndef CLI_START_H
#define CLI_START_H

#include "cli/cli.h"

/* `title` is for the header.  `stdin_is_program`: stdin was the code, so the program gets none. */
int start_request(struct options *o, const char *title, bool stdin_is_program);

#endif
