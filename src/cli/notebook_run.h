/* `sandbox-run work.ipynb`: the cells of a notebook in a session of their own. */
#ifndef CLI_NOTEBOOK_RUN_H
#define CLI_NOTEBOOK_RUN_H

#include "cli/options.h"

int notebook_run(struct options *o);

#endif
