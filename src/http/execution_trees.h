/* Trees of a run are opened by a thread: a look at each of their entries takes long. */
#ifndef HTTP_EXECUTION_TREES_H
#define HTTP_EXECUTION_TREES_H

#include "http/execution.h"

/* True: the job is watched when a thread has opened its trees.  False: it is not, and nothing has
 * begun. */
bool execution_trees_are_later(struct execution *e);

#endif
