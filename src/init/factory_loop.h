/* Init as a factory: see sandbox/factory.h. */
#ifndef INIT_FACTORY_LOOP_H
#define INIT_FACTORY_LOOP_H

#include "confine/confiner.h"

/* Makes sandboxes by order.  Returns 0 in each of them: the role is ROLE_SHELL, its file
 * descriptors are enum init_fd, its ids are mapped, and it is in its cgroups.  In the factory
 * itself it returns only when it cannot go on: 1 when the engine is gone, negative on an error. */
int factory_run(struct inside *in, int plan_fd, sbr_error *err) must_check;

#endif
