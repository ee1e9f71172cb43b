/* A worker that was just born makes itself at home in its sandbox. */
#ifndef WORKER_CONFINE_WORKER_H
#define WORKER_CONFINE_WORKER_H

#include <stdbool.h>

#include "plan/plan.h"

struct worker_confinement {
    const struct plan *plan;
    const int *order_fds; /* enum zygote_order_fd */
    bool group;           /* born in a control group of v2: its namespace is still to be entered */
};

/* Confines the process for good, as init did with itself; 0 or -1.  Afterwards it has descriptors 0, 1, 2 and DRIVER_GO. */
int confine_worker(const struct worker_confinement *worker_confinement);

#endif
