/* Removes trees of files that untrusted programs made, without following a link. */
#ifndef BASE_TREE_REMOVE_H
#define BASE_TREE_REMOVE_H

#include <stdbool.h>

/* "." and "..", which readdir reports too. */
bool tree_is_dots(const char *name);

/* File or directory, of any depth and mode.  0, also when it is not there, or -1 with errno. */
int tree_remove(int dir_fd, const char *name);

#endif
