/* What was taken from above a tree, and the tree itself -> changes. */
#ifndef CHANGES_COMPARE_H
#define CHANGES_COMPARE_H

#include "changes/collected.h"
#include "model/changes.h"
#include "model/request.h"

struct compare_input {
    const struct collected *collected;
    int source_fd;     /* of the real tree */
    unsigned int root; /* index of the tree in `changes` */
    const struct request_file
        *own; /* files that the request put there: unchanged, they are no changes */
    size_t n_own;
    int64_t
        started_ns; /* CLOCK_REALTIME of the run's start: what changed outside since then is `raced` */
    bool renames; /* look for them */
    bool
        no_sums; /* nobody will apply the changes: base_sum may stay empty, and what is deleted is not read */
};

/* Adds to `changes` and sorts them.  Costs grow with what was changed (a deleted directory: with what was in it), never
 * with the tree.  Nothing is followed, no mount below the tree is entered; files of the tree that cannot be read are
 * compared by what stat says. */
int compare(const struct compare_input *in, struct changes *changes, sbr_error *err) must_check;

#endif
