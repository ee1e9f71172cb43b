/* Which program runs the tests of a project, and in what form it reports. */
#ifndef WORK_TEST_RUNNER_H
#define WORK_TEST_RUNNER_H

#include "work/signs.h"
#include "work/test_report.h"

#define TEST_RUNNER_REPORT ".sandbox-run-report" /* in /work, of runners that write a file */

struct test_runner {
    const char *name;
    const char *language;
    const char *const *words;    /* the command, NULL-terminated */
    test_report_parse_fn *parse; /* NULL: only the status counts */
    enum { REPORT_ON_STDOUT, REPORT_ON_STDERR, REPORT_IN_FILE } where;
    /* What stderr has when the runner is not there, and the package that brings it; NULL: none.
     * A package alone is always installed. */
    const char *missing, *package;
};

/* By its name, or for NULL the one that fits the files.  SBR_E_NOT_FOUND: none. */
int test_runner_find(const struct signs *project, const char *name, const struct test_runner **ret,
                     sbr_error *err) must_check;
/* The one for a file by itself, whose name follows its command. */
int test_runner_for_file(const char *path, const char *text, const char *name,
                         const struct test_runner **ret, sbr_error *err) must_check;
const char *test_runner_name(size_t i); /* NULL past the last */

#endif
