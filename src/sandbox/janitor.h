/* The janitor outlives a supervisor that was killed, and removes what the kernel does not remove by
 * itself: control groups. */
#ifndef SANDBOX_JANITOR_H
#define SANDBOX_JANITOR_H

#include "sandbox/cgroup.h"
#include "sandbox/spawn.h"

struct janitor {
    struct process process; /* pidfd -1: none */
    int socket;             /* closing it ends the janitor */
};

/* Starts it before the leaves are made. */
int janitor_start(struct janitor *janitor, const struct cgroup *cg, sbr_error *err) must_check;
/* Tells it whom to end and to wait for. */
void janitor_watch(const struct janitor *janitor, const struct process *init);
/* After the leaves are gone: lets it go.  `reap` waits for it; a caller that ends at once need not.
 */
void janitor_stop(struct janitor *janitor, bool reap);

#endif
