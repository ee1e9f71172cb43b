/* Directories in which something is made until it is whole.  The maker holds a lock, which the
 * kernel drops with the process: a directory that can be locked has no maker any more, and the next
 * process removes it. */
#ifndef BASE_STAGING_DIR_H
#define BASE_STAGING_DIR_H

#include "base/encoding.h"

/* A new one in `parent_fd`, of mode 0700 and with a random name.  The fd that holds the lock, or -1
 * with errno. */
int staging_dir_make(int parent_fd, char id[ENCODING_ID_SIZE]);

/* Removes `name` unless a process holds a lock on it. */
void staging_dir_sweep_one(int dir_fd, const char *name);
/* ... and all in `parent_fd` that have such a name. */
void staging_dir_sweep(int parent_fd);

#endif
