/* Archives: ustar with pax extensions are written; these and GNU's long names are read. */
#ifndef WORKSPACE_TAR_H
#define WORKSPACE_TAR_H

#include <stdint.h>

#include "base/err.h"

/* Everything in the tree, in the order of its names; owners are left out.  To `fd`, which may be a pipe. */
int tar_write(int tree_fd, int fd, sbr_error *err) must_check;

/* Entries that a workspace does not hold: devices, pipes. */
struct tar_left_out {
    uint64_t n;
    char first[120]; /* the name of the first, made visible */
};

struct tar_source {
    int fd;
    uint64_t max_bytes, max_entries; /* blocks of 4 KiB that are not all zero; each name counts */
    struct tar_left_out left_out;    /* filled */
};

/* Into the empty directory `tree_fd`.  The archive is a stranger's: no name leaves the directory, no link is followed,
 * set-id bits and owners are dropped, and what is not whole or not understood is an error.  What was made until then is
 * for the caller to remove. */
int tar_read(int tree_fd, struct tar_source *source, sbr_error *err) must_check;

#endif
