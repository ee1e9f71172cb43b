/* What stands at a path of a tree that may change at any time and hold anything: no link is
 * followed, no mount entered, no pipe waited for. */
#ifndef CHANGES_NODE_H
#define CHANGES_NODE_H

#include <sys/stat.h>

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
 * says about files counts (changes/git_index.h). */
int node_sum_at(int dir_fd, const char *name, const char *path, char sum[SHA256_HEX_SIZE]);

/* Two indexes of git that say the same of every file. */
bool node_same_index(int a_fd, int b_fd);

/* Two files of one size: 1 the same, 0 different, -1 with errno.  Holes in both are skipped. */
int node_same_content(int a_fd, int b_fd, uint64_t size);

#define NODE_CHUNK (128 * 1024)

#endif
