/* Outside: what root opens for the inside, which could not walk there as the user of the run. */
#ifndef SANDBOX_MOUNT_PASS_H
#define SANDBOX_MOUNT_PASS_H

#include "base/fd.h"
#include "plan/plan.h"
#include "sandbox/ids.h"

/* Clones the trees of operations that are marked OP_PASSED, and gives those that the program may write to to
 * the user of the run.  The caller closes what is in `fds`, also after a failure. */
int mount_pass(const struct plan *plan, const struct ids *ids, int fds[FD_MAX_PASSED],
               size_t *ret_n, sbr_error *err) must_check;

#endif
