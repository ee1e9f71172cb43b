/* What was collected from above a tree, and the tree itself -> changes. */
#ifndef CHANGES_COMPARE_H
#define CHANGES_COMPARE_H

#include "changes/collected_tree.h"
#include "changes/node.h"
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

/* Created and deleted files with the same content become one renamed file. */

/* Looks at changes->items from `first` on, all of one root.  Empty files never count as renamed;
 * among several that fit, one with the same last name is preferred.  Only files whose sizes occur
 * on both sides are read. */
int renames_find(struct changes *changes, size_t first, int source_fd, int content_fd,
                 sbr_error *err) must_check;

/* The two sides of a changed file, as far as they can be shown. */

/* From best to worst. */
enum diff_content_state {
    CONTENT_TEXT,
    CONTENT_BINARY,
    CONTENT_HUGE,
    CONTENT_UNREADABLE,
    CONTENT_CHANGED /* the real file is not the base any more */
};

struct content {
    bool there; /* false: there is nothing on this side */
    enum diff_content_state state;
    char *data; /* of CONTENT_TEXT; the caller frees it */
    size_t len;
};

/* Reads c->path of the real tree, if it has at most `max` bytes (0: no limit). */
void diff_content_before(struct content *ret, int root_fd, const struct change *c, uint64_t max);
/* Reads what was collected: below `content_fd`, in the directory of the change's root. */
void diff_content_after(struct content *ret, int content_fd, const struct change *c, uint64_t max);
/* The number of lines that were read. */
size_t diff_content_lines(const struct content *content);

#endif
