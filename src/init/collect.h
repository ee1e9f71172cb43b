/* Hands the tree out that the plan names.  See sandbox/collect.h. */
#ifndef INIT_COLLECT_H
#define INIT_COLLECT_H

#include "sandbox/confine.h"

/* Nothing else inside may be alive.  What goes wrong is told at the end of the stream. */
void collect_tree(const struct inside *in);

#endif
