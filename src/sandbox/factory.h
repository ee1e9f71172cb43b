/* Sandboxes made ahead of time.
 *
 * A factory is a sandbox-run-init that has built the root of one *blueprint* (a plan without the
 * parts that differ from run to run, plan/blueprint.h) in a user namespace of its own.  It makes
 * sandboxes on request: each is a process in fresh user, mount, pid, ipc, uts, cgroup and network
 * namespaces, confined, on standby until ORDER_GO says what to run.  A factory never runs user
 * code.  It ends when its control socket closes, and the kernel then ends everything that it made.
 *
 * Nothing here waits: the caller sends orders, and reads news when the fd is readable. */
#ifndef SANDBOX_FACTORY_H
#define SANDBOX_FACTORY_H

#include <stdbool.h>

#include "plan/plan.h"
#include "sandbox/cgroup.h"
#include "sandbox/sandbox.h"

#define FACTORY_MAX_MAKING 16

struct factory {
    struct process process;
    int control;                /* SEQPACKET; readable: call factory_hear */
    int zygote;                 /* to the zygote of a STANDBY_ZYGOTE blueprint; -1: none */
    struct init_report *report; /* holds the reason when the factory could not start */
    struct spawn *spawn;
    struct ids ids; /* shared by all factories of this process */
    struct features features;
    const struct plan *plan;                    /* the blueprint; borrowed */
    bool ready;                                 /* its root is built, its zygote is warm */
    struct sandbox *making[FACTORY_MAX_MAKING]; /* ordered, not forked yet; oldest first */
    size_t n_making;
};

/* Returns at once; factory_hear sets `ready`.  The blueprint must outlive the factory.  A failure
 * leaves nothing behind. */
int factory_start(struct factory *factory, const struct plan *plan, const struct features *features,
                  sbr_error *err) must_check;
/* Orders one more sandbox in `slot`, which must be reset and stay untouched until the sandbox has
 * ended.  Only when ready, and at most FACTORY_MAX_MAKING at once.  `box` must not move until
 * factory_hear returns it. */
int factory_make(struct factory *factory, struct slot *slot, struct sandbox *box, sbr_error *err)
    must_check;
enum factory_news {
    FACTORY_NOTHING, /* of interest to the caller; `ready` may have become true */
    FACTORY_FORKED,  /* a sandbox exists */
    FACTORY_STANDBY  /* a sandbox is ready and can be handed over */
};
/* Call when `control` is readable.  FACTORY_FORKED: from now on watch the `control` of *ret and its
 * `init.pidfd` (no pidfd: the fork failed, call sandbox_end and sandbox_done).  Negative: the
 * factory and all that it made are dead. */
int factory_hear(struct factory *factory, struct sandbox **ret, sbr_error *err) must_check;
/* Call when the `control` of a forked sandbox is readable.  FACTORY_STANDBY, FACTORY_NOTHING, or
 * negative: it failed or died, call sandbox_end and sandbox_done. */
int factory_box_news(struct factory *factory, struct sandbox *box, sbr_error *err) must_check;
/* Ends the factory and everything that it made; also after a failure. */
void factory_end(struct factory *factory);

#endif
