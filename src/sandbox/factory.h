/* Sandboxes made ahead of time.
 *
 * A nursery is a sandbox-run-init that has built the root of one kind of run (a *template*: a plan without the parts that
 * differ from run to run, plan/blueprint.h) in a user namespace of its own, and then makes sandboxes on request: each is a
 * process of its own in fresh user, mount, pid, ipc, uts, cgroup and network namespaces, confined, and parked until it is told
 * what to run (ORDER_GO).  It never runs anything of a user's.  When its control socket closes it ends, and the kernel
 * ends everything that it made.
 *
 * Nothing here waits: orders are sent, and news are heard when their descriptor is readable. */
#ifndef SANDBOX_FACTORY_H
#define SANDBOX_FACTORY_H

#include <stdbool.h>

#include "plan/plan.h"
#include "sandbox/cgroup_slot.h"
#include "sandbox/sandbox.h"

#define FACTORY_MAX_MAKING 16

struct factory {
    struct process process;
    int control;                /* SEQPACKET; readable: call factory_hear            */
    int zygote;                 /* to the zygote of a STANDBY_ZYGOTE template; -1: none */
    struct init_report *report; /* says why it could not start                       */
    struct spawn *spawn;
    struct ids ids; /* of all factories of this process */
    struct features features;
    const struct plan *plan;                    /* the template; borrowed */
    bool ready;                                 /* its root stands, its zygote is warm */
    struct sandbox *making[FACTORY_MAX_MAKING]; /* ordered, not born yet; oldest first */
    size_t n_making;
};

/* Returns at once; `ready` becomes true in factory_hear.  The template must outlive it.  On failure nothing is left. */
int factory_start(struct factory *factory, const struct plan *plan, const struct features *features,
                  sbr_error *err) must_check;
/* One sandbox more, in `nest`, which must be reset and stay untouched until the sandbox has ended.  Only when ready, and
 * at most FACTORY_MAX_MAKING at once.  `box` must stay where it is until factory_hear names it. */
int factory_make(struct factory *factory, struct slot *slot, struct sandbox *box, sbr_error *err)
    must_check;
/* `control` is readable.  1: *ret was born: watch its `control` and its `init.pidfd` from now on (without a pidfd it could
 * not be born: sandbox_end, sandbox_done); 0: nothing of
 * interest (or `ready` has become true); negative: the nursery is dead, and so is all that it made. */
int factory_hear(struct factory *factory, struct sandbox **ret, sbr_error *err) must_check;
/* The `control` of a sandbox that was born is readable.  1: it is parked and can be given away; 0: not yet; negative: it
 * failed or died, call sandbox_end and sandbox_done. */
int factory_box_news(struct factory *factory, struct sandbox *box, sbr_error *err) must_check;
/* Ends it and everything that it made; also after a failure. */
void factory_end(struct factory *factory);

#endif
