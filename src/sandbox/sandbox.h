/* The outside of one sandbox: everything that the supervisor opens, makes and must remove. */
#ifndef SANDBOX_SANDBOX_H
#define SANDBOX_SANDBOX_H

#include <stdbool.h>

#include "plan/plan.h"
#include "sandbox/cgroup.h"
#include "sandbox/egress.h"
#include "sandbox/ids.h"
#include "sandbox/janitor.h"
#include "sandbox/protocol.h"
#include "sandbox/spawn.h"

struct sandbox {
    struct process init;
    int control; /* orders to init                       */
    int in;      /* the program's stdin, to write to      */
    int out;     /* its stdout and stderr, to read from   */
    int err;
    int collected;              /* what the plan collects, to read from; -1: nothing */
    struct init_report *report; /* a page shared with init        */
    struct spawn *spawn;
    struct egress egress;
    struct cgroup cgroup;
    struct janitor *janitor;
    struct ids ids;
    const char *place; /* of the plan: init ends the run and cleans up, not the kernel */
};

/* Starts init with its plan.  On failure nothing is left.  The program runs once init is through
 * its steps; it says so on `control`. */
int sandbox_start(struct sandbox *box, const struct plan *plan, const struct features *features,
                  sbr_error *err) must_check;

/* Ends everything inside at once. */
void sandbox_kill(const struct sandbox *box);
/* Init ends everything inside, reports what was used, and exits. */
void sandbox_order_kill(const struct sandbox *box);
/* Asks everything inside to end. */
void sandbox_terminate(const struct sandbox *box);

/* Why init could not do its work, once it is dead without a report. */
int sandbox_failure(const struct sandbox *box, sbr_error *err);

/* Kills, reaps and removes what the host would notice; the report stays readable. */
void sandbox_end(struct sandbox *box);
/* Frees the rest. */
void sandbox_done(struct sandbox *box);

#endif
