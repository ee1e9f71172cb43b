/* Outside: trees that root opens for init, which as the run's user could not reach them. */
#ifndef SANDBOX_MOUNT_PASS_H
#define SANDBOX_MOUNT_PASS_H

#include "base/fd.h"
#include "plan/plan.h"
#include "sandbox/ids.h"

/* Clones the trees of operations marked OP_PASSED, and gives the writable ones to the run's user.
 * The caller closes `fds`, also after a failure. */
int mount_pass(const struct plan *plan, const struct ids *ids, int fds[FD_MAX_PASSED],
               size_t *ret_n, sbr_error *err) must_check;

#endif
