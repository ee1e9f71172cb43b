/* The engine's command.  Two files define it: one is the engine's front end, the other, for the lean program, executes
 * the whole one. */
#ifndef CLI_SERVE_H
#define CLI_SERVE_H

#include "cli/options.h"

int serve_run(struct options *o);

#endif
