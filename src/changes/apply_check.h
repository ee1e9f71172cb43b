/* Which changes are meant, and what speaks against them.  Private to apply and undo. */
#ifndef CHANGES_APPLY_CHECK_H
#define CHANGES_APPLY_CHECK_H

#include "changes/apply.h"
#include "changes/journal.h"

/* One for each of kept->changes: whether `options` mean it. */
int apply_select_changes(const struct changeset *changeset, const struct apply_options *options,
                         bool *mask, sbr_error *err) must_check;
/* One of the paths, or one below it. */
bool apply_path_is_covered(const char *path, const char *const *covers, size_t n);

/* Temporaries of an apply or undo that was ended. */
int apply_remove_leftovers(const struct changeset *changeset, sbr_error *err) must_check;
/* The roots of kept changes, opened. */
int apply_open_roots(const struct changeset *changeset, struct apply_plan *e, sbr_error *err)
    must_check;

/* Looks at each step: its state, and what is in the way. */
int apply_check_steps(struct apply_plan *e, const struct apply_options *options,
                      const struct journal *journal, struct apply_report *report, sbr_error *err)
    must_check;

/* A conflict; with `force`d paths, none if it may be. */
int apply_conflict_add(struct step *step, const char *why, const struct apply_options *force,
                       struct apply_report *report, sbr_error *err) must_check;

/* 1: the file or link at the step's path has the content that `content` has below `content_fd`; 0; or -1 with errno. */
int apply_has_content(const struct apply_plan *e, const struct step *step, int content_fd,
                      const char *content);
/* 1: a directory has something in it that does not go with it; 0: not; negative. */
int apply_has_strangers(const struct apply_plan *e, const struct step *step, sbr_error *err)
    must_check;

#endif
