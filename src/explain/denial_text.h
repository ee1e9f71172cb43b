/* Files that the program was refused, by its last lines on stderr, compared with the plan.  Pure.
 * There is no other source: the kernel refuses a path without reporting which.  The program may
 * forge these lines, so each rule begins with "stderr: ", they decide nothing, and the host is not
 * asked whether a path exists there. */
#ifndef EXPLAIN_DENIAL_TEXT_H
#define EXPLAIN_DENIAL_TEXT_H

#include <stddef.h>

#include "model/denial.h"
#include "plan/plan.h"

#define DENIAL_TEXT_BYTES (64 * 1024) /* of the end are examined */
#define DENIAL_TEXT_MAX 16

/* For a run that failed.  `text` may be NULL when `len` is 0. */
void denial_text(const struct plan *plan, const char *text, size_t len, struct denials *ret);

#endif
