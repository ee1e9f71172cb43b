/* The janitor outlives a killed supervisor and removes what the kernel does not: cgroups. */
#ifndef SANDBOX_JANITOR_H
#define SANDBOX_JANITOR_H

#include <stdbool.h>

#include "sandbox/cgroup.h"
#include "sandbox/spawn.h"

struct janitor;

/* How the janitor ends the run.  Both point to an fd (-1 until it exists) and outlive it. */
struct janitor_reach {
    const int *init_pidfd;
    const int *control; /* NULL: kill init; otherwise close it, upon which init ends everything */
};

/* Starts the janitor, before the leaves are made; *ret is NULL when there are none. */
int janitor_start(struct janitor **ret, const struct cgroup *cg, struct janitor_reach reach,
                  sbr_error *err) must_check;
/* Kills the janitor after the leaves are gone, without waiting for its end.  Takes NULL. */
void janitor_dismiss(struct janitor *janitor);
/* Reaps the janitor; only after janitor_dismiss.  Takes NULL. */
void janitor_free(struct janitor *janitor);

#endif
