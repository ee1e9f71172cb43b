/* A new worker confines itself in its sandbox. */
#ifndef WORKER_CONFINE_WORKER_H
#define WORKER_CONFINE_WORKER_H

#include <stdbool.h>

#include "plan/plan.h"

struct worker_confinement {
    const struct plan *plan;
    const int *order_fds; /* enum zygote_order_fd                                                 */
    bool group;           /* forked into a cgroup (v2): it still has to make its cgroup namespace */
};

/* Confines the process for good, as init confined itself; 0 or -1.  Afterwards it has file
 * descriptors 0, 1, 2, DRIVER_GO and the runtime's own. */
int confine_worker(const struct worker_confinement *worker_confinement);

#endif
