/* The outside of one sandbox: everything that the supervisor opens, makes and must remove. */
#ifndef SANDBOX_SANDBOX_H
#define SANDBOX_SANDBOX_H

#include <stdbool.h>

#include "plan/plan.h"
#include "sandbox/cgroup.h"
#include "sandbox/ids.h"
#include "sandbox/janitor.h"
#include "sandbox/spawn.h"

struct sandbox {
    struct process init;
    int control; /* orders to init, events from it       */
    int in;      /* the program's stdin, to write to      */
    int out;     /* its stdout and stderr, to read from   */
    int err;
    struct cgroup cgroup;
    struct janitor *janitor;
    struct ids ids;
};

/* Starts init with its plan.  On failure nothing is left.  The program runs once init is through
 * its steps; it says so on `control`. */
int sandbox_start(struct sandbox *box, const struct plan *plan, const struct features *features,
                  sbr_error *err) must_check;

/* Ends everything inside at once. */
void sandbox_kill(const struct sandbox *box);
/* Asks everything inside to end. */
void sandbox_terminate(const struct sandbox *box);

/* Kills, reaps, removes. */
void sandbox_done(struct sandbox *box);

#endif
