/* What a sandbox that is made ahead needs and what outlives it: the control groups of its run, reused one run after
 * another and brought back to a clean state in between. */
#ifndef SANDBOX_CGROUP_SLOT_H
#define SANDBOX_CGROUP_SLOT_H

#include "sandbox/cgroup.h"

struct slot {
    struct cgroup cgroup;
};

/* Makes the groups, without limits. */
int cgroup_slot_open(struct slot *slot, const struct plan *plan,
                     const struct cgroup_features *features, sbr_error *err) must_check;
/* Everything in it is dead: makes it as good as new.  0; negative: it is no longer of use, close it.  1: somebody is
 * still on his way out, try again in a moment. */
int cgroup_slot_reset(struct slot *slot, sbr_error *err) must_check;
/* Ends what is left in it and removes the groups. */
void cgroup_slot_close(struct slot *slot);

#endif
