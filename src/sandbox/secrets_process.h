/* The supervisor's side of sandbox-run-secrets, which puts secrets into requests on their way out.
 * It is started before the stage is planned: the root has its certificate. */
#ifndef SANDBOX_SECRETS_PROCESS_H
#define SANDBOX_SECRETS_PROCESS_H

#include "model/secret.h"
#include "plan/planner.h"
#include "sandbox/ids.h"
#include "sandbox/spawn.h"

struct secrets_process {
    bool started;
    struct process process;
    struct spawn *spawn;
    int alive, link; /* our end; the end that egress is given */
    struct ids ids;
    struct plan_trust trust; /* what the sandbox trusts */
    char *texts[3];          /* that the trust points to */
};

/* Hands the values over; the caller may wipe its own then.  After a failure secrets_process_stop is
 * still due. */
int secrets_process_start(struct secrets_process *helper, const struct secrets *secrets,
                          const struct features *features, const char *test_without, sbr_error *err)
    must_check;
/* After egress has ended. */
void secrets_process_stop(struct secrets_process *helper);

#endif
