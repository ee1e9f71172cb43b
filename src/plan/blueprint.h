/* What a sandbox needs before its run is known.
 *
 * A plan has two parts: the *blueprint*, which many runs share and from which a sandbox can be made
 * ahead of time, and what only the request decides: the program's files, arguments, variables, work
 * directory and limits.  Pure: no system call. */
#ifndef PLAN_BLUEPRINT_H
#define PLAN_BLUEPRINT_H

#include "base/sha256.h"
#include "plan/plan.h"
#include "plan/planner.h"

/* Why a plan has no blueprint, for the log and --verbose; NULL when it has one. */
const char *blueprint_refusal(const struct plan *plan);

/* The blueprint of a plan.  `in` is the input of the plan; its language may have a driver for the
 * stage (language.h, struct warm_def).  The blueprint borrows from the plan and from `in`; the
 * caller frees it.  It has no OP_PROGRAM, no resource limits, the work directory /work, and as argv
 * the driver's command, or "-" without one. */
int blueprint_make(const struct plan *plan, const struct plan_input *in, struct plan **ret,
                   sbr_error *err) must_check;

/* A digest of the encoded blueprint and its cgroups: equal for interchangeable ones. */
int blueprint_key(const struct plan *plan, char key[SHA256_HEX_SIZE], sbr_error *err) must_check;
/* The same for a blueprint that is already encoded. */
void blueprint_key_of(const struct plan *blueprint, const struct buf *encoded,
                      char key[SHA256_HEX_SIZE]);

#endif
