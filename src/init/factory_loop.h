/* Init as a nursery: see sandbox/factory.h. */
#ifndef INIT_FACTORY_LOOP_H
#define INIT_FACTORY_LOOP_H

#include "confine/confiner.h"

/* Makes sandboxes as they are ordered.  Returns in each of them, with 0: the role is a shell's now, its descriptors are
 * enum init_fd, its ids are mapped, and it is in its control groups.  In the nursery itself it returns only when it
 * cannot go on: 1: the engine is gone; negative: an error. */
int factory_run(struct inside *in, int plan_fd, sbr_error *err) must_check;

#endif
