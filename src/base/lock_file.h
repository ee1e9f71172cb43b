/* One process at a time: flock, which the kernel drops with the process. */
#ifndef BASE_LOCK_FILE_H
#define BASE_LOCK_FILE_H

#include <stdbool.h>

/* An attempt to lock; a failure is -1 with errno. */
enum lock_file_result {
    LOCK_FILE_BUSY, /* another process has the lock */
    LOCK_FILE_HELD  /* until the file is closed */
};

/* A file or directory that is open.  A lock_file_result, or -1. */
int lock_file_try(int fd);
/* Waits for it.  0, or -1 with errno. */
int lock_file_wait(int fd);
/* Without taking it. */
bool lock_file_is_held(int fd);

/* The same for a file that is made when it is not there.  *ret_fd is the file that has the name
 * now, also when another process removes such files. */
int lock_file_open(int dir_fd, const char *name, int *ret_fd);

#endif
