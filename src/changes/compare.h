/* What was collected from above a tree, and the tree itself -> changes. */
#ifndef CHANGES_COMPARE_H
#define CHANGES_COMPARE_H

#include "changes/collected.h"
#include "model/changes.h"
#include "model/request.h"

/* A file of the real tree as `apply` left it during the run: no change from outside. */
struct compare_known {
    uint64_t ino;
    int64_t ctime_ns;
};

struct compare_input {
    const struct collected *collected; /* without a content_fd only names and sizes are known */
    int source_fd;                     /* of the real tree */
    unsigned int root;                 /* index of the tree in `changes` */
    const struct request_file *own;    /* files of the request: unchanged, they are no changes */
    size_t n_own;
    const char
        *index_sum;     /* of git's index when the run began (node_sum_at); "" or NULL: unknown */
    int64_t started_ns; /* CLOCK_REALTIME of the run's start: later changes outside are `raced` */
    const struct compare_known *known;
    size_t n_known;
    bool renames; /* look for them */
    bool no_sums; /* the changes are not applied: no base_sum, deleted files are not read */
};

/* Adds to `changes` and sorts them.  Costs grow with the changes (for a deleted directory: with its
 * contents), never with the tree.  No link is followed, no mount below the tree is entered; files
 * of the tree that cannot be read are compared by stat. */
int compare(const struct compare_input *in, struct changes *changes, sbr_error *err) must_check;

#endif
