/* Which cases of a project failed last time: a file of the state directory for each project. */
#ifndef CLI_TEST_MEMORY_H
#define CLI_TEST_MEMORY_H

#include "work/test_report.h"

/* `dir` is absolute.  A state that cannot be written is none: the run is not to blame. */
void test_memory_save(const char *dir, const char *runner, const struct report *report);
/* The cases that failed; SBR_E_NOT_FOUND: none is known. */
int test_memory_load(const char *dir, const char *runner, struct report *ret, sbr_error *err)
    must_check;

#endif
