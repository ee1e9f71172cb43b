/* verify: one verdict about code, from several checks. */
#ifndef CLI_VERIFY_H
#define CLI_VERIFY_H

#include <limits.h>

#include "cli/cli.h"
#include "model/result.h"
#include "work/call_lines.h"
#include "work/test_report.h"

struct language;

struct verify_options {
    bool staged, install_hook, yes;
    struct texts calls, skips;
    const char *commit, *since, *write;
};

struct verify_file {
    char *path; /* in the project; without one, its name */
    char *data; /* NULL until it is read */
    size_t len;
    const struct language *language; /* NULL: none is known by its name */
    bool executable;
    bool is_checked; /* otherwise it only belongs to what is staged */
    bool is_brought; /* its content is another than the project's on disk */
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

struct verification {
    struct options *o;
    const struct verify_options *own;
    sbr_runtime *rt;
    char project[PATH_MAX]; /* empty: files by themselves */
    struct string_list excludes;
    struct verify_file *files;
    size_t n_files;
    struct calls calls;
    struct verify_step *steps;
    size_t n_steps;
    const char *written; /* by --write; NULL: nothing */
};

/* verify_files.c: what is checked. */
int verify_collect(struct verification *v, sbr_error *err) must_check;
/* Reads the file's content unless it is there. */
int verify_load(const struct verification *v, struct verify_file *file, sbr_error *err) must_check;
/* A request with the options of the command line, the project and what differs from it; the caller
 * frees it.  `first`, if not NULL, is its first file. */
int verify_request(struct verification *v, struct verify_file *first, sbr_request **ret,
                   sbr_error *err) must_check;
/* The same without the project and the other files. */
int verify_request_alone(struct verification *v, struct verify_file *file, sbr_request **ret,
                         sbr_error *err) must_check;
void verify_files_done(struct verification *v);

/* verify_steps.c */
int verify_run_steps(struct verification *v, sbr_error *err) must_check;
/* The i-th word of --skip; NULL past the last. */
const char *verify_check_word(size_t i);
void verify_steps_done(struct verification *v);

/* verify_step.c */
bool verify_skips(const struct verification *v, const char *check);
/* Borrows `check`; copies the others, which may be NULL. */
struct verify_step *verify_step_add(struct verification *v, const char *check, const char *tool,
                                    const char *file, sbr_error *err);
/* The runner's command in a request, as one step.  An error of ours is the step's reason. */
int verify_step_run(struct verification *v, struct verify_step *step, sbr_request *req,
                    const struct test_runner *runner, char **more, sbr_error *err) must_check;
void verify_step_end(struct verify_step *step, const sbr_result *result, bool passed);
/* By the cases of its report; `problem`, unless NULL, kept them from running. */
void verify_step_end_cases(struct verify_step *step, const char *problem);
/* The stage that failed, or the program itself. */
const sbr_result *verify_failed_part(const sbr_result *result);

/* verify_code.c: examples unless the project has tests, and calls. */
int verify_run_code(struct verification *v, bool tested, sbr_error *err) must_check;

/* verify_report.c */
bool verify_passed(const struct verification *v);
void verify_print(const struct verification *v);

/* git_hook.c: `verify --install-hook`; the exit status. */
int git_hook_install(const struct options *o);

#endif
