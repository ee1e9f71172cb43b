/* What git prints about a repository, whose author chose names and contents; pure. */
#ifndef LIB_GIT_OUTPUT_H
#define LIB_GIT_OUTPUT_H

#include <stdbool.h>
#include <stddef.h>

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
