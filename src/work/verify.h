/* One verdict about code, from several checks; each check is a run of its own. */
#ifndef WORK_VERIFY_H
#define WORK_VERIFY_H

#include "model/request.h"
#include "model/result.h"
#include "toolchain/project_file.h"
#include "work/call_lines.h"
#include "work/test_report.h"

struct jsonw;
struct language;

struct verify_file {
    char *path; /* in the project; without one, its name */
    char *data; /* NULL until it is read */
    size_t len;
    const struct language *language; /* NULL: none is known by its name */
    bool executable;
    bool is_checked; /* otherwise the checks only see it */
    bool is_brought; /* by the request: its content may be another than the project's on disk */
};

enum verify_outcome { VERIFY_PASSED, VERIFY_FAILED, VERIFY_ERROR, VERIFY_SKIPPED };

/* One check and what it came to. */
struct verify_step {
    const char *check; /* a word of verify_check_word */
    char *tool, *file; /* NULL: of the project, not of one file */
    enum verify_outcome outcome;
    char *reason; /* one line; NULL: it passed */
    char *output; /* what the tool wrote, bounded; NULL: nothing, or it passed */
    struct report report;
    uint64_t wall_us;
};

/* What a client of this machine adds; each may be NULL. */
struct verify_hooks {
    /* Completes the request of a check, whose language is known by now. */
    int (*complete)(void *context, sbr_request *req, sbr_error *err);
    void (*installs)(const char *package); /* before a checker is installed as a package */
    void *context;
};

struct verification {
    sbr_runtime *rt;
    const sbr_request *base;
    const sbr_verify *how;
    const struct verify_hooks *hooks;
    struct project_tree tree; /* the project on this machine, if there is one */
    struct verify_file *files;
    size_t n_files;
    struct calls calls;
    struct verify_step *steps;
    size_t n_steps;
};

/* Makes all checks.  The verification borrows what it is given and is done by verify_done, also
 * after an error; a check that fails is none. */
int verify_run(sbr_runtime *rt, const sbr_request *base, const sbr_verify *how,
               const struct verify_hooks *hooks, struct verification *ret, sbr_error *err)
    must_check;
void verify_done(struct verification *v);
bool verify_passed(const struct verification *v);
/* True when it failed, or could not be made. */
bool verify_step_is_bad(const struct verify_step *step);
const char *verify_outcome_name(enum verify_outcome outcome);
/* `written`: the file that the caller wrote the code to; NULL: none. */
void verify_put_json(struct jsonw *j, const struct verification *v, const char *written);
/* The i-th name of a check; NULL past the last. */
const char *verify_check_word(size_t i);

#endif
