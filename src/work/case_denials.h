/* Which failed cases the sandbox had a part in, and the option that would have let them pass.  A
 * message is the program's own: what stands here only reports. */
#ifndef WORK_CASE_DENIALS_H
#define WORK_CASE_DENIALS_H

#include "model/denial.h"
#include "work/test_report.h"

/* Sets `denial` of the cases that failed by one of `denials`, or by what a sandbox does not have.
 * `not_installed`: why the project's packages are not there, which other failures come from; NULL:
 * they are. */
int case_denials_note(struct report *r, const struct denials *denials, const char *not_installed,
                      sbr_error *err) must_check;

#endif
