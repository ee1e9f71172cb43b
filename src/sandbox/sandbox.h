/* The outside of one sandbox: everything that the supervisor opens, makes and must remove. */
#ifndef SANDBOX_SANDBOX_H
#define SANDBOX_SANDBOX_H

#include <stdbool.h>

#include "plan/plan.h"
#include "sandbox/cgroup.h"
#include "sandbox/egress_process.h"
#include "sandbox/ids.h"
#include "sandbox/janitor.h"
#include "sandbox/spawn.h"
#include "wire/control.h"

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
    bool parked;       /* made ahead: neither init nor the groups are ours to reap and remove */
    int listener; /* of the filter, when it came before anybody watched; -1: it comes over `control` */
    int report_fd; /* of a parked one, to be given away; -1 otherwise */
    int far[INIT_CONTROL +
            1]; /* the inside's ends, until a worker of a zygote has them; -1 otherwise */
    struct cgroup_usage before; /* of a parked one: what was used before the program began */
};

#define SANDBOX_MAX_GIVEN (9 + N_CG)

/* What is limited in a parked one as if nothing had been asked for (limits_init): most runs then change nothing. */
#define SANDBOX_USUAL_LIMITS (1u << CG_MEMORY | 1u << CG_PIDS)

/* Starts init with its plan.  On failure nothing is left.  The program runs once init is through
 * its steps; it says so on `control`. */
int sandbox_start(struct sandbox *box, const struct plan *plan, const struct features *features,
                  sbr_error *err) must_check;

/* A parked one, for another process.  The descriptors are borrowed: after they were sent, sandbox_done(). */
void sandbox_give(const struct sandbox *box, struct handover_msg *msg, int fds[SANDBOX_MAX_GIVEN],
                  size_t *ret_n);
/* The other side.  The descriptors are the sandbox's afterwards, also on failure. */
int sandbox_take(struct sandbox *box, const struct handover_msg *msg, const int *fds, size_t n,
                 sbr_error *err) must_check;
/* Gives a parked one its limits and its program: `plan` is of the template that it was made of.  `files` are descriptors
 * of the OP_PROGRAM operations that are OP_PASSED, in their order; they stay the caller's.  On failure nothing was run. */
int sandbox_go(struct sandbox *box, const struct plan *plan, const int *files, size_t n_files,
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
