/* The audit: one line of JSON for each run, in STATE/audit.jsonl, when the user's configuration has
 * `audit: true` or `audit: with-code`.  A line is one write to a file that is only appended to.
 *
 * The lines are a chain: each has the hash of the one before it, `prev`, and its own, `hash`, which
 * is that of the line up to it.  A line that was changed, removed or put in between breaks it.  A
 * process that is killed while it writes leaves a torn last line, which the next writer closes and
 * leaves out of the chain (docs/decisions/0036-the-audit-is-a-chain.md). */
#ifndef CONFIG_AUDIT_H
#define CONFIG_AUDIT_H

#include "base/sha256.h"
#include "config/audit_code.h"
#include "model/request.h"
#include "model/result.h"

#define AUDIT_LINE_MAX 4096
#define AUDIT_FILE_MAX (8ull << 20) /* then it becomes audit.jsonl.1, and that one goes */

/* Before the run: what cannot be audited is not run.  Rotates the file. */
int audit_open(int *ret_fd, sbr_error *err) must_check;
/* `result` NULL: nothing ran, because of `failure`. */
int audit_append(const sbr_request *req, const sbr_result *result, const sbr_error *failure,
                 sbr_error *err) must_check;

/* Something that is no run: a token, a refused request.  Values may be untrusted text. */
struct audit_field {
    const char *name, *value; /* NULL: left out */
};
int audit_note(const char *kind, const struct audit_field *fields, size_t n, sbr_error *err)
    must_check;

/* A cell of a session.  The fields have neither its digest nor its code. */
int audit_note_cell(const struct audit_field *fields, size_t n, const struct audit_program *cell,
                    bool keeps_code, sbr_error *err) must_check;

/* As audit_note, if the user's configuration wants it; for processes that have not read it. */
int audit_note_if_wanted(const char *kind, const struct audit_field *fields, size_t n,
                         sbr_error *err) must_check;

/* What audit_verify found. */
struct audit_chain {
    uint64_t lines;     /* of the chain */
    uint64_t unchained; /* before it, from a version without one */
    uint64_t torn;      /* cut off by a kill; the chain goes past them */
    uint64_t first_bad; /* number of the first line that breaks it, from 1; 0: it is whole */
    char head[SHA256_HEX_SIZE]; /* the last hash; to be kept elsewhere */
};
int audit_verify(struct audit_chain *ret, sbr_error *err) must_check;

/* One line without its end; it may be damaged. */
typedef void audit_visit(void *context, const char *line, size_t len);
/* All lines, oldest first. */
int audit_read(audit_visit *visit, void *context, sbr_error *err) must_check;
/* All programs whose code was kept (config/audit_code.h), oldest first. */
int audit_read_code(audit_visit *visit, void *context, sbr_error *err) must_check;

#endif
