/* A changeset becomes real: see the theory in apply.c.
 *
 *   (1) Nothing outside the roots is touched: file descriptors walk every path without a link.
 *   (2) Each file is replaced, made or removed in one step: a kill leaves the old or the new.
 *   (3) What is undone later is stored before it is touched.
 *   (4) It can be repeated: what is as it should be is left alone. */
#ifndef CHANGES_APPLY_H
#define CHANGES_APPLY_H

#include "changes/changeset.h"

#define APPLY_CONSUME 1u /* contents are moved instead of copied, in a tree of ours */
#define APPLY_NO_UNDO 2u
#define APPLY_NO_CHECK 4u /* whatever stands there */
#define APPLY_EXECUTED 8u /* what others execute, too, though nothing names it */

struct apply_options {
    const char *const *paths; /* of the changes; a directory stands for all below it; none: all */
    size_t n_paths;
    const char *const *force; /* paths that are applied though they conflict */
    size_t n_force;
    const char *const *also; /* paths that others execute, besides what is selected */
    size_t n_also;
    unsigned int flags;
};

struct conflict {
    char *path;
    char why[120]; /* "was changed since", "is there already", "leads out of the project", ... */
};

struct conflicts {
    struct conflict *items;
    size_t n;
};

/* A change that others execute (model/executes.h) and that no option named. */
struct left_out {
    char *path;
    const char *executes;
};

struct apply_report {
    size_t applied, already; /* done now; found done */
    size_t skipped;          /* pipes, sockets and devices, which are not made */
    struct conflicts conflicts;
    struct left_out *left_out;
    size_t n_left_out;
};

void apply_report_done(struct apply_report *report);
/* Its fields, into an open object; `done` is "applied" or "undone". */
void apply_report_put_json(struct jsonw *j, const struct apply_report *report, const char *done);

/* The changes that `options` select, without those that others execute and nothing names: a list
 * that borrows from the changeset.  The caller frees only ret->items. */
int apply_select(const struct changeset *changeset, const struct apply_options *options,
                 struct changes *ret, sbr_error *err) must_check;
/* Changes nothing; fills the report's conflicts. */
int apply_check(const struct changeset *changeset, const struct apply_options *options,
                struct apply_report *report, sbr_error *err) must_check;
/* Checks, and applies all or, with conflicts, nothing (SBR_E_DENIED). */
int apply(struct changeset *changeset, const struct apply_options *options,
          struct apply_report *report, sbr_error *err) must_check;
/* Undoes it; refuses (conflicts) where a file was changed since, unless forced. */
int apply_undo(struct changeset *changeset, const struct apply_options *options,
               struct apply_report *report, sbr_error *err) must_check;

/* The same for a tree of ours: `content_fd` holds the contents of the changes of one root. */
int apply_to(int root_fd, int content_fd, const struct changes *changes, unsigned int flags,
             sbr_error *err) must_check;

#endif
