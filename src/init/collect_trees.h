/* Hands out what the plan collects.  See wire/collect.h. */
#ifndef INIT_COLLECT_TREES_H
#define INIT_COLLECT_TREES_H

#include <stdbool.h>

#include "confine/confine.h"

/* No other process inside may be alive.  An error in a part is reported at the part's end. */
void collect_run(const struct inside *in, bool succeeded);
/* While the program stands still: only what it changed in its copy-on-write trees. */
void collect_changes(const struct inside *in);

#endif
