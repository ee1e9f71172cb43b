/* The caller's git repository: what is staged or committed, and how it differs from the files. */
#ifndef CLI_GIT_REPO_H
#define CLI_GIT_REPO_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"

/* The directory at or above `dir` that has `.git`; false: there is none. */
bool git_repo_find(const char *dir, char top[PATH_MAX]);

/* What `git WORDS...` prints in the repository; the caller frees it. */
int git_repo_ask(const char *top, const char *const *words, char **ret, size_t *ret_len,
                 sbr_error *err) must_check;

/* One line of `git diff-files -z` or `git diff-index -z`: a file that is another than the working
 * one. */
struct git_change {
    const char *path;
    const char *object; /* its content: 40 or 64 digits, not terminated */
    size_t object_len;
    bool is_file, executable;
    bool only_working; /* the index or the commit does not have it */
};
/* The change at *at of the output, which goes on behind it.  False: there is no further one. */
bool git_repo_next_change(const char *output, size_t len, size_t *at, struct git_change *ret);
/* The next of the names that -z ends with NUL; NULL: there is none. */
const char *git_repo_next_name(const char *output, size_t len, size_t *at);

#endif
