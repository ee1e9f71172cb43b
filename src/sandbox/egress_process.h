/* The supervisor's side of sandbox-run-egress, the only path from a sandbox to the network. */
#ifndef SANDBOX_EGRESS_PROCESS_H
#define SANDBOX_EGRESS_PROCESS_H

#include "plan/plan.h"
#include "sandbox/ids.h"
#include "sandbox/spawn.h"
#include "wire/egress.h"

struct egress {
    struct process process; /* pidfd -1: there is none */
    struct spawn *spawn;
    int alive;               /* our end; shut down once the program is over */
    int far_link, far_alive; /* egress's ends, until it is started */
    int secrets_link;        /* to sandbox-run-secrets; borrowed; -1: none */
    struct egress_page *page;
    bool died;                  /* before it had passed on everything; known once it was stopped */
    struct ids ids;             /* when root starts it: a user of its own, shared with nothing */
    struct string_list granted; /* rules that came while the program ran, as text */
};

/* When root has no id free for it: not one of a run, a person, a daemon or a dynamic user. */
#define EGRESS_FIXED_ID (IDS_FIRST_OF_FEW - 1)

void egress_reset(struct egress *egress);

/* Makes the sockets of egress, when the plan reaches outside.  *ret_link is for init, -1 when there
 * is none; the caller closes it.  After a failure egress_stop and egress_done are still due. */
int egress_prepare(struct egress *egress, const struct plan *plan, int *ret_link, sbr_error *err)
    must_check;
/* A user for a helper that root starts: one of its own, or the fixed one. */
int egress_choose_id(struct ids *ids, const struct features *features, sbr_error *err) must_check;
/* Chooses the user of egress, when the plan reaches outside.  Held until egress_stop. */
int egress_take_id(struct egress *egress, const struct plan *plan, const struct features *features,
                   sbr_error *err) must_check;
/* Starts egress.  Init need not wait for that: the socket keeps what init sends. */
int egress_start(struct egress *egress, const struct plan *plan, sbr_error *err) must_check;
/* Gives egress a moment to pass on what the program has sent already, then ends it. */
void egress_stop(struct egress *egress);
/* What a person decided about the program that runs: see wire/egress.h. */
int egress_decide(struct egress *egress, enum egress_order order, const struct host_rule *rule,
                  sbr_error *err) must_check;
void egress_done(struct egress *egress);

#endif
