/* The audit: one line of JSON for each run, when the user's configuration has `audit: true` or
 * `audit: with-code`.  A line is one write to a chain (config/audit_chain.h). */
#ifndef CONFIG_AUDIT_H
#define CONFIG_AUDIT_H

#include "config/audit_chain.h"
#include "model/request.h"
#include "model/result.h"

/* `result` NULL: nothing ran, because of `failure`. */
int audit_append(const sbr_request *req, const sbr_result *result, const sbr_error *failure,
                 sbr_error *err) must_check;

/* Something that is no run: a token, a refused request.  Values may be untrusted text. */
struct audit_field {
    const char *name, *value; /* NULL: left out */
};
int audit_note(const char *kind, const struct audit_field *fields, size_t n, sbr_error *err)
    must_check;

/* A cell of a session whose request is `req`.  The fields have neither its digest nor its code. */
int audit_note_cell(const struct audit_field *fields, size_t n, const struct audit_program *cell,
                    const sbr_request *req, sbr_error *err) must_check;

/* A request that we make for another one goes on record where that one does. */
void audit_as(sbr_request *req, const sbr_request *other);

/* As audit_note, if the user's configuration wants it; for processes that have not read it. */
int audit_note_if_wanted(const char *kind, const struct audit_field *fields, size_t n,
                         sbr_error *err) must_check;

/* Requests that were refused, counted: strangers may send any number of them. */
struct audit_refusal {
    unsigned int status;
    const char *reason;                   /* a short word */
    char caller[33], method[9], path[49]; /* of the first such request */
    uint64_t count;
};
#define AUDIT_REFUSALS_MAX 16

/* One line for all since `from_us` (CLOCK_REALTIME), in a record of their own.  `others`: refused,
 * and in none of the rows. */
int audit_note_refusals(const struct audit_refusal *rows, size_t n, uint64_t others,
                        uint64_t from_us, uint64_t keep, sbr_error *err) must_check;

#endif
