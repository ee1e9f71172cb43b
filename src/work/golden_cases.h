/* Golden cases: a command, and what it has to print, to end with and to write.
 *
 * A directory with `command` is a case; what it lacks of `command` and `normalize`, it has from the
 * directories above it (docs/build.md). */
#ifndef WORK_GOLDEN_CASES_H
#define WORK_GOLDEN_CASES_H

#include "toolchain/project_file.h"

struct golden_text {
    char *data; /* NULL: it is not there */
    size_t len;
};

struct golden_case {
    char *name; /* its path in the directory; "." for that itself */
    char *command;
    unsigned int normalizers;
    struct golden_text input, out, err; /* stdin; what is expected, where it is there */
    int status;
    bool has_status, has_tree;
    struct request_file *inputs, *tree; /* files of `input` and of `tree` */
    size_t n_inputs, n_tree;
};

struct golden_cases {
    struct golden_case *items; /* by name */
    size_t n;
};

#define GOLDEN_MOST_CASES 10000

/* The cases in the directory `top` of a tree; empty: in the tree itself.  A link among them is an
 * error.  SBR_E_NOT_FOUND: the directory has no case. */
int golden_cases_load(struct project_tree *tree, const char *top, struct golden_cases *ret,
                      sbr_error *err) must_check;
/* The same of JSON, for callers without a directory. */
int golden_cases_parse(const char *json, struct golden_cases *ret, sbr_error *err) must_check;
void golden_cases_done(struct golden_cases *cases);
/* False: nothing says what is expected. */
bool golden_case_is_known(const struct golden_case *c);

#endif
