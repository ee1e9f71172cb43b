/* The time limit, as init keeps it for a supervisor that is stopped or hangs.  A supervisor that
 * works ends the run earlier. */
#ifndef INIT_WALL_CLOCK_H
#define INIT_WALL_CLOCK_H

#include <stdbool.h>

#include "init/state.h"

/* Milliseconds for poll: until the limit, or `other` when that is earlier; -1: forever. */
int wall_clock_wait(const struct init *init, int other);
/* True when the program had all of its time; pauses do not count. */
bool wall_clock_is_over(const struct init *init);

#endif
