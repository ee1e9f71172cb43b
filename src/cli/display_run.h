/* `sandbox-run --display`: a program as the only cell of a session, and what it shows. */
#ifndef CLI_DISPLAY_RUN_H
#define CLI_DISPLAY_RUN_H

#include "cli/options.h"

int display_run(struct options *o);

#endif
