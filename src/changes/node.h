/* What stands at a path of a tree that may change at any time and hold anything: no link is
 * followed, no mount entered, no pipe waited for. */
#ifndef CHANGES_NODE_H
#define CHANGES_NODE_H

#include <sys/stat.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/sha256.h"
#include "model/changes.h"

struct node_state {
    struct node node; /* kind NODE_NONE: nothing is there */
    uint32_t type;    /* of S_IFMT */
    uint64_t ino;
    int64_t ctime_ns;
};

struct node_state node_state_of(const struct stat *st);

/* `path` may have many components. 0, also when nothing is there or we may not look; -1 with errno.
 */
int node_look(int dir_fd, const char *path, struct node_state *ret);
/* Follows no link on the way; -1 with errno: ELOOP for a link, EXDEV beyond a mount. */
int node_open(int dir_fd, const char *path, int flags);
/* Opens a file for reading; EINVAL for any other kind. */
int node_open_file(int dir_fd, const char *path, struct node_state *ret);
/* The text of a link, NUL-terminated, which the caller frees; NULL with errno. */
char *node_link_text(int dir_fd, const char *path, size_t *ret_len);

/* Sum of the content of a file (at most its size when it was opened) or of the text of a link: 0,
 * or -1 with errno.  EAGAIN: it changed meanwhile. */
int node_sum(int dir_fd, const char *path, char sum[SHA256_HEX_SIZE]);

/* The same for what is at `path` of a tree, where it is called `name`: of git's index only what it
 * says about files counts (git_index.c). */
int node_sum_at(int dir_fd, const char *name, const char *path, char sum[SHA256_HEX_SIZE]);

/* Two indexes of git that say the same of every file. */
bool node_same_index(int a_fd, int b_fd);

/* Two files of one size: 1 the same, 0 different, -1 with errno.  Holes in both are skipped. */
int node_same_content(int a_fd, int b_fd, uint64_t size);

#define NODE_CHUNK (128 * 1024)

/* Extended attributes: access lists, labels, the user's own. */

/* Copies those that do not depend on the content; never capabilities.  Errors are ignored. */
void attributes_copy(int from_fd, int to_fd);

/* The index of a git repository (`.git/index`): which files are tracked, with which contents, and
 * what git saw of each by stat.  Git writes it anew whenever it has looked, so two indexes with the
 * same entries are the same to a user.  Pure: bytes that others chose come in, bounded by `len`;
 * what is not understood is left alone. */
#define GIT_INDEX_MAX ((size_t)64 << 20) /* of a repository with half a million files */

/* Whether this path of a tree is the index of a repository in it. */
bool git_index_is(const char *path);

/* The sum of the entries, without what git saw by stat.  False: no index that we understand. */
bool git_index_sum(const char *data, size_t len, char sum[SHA256_HEX_SIZE]);

typedef bool git_index_covers(const void *context, const char *path);

/* Writes the index with the bit `skip-worktree` at the entries that are covered: git then takes
 * them for unchanged, whatever stands in the working tree.  1; 0 when there is none or the index is
 * not understood, and nothing is written; negative. */
int git_index_skip(const char *data, size_t len, git_index_covers *covers, const void *context,
                   struct buf *ret, sbr_error *err) must_check;
/* Takes the bit back, in place.  True when something was changed. */
bool git_index_unskip(char *data, size_t len, git_index_covers *covers, const void *context);

#endif
