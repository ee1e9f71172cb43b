/* The janitor outlives a supervisor that was killed, and removes what the kernel does not remove by
 * itself: control groups. */
#ifndef SANDBOX_JANITOR_H
#define SANDBOX_JANITOR_H

#include <stdbool.h>

#include "sandbox/cgroup.h"
#include "sandbox/spawn.h"

struct janitor;

/* Starts it before the leaves are made; *ret is NULL when there is nothing to guard.  `init_pidfd`
 * is where the pidfd of init stands or will stand, -1 until then; it outlives the janitor. */
int janitor_start(struct janitor **ret, const struct cgroup *cg, const int *init_pidfd,
                  sbr_error *err) must_check;
/* After the leaves are gone: ends it, without waiting for its end.  Takes NULL. */
void janitor_dismiss(struct janitor *janitor);
/* Reaps it; only after it was dismissed.  Takes NULL. */
void janitor_free(struct janitor *janitor);

#endif
