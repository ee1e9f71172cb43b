/* Single files and directories of a tree that is handed out.  No other process inside is alive,
 * but other runs or the host may share a volume and replace a file at any time.  So each file is
 * opened without following links, compared with `st`, and changed only through its file
 * descriptor; ESTALE means that the name belongs to another file now.  `st` is what was seen
 * before, and is updated. */
#ifndef INIT_COLLECT_FILES_H
#define INIT_COLLECT_FILES_H

#include <dirent.h>

#include "init/collect_stream.h"

/* Opens a directory for reading; changes its mode if that locks init out.  NULL with errno. */
DIR *collect_open_dir(int at, const char *name, struct stat *st);
/* Opens a directory only to walk through it: an fd, or -1 with errno. */
int collect_pass(int at, const char *name, struct stat *st);
/* Restores the mode. */
void collect_restore(int fd, const struct stat *st);

/* Takes over the file descriptor; NULL with errno. */
DIR *collect_dir_of(int fd);

/* 0 or an errno.  EFBIG: it exceeds what may still be handed out, and nothing was sent. */
int collect_file(struct stream *s, int at, const char *name, struct stat *st);
/* The same as a hole of its size: who asked wants only the name. */
int collect_file_name(struct stream *s, const char *name, const struct stat *st);
int collect_link(struct stream *s, int at, const char *name, const struct stat *st);

#endif
