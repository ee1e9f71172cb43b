/* What can be prepared of a run before it is known.
 *
 * A plan falls into two parts: what many runs have in common, the *template*, which a sandbox can be made of ahead of
 * time, and what is known only when the run is asked for: the program's files, arguments, variables, work directory and
 * limits.  Pure: no system call. */
#ifndef PLAN_BLUEPRINT_H
#define PLAN_BLUEPRINT_H

#include "base/sha256.h"
#include "plan/plan.h"
#include "plan/planner.h"

/* What a plan without a parked form is lacking, for the log and for --verbose; NULL: it has one. */
const char *blueprint_refusal(const struct plan *plan);

/* The template of a plan.  `in` is what the plan was made of: its language may have a driver for the stage
 * (language.h, struct warm_def).  The template borrows from the plan and from `in`; the caller frees it.  It has no
 * OP_PROGRAM, no resource limits, the work directory /work, and as argv the driver's command, or "-" without one. */
int blueprint_make(const struct plan *plan, const struct plan_input *in, struct plan **ret,
                   sbr_error *err) must_check;

/* Equal for templates that can stand for each other: a digest of the encoded template and its control groups. */
int blueprint_key(const struct plan *plan, char key[SHA256_HEX_SIZE], sbr_error *err) must_check;
/* The same where the bytes are at hand. */
void blueprint_key_of(const struct plan *template, const struct buf *encoded,
                      char key[SHA256_HEX_SIZE]);

#endif
