/* git in a repository that others may have filled.
 *
 * A repository orders git to run commands: filters, helpers, remotes, monitors, and includes from
 * anywhere.  So git runs in a sandbox over a view of the repository: without a network, without
 * files of the user, and what it writes is dropped (docs/decisions/0076-git-inside.md). */
#ifndef LIB_GIT_REPO_H
#define LIB_GIT_REPO_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

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

/* What git prints about a repository, whose author chose names and contents; pure. */

/* A text of git, and how far it was read. */
struct git_output {
    const char *data;
    size_t len, at;
};

/* One line of `git diff-files -z` or `git diff-index -z`: a file that is another than the working
 * one. */
struct git_change {
    const char *path;
    const char *object; /* its content: 40 or 64 hexadecimal digits, not terminated */
    size_t object_len;
    bool is_file, executable;
    bool only_working; /* the index or the commit does not have it */
};

/* The next of the names that -z ends with NUL; NULL: there is none. */
const char *git_output_name(struct git_output *output);
/* False: there is no further change, or none that can be read. */
bool git_output_change(struct git_output *output, struct git_change *ret);
/* The next content that `cat-file --batch` prints; false: it is missing, or there is none. */
bool git_output_blob(struct git_output *output, const char **ret, size_t *ret_len);

#endif
