/* The cgroups of a sandbox that is made ahead.  They outlive the sandbox and serve one run after
 * another; a reset between runs cleans them. */
#ifndef SANDBOX_CGROUP_SLOT_H
#define SANDBOX_CGROUP_SLOT_H

#include "sandbox/cgroup.h"

struct slot {
    struct cgroup cgroup;
};

/* Makes the cgroups, without limits. */
int cgroup_slot_open(struct slot *slot, const struct plan *plan,
                     const struct cgroup_features *features, sbr_error *err) must_check;
/* Resets a slot in which everything is dead.  0; negative: the slot is unusable, close it; 1: a
 * process has not left the cgroup yet, try again later. */
int cgroup_slot_reset(struct slot *slot, sbr_error *err) must_check;
/* Kills what is left and removes the cgroups. */
void cgroup_slot_close(struct slot *slot);

#endif
