/* The system calls of the mount API that the C library may not wrap, and the operations of a plan.
 */
#ifndef SANDBOX_MOUNTS_H
#define SANDBOX_MOUNTS_H

#include <stdint.h>

#include "sandbox/confiner.h"

/* A detached copy of the host's tree at `path`, with `attributes` set on all of it; fd or -1.
 * Private: mounts that the host makes later do not appear in it. */
int mount_clone(int dir_fd, const char *path, uint64_t attributes);

/* A new filesystem, not attached yet; options are "key=value" strings, NULL-terminated; fd or -1.
 */
int mount_new(const char *type, const char *const *options, uint64_t attributes);

/* Attaches a detached tree at `path`, which must exist; 0 or -1. */
int mount_attach(int tree_fd, int dir_fd, const char *path);

/* Sets attributes of an attached mount; 0 or -1. */
int mount_change(int mount_fd, uint64_t attributes);

/* Directories up to and including `path`, relative to the current directory; 0 or -1. */
int make_directories(const char *path, uint32_t mode);

/* A file that did not exist, with its directories; 0 or -1. */
int make_file(const char *path, uint32_t mode, const void *data, size_t len);

/* Outside: clones the trees of operations that are marked OP_PASSED.  The caller closes what is in
 * `fds`, also after a failure. */
int mount_pass(const struct plan *plan, int fds[FD_MAX_PASSED], size_t *ret_n, sbr_error *err)
    must_check;

/* Performs one operation, relative to the current directory. */
int mount_perform(struct inside *in, const struct plan_op *op, sbr_error *err) must_check;

#endif
