/* Hands out what the plan collects.  See sandbox/collect.h. */
#ifndef INIT_COLLECT_H
#define INIT_COLLECT_H

#include <stdbool.h>

#include "sandbox/confine.h"

/* Nothing else inside may be alive.  What goes wrong with a part is told at its end. */
void collect(const struct inside *in, bool succeeded);

#endif
