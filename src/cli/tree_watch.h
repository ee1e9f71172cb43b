/* Waits until a file of a directory tree changes. */
#ifndef CLI_TREE_WATCH_H
#define CLI_TREE_WATCH_H

#include "base/err.h"

/* An inotify descriptor for the tree, without hidden directories and those of packages. */
int tree_watch_open(const char *dir, int *ret, sbr_error *err) must_check;
/* 1: something changed, and it is quiet now; 0: `stop_fd` is readable. */
int tree_watch_wait(int fd, int stop_fd);

#endif
