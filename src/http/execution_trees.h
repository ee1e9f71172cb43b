/* Trees of a run are opened by a thread: a look at each of their entries takes long. */
#ifndef HTTP_EXECUTION_TREES_H
#define HTTP_EXECUTION_TREES_H

#include "http/execution.h"

/* True: `opened` is called from the loop when a thread has opened the trees.  False: nothing has
 * begun. */
bool execution_trees_are_later(struct execution *e, void (*opened)(struct execution *e));

#endif
