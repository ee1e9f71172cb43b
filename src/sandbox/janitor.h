/* The janitor outlives a supervisor that was killed, and removes what the kernel does not remove by
 * itself: control groups. */
#ifndef SANDBOX_JANITOR_H
#define SANDBOX_JANITOR_H

#include <stdbool.h>

#include "sandbox/cgroup.h"
#include "sandbox/spawn.h"

struct janitor;

/* How it ends the run.  Both are places where a descriptor stands or will stand, -1 until then, and
 * outlive the janitor. */
struct janitor_reach {
    const int *init_pidfd;
    const int
        *control; /* NULL: init is killed; otherwise it is closed, which tells init to end all */
};

/* Starts it before the leaves are made; *ret is NULL when there is nothing to guard. */
int janitor_start(struct janitor **ret, const struct cgroup *cg, struct janitor_reach reach,
                  sbr_error *err) must_check;
/* After the leaves are gone: ends it, without waiting for its end.  Takes NULL. */
void janitor_dismiss(struct janitor *janitor);
/* Reaps it; only after it was dismissed.  Takes NULL. */
void janitor_free(struct janitor *janitor);

#endif
