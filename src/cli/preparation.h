/* What a run left undone, so that its answer came sooner, is done after it by another process. */
#ifndef CLI_PREPARATION_H
#define CLI_PREPARATION_H

#include "cli/options.h"

/* True when such a process was started. */
bool preparation_begin(const struct options *o);

#endif
