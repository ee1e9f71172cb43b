/* git in a repository that others may have filled.
 *
 * A repository orders git to run commands: filters, helpers, remotes, monitors, and includes from
 * anywhere.  So git runs in a sandbox over a view of the repository: without a network, without
 * files of the user, and what it writes is dropped (docs/decisions/0076-git-inside.md). */
#ifndef LIB_GIT_REPO_H
#define LIB_GIT_REPO_H

#include <limits.h>

#include "job/job.h"

struct git_repo {
    const sbr_runtime *rt;
    char top[PATH_MAX];    /* of the working files */
    char common[PATH_MAX]; /* of a linked worktree: `.git` of its repository; empty: it is in top */
    char name[NAME_MAX + 1]; /* of the linked worktree there */
    char index[PATH_MAX];    /* that a hook names; empty: the repository's own */
};

/* The repository at `start` or above it, if it is the caller's own; a linked worktree counts when
 * its repository is the caller's own and knows it. */
int git_repo_open(const sbr_runtime *rt, const char *start, struct git_repo *ret, sbr_error *err)
    must_check;

/* What `git WORDS...` prints in the repository, given `input`; the caller frees it. */
int git_repo_ask(const struct git_repo *repo, const char *const *words, const struct buf *input,
                 struct buf *ret, sbr_error *err) must_check;

/* Where hooks lie that `git` runs for this user in every repository, by the user's and the system's
 * own configuration, which the caller frees; NULL: in each repository. */
int git_repo_user_hooks(char **ret, sbr_error *err) must_check;

#endif
