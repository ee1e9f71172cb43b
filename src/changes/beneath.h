/* Paths below a directory that an untrusted program may write to: no link on the way is followed.
 */
#ifndef CHANGES_BENEATH_H
#define CHANGES_BENEATH_H

#include <stdbool.h>
#include <stddef.h>

/* The directory of `path` (O_PATH) and the name in it. -1 with errno: ELOOP or ENOTDIR when
 * something else stands on the way, EXDEV beyond a mount (node_open). */
int beneath_parent(int root_fd, const char *path, const char **ret_name);
/* The deepest existing directory on the way to `path`, the last component apart; *ret_len is the
 * length of its path. */
int beneath_deepest(int root_fd, const char *path, size_t *ret_len);

/* Whether following the link `text` at `path` stays below the root; `source` is the root's own
 * path. */
bool beneath_link_stays(int root_fd, const char *source, const char *path, const char *text);

#endif
