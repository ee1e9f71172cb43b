/* Runs a request for the command line: streams, signals, presentation, exit status. */
#ifndef FRONTEND_START_H
#define FRONTEND_START_H

#include "frontend/cli.h"

/* `title` is for the header.  `stdin_is_program`: stdin was read as code, the program gets none. */
int start_request(struct options *o, const char *title, bool stdin_is_program);

#endif
