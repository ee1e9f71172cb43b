/* Single files and directories of a tree that is handed out.  Nobody else inside is alive, but whoever shares a volume
 * is, run or host: a name may become another's at any time.  So each is opened without following, compared with what
 * was seen, and changed through its descriptor alone; ESTALE says that the name is another's now.  `st` is what was
 * seen, and is brought up to date. */
#ifndef INIT_COLLECT_FILES_H
#define INIT_COLLECT_FILES_H

#include <dirent.h>

#include "init/collect_stream.h"

/* A directory to read; where its mode locks us out it is changed.  NULL with errno. */
DIR *collect_open_dir(int at, const char *name, struct stat *st);
/* One to walk through only: a descriptor, or -1 with errno. */
int collect_pass(int at, const char *name, struct stat *st);
/* The mode as it was. */
void collect_restore(int fd, const struct stat *st);

/* Takes the descriptor over; NULL with errno. */
DIR *collect_dir_of(int fd);

/* 0 or an errno.  EFBIG: there is no room for it, and nothing was sent. */
int collect_file(struct stream *s, int at, const char *name, struct stat *st);
int collect_link(struct stream *s, int at, const char *name, const struct stat *st);

#endif
