/* Single files and directories of a tree that is handed out.  Nobody else is alive: what was seen stays as it was. */
#ifndef INIT_COLLECT_FILES_H
#define INIT_COLLECT_FILES_H

#include <dirent.h>

#include "init/stream.h"

/* By name, as no link can take its place any more. */
void collect_unlock(int at, const char *name, const struct stat *st);
/* A directory to read; where its mode locks us out it is changed.  NULL with errno. */
DIR *collect_open_dir(int at, const char *name, const struct stat *st);
/* The mode as it was. */
void collect_lock(int at, const char *name, const struct stat *st);
void collect_restore(int fd, const struct stat *st);

/* Takes the descriptor over; NULL with errno. */
DIR *dir_of(int fd);

/* 0 or an errno.  EFBIG: there is no room for it, and nothing was sent. */
int collect_file(struct stream *s, int at, const char *name, const struct stat *st);
int collect_link(struct stream *s, int at, const char *name, const struct stat *st);

#endif
