/* The index of a git repository (`.git/index`): which files are tracked, with which contents, and
 * what git saw of each by stat.  Git writes it anew whenever it has looked, so two indexes with the
 * same entries are the same to a user.  Pure: bytes that others chose come in, bounded by `len`;
 * what is not understood is left alone. */
#ifndef CHANGES_GIT_INDEX_H
#define CHANGES_GIT_INDEX_H

#include "base/buf.h"
#include "base/err.h"
#include "base/sha256.h"

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
