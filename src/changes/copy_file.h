/* Copies the bytes of one file: shared where the file system can, copied by the kernel where it
 * can, else read and written.  Holes stay holes. */
#ifndef CHANGES_COPY_FILE_H
#define CHANGES_COPY_FILE_H

#include <stdbool.h>
#include <stdint.h>

struct copy_file {
    void (*moved)(void *context, uint64_t bytes); /* after each piece; may be NULL */
    void *context;
    bool reflinked; /* out: the blocks are shared */
};

/* `to_fd` is new and empty; at most `size` bytes are copied.  A file that became shorter meanwhile
 * is copied as it is. 0, or -1 with errno. */
int copy_file(int from_fd, int to_fd, uint64_t size, struct copy_file *how);

#endif
