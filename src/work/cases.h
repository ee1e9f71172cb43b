/* Cases of one program: an input, and what has to come out; groups of them with points and limits.
 *
 * A directory has NAME.in, and NAME.out or NAME.ans beside it; directories in it are part of the
 * name, as in `small/01`.  cases.yaml is optional (docs/batch.md). */
#ifndef WORK_CASES_H
#define WORK_CASES_H

#include <stdint.h>

#include "model/limits.h"
#include "toolchain/project_file.h"
#include "work/check.h"

struct work_case {
    char *name;
    char *input, *expected; /* paths in the directory; `expected` NULL: only the exit code counts */
    size_t group;           /* index; CASES_NO_GROUP: none */
};

#define CASES_NO_GROUP SIZE_MAX

struct case_group {
    const char *name;
    uint64_t points;
    struct limits limits; /* in place of those for all */
    bool each; /* points are shared out among the cases; otherwise all of them have to pass */
};

struct cases {
    struct project_tree tree; /* the directory */
    struct work_case *items;
    size_t n;
    struct case_group *groups;
    size_t n_groups;
    char *checker; /* of cases.yaml; NULL: not said */
    char *tolerance;
    void *file; /* what the groups borrow from */
};

/* `req` has what is left out.  A link among the cases is an error.  SBR_E_NOT_FOUND: the directory
 * has no case. */
int cases_load(const char *dir, const sbr_request *req, struct cases *ret, sbr_error *err)
    must_check;
/* The content of a file of the directory, which the caller frees. */
int cases_read(struct cases *cases, const char *path, char **ret, size_t *ret_len, sbr_error *err)
    must_check;
void cases_done(struct cases *cases);

#endif
