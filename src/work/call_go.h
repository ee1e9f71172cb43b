/* Calls in Go: a file of tests in the package of the code, so that it sees what is not exported. */
#ifndef WORK_CALL_GO_H
#define WORK_CALL_GO_H

#include "work/call_lines.h"

#define CALL_GO_FILE "zz_sandbox_run_calls_test.go"

/* The text of that file; `code` says the package. */
int call_go_write(const struct calls *calls, const char *code, size_t len, struct buf *out);

#endif
