/* One run of a program that reports cases: a project's test runner, or what `verify` calls. */
#ifndef CLI_TESTED_H
#define CLI_TESTED_H

#include "cli/cli.h"
#include "work/test_runner.h"

#define TESTED_WALL_MS 600000 /* suites take longer than programs */

struct tested {
    const struct test_runner *runner;
    char folder[sizeof("/tmp/sandbox-run-test-XXXXXX")]; /* of the report; empty: none */
    sbr_result *result;
    struct report report;
    int stop_fd; /* readable: the run is to end; -1: never */
};

/* Completes the request: the runner's command with `more` (NULL-terminated; NULL: none) behind it,
 * and where the report goes.  A runner without a command leaves the request's program. */
int tested_prepare(struct tested *t, const struct test_runner *runner, sbr_request *req,
                   char **more, sbr_error *err) must_check;
/* Runs it, and reads the report.  A runner that the machine does not have is installed as a
 * package first.  May be called again. */
int tested_run(struct tested *t, sbr_runtime *rt, sbr_request *req, bool quiet, sbr_error *err)
    must_check;
/* False when a case failed, or when the runner itself did not succeed. */
bool tested_passed(const struct tested *t);
void tested_done(struct tested *t);

/* cmd_test.c: `run` of a file with tests, as `test` would; the exit status. */
int cmd_test_run_file(struct options *o);

#endif
