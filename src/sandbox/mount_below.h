/* Whether a file system is mounted below a directory. */
#ifndef SANDBOX_MOUNT_BELOW_H
#define SANDBOX_MOUNT_BELOW_H

#include <stdbool.h>

#include "base/err.h"
#include "base/fd.h"
#include "plan/plan.h"
#include "sandbox/ids.h"

/* `path` may contain links.  Also true where the kernel does not say. */
bool mount_is_below(const char *path);

/* The same for a resolved path and one line of /proc/PID/mountinfo, which is changed. */
bool mount_line_is_below(char *line, const char *path);

/* Outside: trees that root opens for init, which as the run's user could not reach them. */

/* Clones the trees of operations marked OP_PASSED, and gives the writable ones to the run's user.
 * The caller closes `fds`, also after a failure. */
int mount_pass(const struct plan *plan, const struct ids *ids, int fds[FD_MAX_PASSED],
               size_t *ret_n, sbr_error *err) must_check;

/* An error in a page that is shared with init, egress or publish, which read what others chose. */

/* Copies it once and makes it whole: a known code, texts that end and that a terminal may print.
 * Returns the code. */
int page_error_read(const sbr_error *shared, sbr_error *ret);

#endif
