/* How a runner is asked for more than its tests: only these cases, or how much of the code ran. */
#ifndef WORK_TEST_SELECT_H
#define WORK_TEST_SELECT_H

#include "base/string_list.h"
#include "model/request.h"
#include "work/test_runner.h"

/* The command that runs only the cases that failed in the report; *ret owns its words.
 * SBR_E_UNSUPPORTED: this runner cannot. */
int test_select_failed(const struct test_runner *runner, const struct report *cases,
                       struct string_list *ret, sbr_error *err) must_check;

/* Words that make the runner measure, and a package that it needs for it; NULL: none. */
struct test_coverage {
    const char *runner;
    const char *const *words;
    const char *package;
    const char *line; /* what a line with the sum begins with, as printed on stdout */
    bool lowest;      /* the line has several figures, with bars between: the lowest counts */
};

/* NULL: this runner cannot. */
const struct test_coverage *test_select_coverage(const struct test_runner *runner);
/* Adds the words to the list and the package to the request.  SBR_E_UNSUPPORTED: it cannot. */
int test_select_add_coverage(const struct test_runner *runner, sbr_request *req,
                             struct string_list *words, const struct test_coverage **ret,
                             sbr_error *err) must_check;
/* The percentage in thousandths, of the last such line; false: there is none. */
bool test_select_percent(const struct test_coverage *coverage, const char *text, size_t len,
                         uint64_t *ret);

#endif
