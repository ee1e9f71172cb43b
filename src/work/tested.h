/* One run of a program that reports cases: a project's test runner, or what `verify` calls. */
#ifndef WORK_TESTED_H
#define WORK_TESTED_H

#include "work/signs.h"
#include "work/test_runner.h"

struct jsonw;

struct tested {
    const struct test_runner *runner;
    char folder[sizeof("/tmp/sandbox-run-test-XXXXXX")]; /* of the report; empty: none */
    sbr_result *result;
    struct report report;
    int stop_fd;           /* readable: the run is to end; 0: none */
    bool installs_nothing; /* a runner that the machine lacks is not installed as a package */
    void (*installs)(const char *package); /* called before that; NULL: not told */
    char *not_installed; /* why the tests ran without the project's packages; NULL: with them */
};

/* Completes the request: the runner's command with `more` (NULL-terminated; NULL: none) behind it,
 * limits for tests, and where the report goes.  A runner without a command leaves the request's
 * program.  The flags and functions of the struct are kept; what else it has is made new. */
int tested_prepare(struct tested *t, const struct test_runner *runner, sbr_request *req,
                   char **more, sbr_error *err) must_check;
/* Runs it, and reads the report.  A runner that the machine does not have is installed as a
 * package first.  May be called again. */
int tested_run(struct tested *t, sbr_runtime *rt, sbr_request *req, sbr_error *err) must_check;
/* False when a case failed, or when the runner itself did not succeed. */
bool tested_passed(const struct tested *t);
void tested_done(struct tested *t);

/* Runs of the same tests, which are reported as one. */
struct tested_rounds {
    const struct test_runner *runner;
    struct tested tested;                 /* the last run */
    struct report report;                 /* of all */
    const struct test_coverage *coverage; /* NULL: not asked for */
    unsigned int repeat;                  /* runs; 1: no word about flaky ones */
    uint64_t percent;                     /* that ran, in thousandths */
    bool measured, failed;                /* the runner said so; a run or a case failed */
};

/* After tested_run.  One run counts as it is; of several, a case that failed once has failed. */
int tested_add_round(struct tested_rounds *t, sbr_error *err) must_check;
/* Forgets the rounds, not how they are run. */
void tested_begin_rounds(struct tested_rounds *t);
/* The result of the last run with the fields of the tests in front; NULL without memory. */
char *tested_rounds_to_json(const struct tested_rounds *t);

#endif
