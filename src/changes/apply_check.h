/* Which changes are selected, and their conflicts.  Private to apply and undo. */
#ifndef CHANGES_APPLY_CHECK_H
#define CHANGES_APPLY_CHECK_H

#include "changes/apply.h"
#include "changes/journal.h"

/* One for each change of the changeset: whether `options` select it. */
int apply_select_changes(const struct changeset *changeset, const struct apply_options *options,
                         bool *mask, sbr_error *err) must_check;
/* Lists what is left out because others execute it. */
int apply_report_left(const struct changes *changes, const struct apply_options *options,
                      struct apply_report *report, sbr_error *err) must_check;
/* `path` is one of them, or below one. */
bool apply_path_is_covered(const char *path, const char *const *covers, size_t n);

/* Removes temporaries of an apply or undo that was killed. */
int apply_remove_leftovers(const struct changeset *changeset, sbr_error *err) must_check;
/* Opens the roots of the changeset. */
int apply_open_roots(const struct changeset *changeset, struct apply_plan *e, sbr_error *err)
    must_check;

/* Fills the state of each step, and reports conflicts. */
int apply_check_steps(struct apply_plan *e, const struct apply_options *options,
                      const struct journal *journal, struct apply_report *report, sbr_error *err)
    must_check;

/* Adds a conflict, unless `force` covers the path. */
int apply_conflict_add(struct step *step, const char *why, const struct apply_options *force,
                       struct apply_report *report, sbr_error *err) must_check;

/* 1: the file or link at the step's path has the content of `content` below `content_fd`; 0; or -1
 * with errno. */
int apply_has_content(const struct apply_plan *e, const struct step *step, int content_fd,
                      const char *content);
/* 1: a directory has something in it that no step removes; 0: not; negative. */
int apply_has_others(const struct apply_plan *e, const struct step *step, sbr_error *err)
    must_check;

#endif
