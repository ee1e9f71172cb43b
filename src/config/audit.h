/* The audit: one line of JSON for each run, in STATE/audit.jsonl, when the user's configuration has
 * `audit: true`.  A line is one write to a file that is only appended to, so that lines of runs
 * that end at the same time never mix. */
#ifndef CONFIG_AUDIT_H
#define CONFIG_AUDIT_H

#include "model/request.h"
#include "model/result.h"

#define AUDIT_LINE_MAX 4096
#define AUDIT_FILE_MAX (8ull << 20) /* then it becomes audit.jsonl.1, and that one goes */

/* Before the run: what cannot be audited is not run.  Rotates the file. */
int audit_open(int *ret_fd, sbr_error *err) must_check;
/* `result` NULL: nothing ran, because of `failure`. */
int audit_append(int fd, const sbr_request *req, const sbr_result *result, const sbr_error *failure,
                 sbr_error *err) must_check;

/* One line without its end; it may be damaged. */
typedef void audit_visit(void *context, const char *line, size_t len);
/* All lines, oldest first. */
int audit_read(audit_visit *visit, void *context, sbr_error *err) must_check;

#endif
