/* Hands out what the plan collects.  See wire/collect.h. */
#ifndef INIT_COLLECT_TREES_H
#define INIT_COLLECT_TREES_H

#include <stdbool.h>

#include "confine/confine.h"

/* Nothing else inside may be alive.  What goes wrong with a part is told at its end. */
void collect_run(const struct inside *in, bool succeeded);

#endif
