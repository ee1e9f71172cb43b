/* Files that the program says it was refused: its last words on stderr, held against the plan.  Pure.  Nobody else can
 * tell: the kernel refuses a path without telling us which.  The words are the program's own and may be forged, so each
 * rule begins with "stderr: ", nothing is decided by them, and the host is not asked whether a path exists there. */
#ifndef EXPLAIN_DENIAL_TEXT_H
#define EXPLAIN_DENIAL_TEXT_H

#include <stddef.h>

#include "model/denial.h"
#include "plan/plan.h"

#define DENIAL_TEXT_BYTES (64 * 1024) /* of the end are looked at */
#define DENIAL_TEXT_MAX 16

/* For a run that failed.  `text` may be NULL when `len` is 0. */
void denial_text(const struct plan *plan, const char *text, size_t len, struct denials *ret);

#endif
