/* The supervisor's side of sandbox-run-egress, the only way out of a sandbox with a network. */
#ifndef SANDBOX_EGRESS_PROCESS_H
#define SANDBOX_EGRESS_PROCESS_H

#include "plan/plan.h"
#include "sandbox/ids.h"
#include "sandbox/spawn.h"
#include "wire/egress.h"

struct egress {
    struct process process; /* pidfd -1: there is none */
    struct spawn *spawn;
    int alive;               /* our end: its end is the program's end */
    int far_link, far_alive; /* its own ends, until it is started     */
    struct egress_page *page;
    struct ids ids; /* started by root: a user of its own, with whom it shares nothing */
};

/* Where root has no such id, or none is left: none of a run, a person, a daemon or a dynamic user. */
#define EGRESS_FIXED_ID (IDS_FIRST_OF_FEW - 1)

void egress_reset(struct egress *egress);

/* Makes what it is reached by, when the plan has a way out.  *ret_link is what init is given, -1 when there is none;
 * the caller closes it.  On failure egress_stop and egress_done are still to be called. */
int egress_prepare(struct egress *egress, const struct plan *plan, int *ret_link, sbr_error *err)
    must_check;
/* Chooses who it is, when the plan has a way out.  Held until egress_stop. */
int egress_take_id(struct egress *egress, const struct plan *plan, const struct features *features,
                   sbr_error *err) must_check;
/* Starts it.  Init need not wait for that: what it sends is kept. */
int egress_start(struct egress *egress, const struct plan *plan, sbr_error *err) must_check;
/* Lets it pass on what the program has sent already, for a moment, and ends it. */
void egress_stop(struct egress *egress);
void egress_done(struct egress *egress);

#endif
