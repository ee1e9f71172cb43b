/* What a run left undone, so that its answer came sooner, is done after it by another process. */
#ifndef CLI_PREPARATION_H
#define CLI_PREPARATION_H

#include "cli/options.h"

/* Set: nothing goes on after the answer. */
#define PREPARATION_NONE_ENV "SANDBOX_RUN_NO_BACKGROUND"

/* True when such a process was started. */
bool preparation_begin(const struct options *o);

#endif
