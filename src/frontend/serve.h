/* The engine's command.  Two files define it: one is the engine's front end, the other, for the lean program, executes
 * the whole one. */
#ifndef FRONTEND_SERVE_H
#define FRONTEND_SERVE_H

#include "frontend/options.h"

int serve_run(struct options *o);

#endif
