/* Parts of `test` that other commands use. */
#ifndef CLI_CMD_TEST_H
#define CLI_CMD_TEST_H

#include "base/err.h"
#include "cli/cli.h"
#include "work/test_report.h"

/* `run` of a file with tests, as `test` would; the exit status. */
int cmd_test_run_file(struct options *o);
/* Says on stderr that a package is installed. */
void cmd_test_installs(const char *package);

/* Which cases of a project failed last time: a file of the state directory for each project. */

/* `dir` is absolute.  A state that cannot be written is none: the run is not to blame. */
void test_memory_save(const char *dir, const char *runner, const struct report *report);
/* The cases that failed; SBR_E_NOT_FOUND: none is known. */
int test_memory_load(const char *dir, const char *runner, struct report *ret, sbr_error *err)
    must_check;

/* Waits until a file of a directory tree changes. */

/* An inotify descriptor for the tree, without hidden directories and those of packages. */
int tree_watch_open(const char *dir, int *ret, sbr_error *err) must_check;
/* 1: something changed, and it is quiet now; 0: `stop_fd` is readable. */
int tree_watch_wait(int fd, int stop_fd);

#endif
