/* The system calls of the mount API that the C library may not wrap, and the operations of a plan.
 */
#ifndef CONFINE_MOUNTS_H
#define CONFINE_MOUNTS_H

#include <linux/mount.h>
#include <stdbool.h>
#include <stdint.h>

#include "confine/confiner.h"

/* A detached copy of the host's tree at `path`, with `attributes` set on all of it; fd or -1.
 * Private: mounts that the host makes later do not appear in it. */
int mount_clone(int dir_fd, const char *path, uint64_t attributes);

/* The same without what is mounted below it. */
int mount_clone_top(int dir_fd, const char *path, uint64_t attributes);

/* Files of a detached tree appear with the owners that a user namespace maps theirs to; 0 or -1. */
int mount_map_owners(int tree_fd, int namespace_fd, bool below);

/* A new filesystem, not attached yet; options are "key=value" strings, NULL-terminated; fd or -1.
 */
int mount_new(const char *type, const char *const *options, uint64_t attributes);

/* Attaches a detached tree at `path`, which must exist; 0 or -1. */
int mount_attach(int tree_fd, int dir_fd, const char *path);

/* Sets attributes of an attached mount; 0 or -1. */
int mount_change(int mount_fd, uint64_t attributes);

/* Directories up to and including `path`, relative to the current directory; 0 or -1. */
int mount_make_directories(const char *path, uint32_t mode);

/* A file that did not exist, with its directories, open to be written to whatever its mode; fd or -1. */
int mount_make_open_file(const char *path, uint32_t mode);
/* The same with its content; 0 or -1. */
int mount_make_file(const char *path, uint32_t mode, const void *data, size_t len);

/* Puts a file in the place of what has its name, which must not be a directory (EISDIR).  A part of the
 * path that is a link is refused (ENOTDIR or ELOOP): the tree is somebody else's.  0 or -1. */
int mount_replace_file(const char *path, uint32_t mode, const void *data, size_t len);

/* What every mount has, and what those have that are only to be read. */
#define ATTR_BASE (MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV)
#define ATTR_BIND (ATTR_BASE | MOUNT_ATTR_RDONLY)

/* The next of the trees that the supervisor cloned; fd or -1. */
int mount_take_passed(struct inside *in);

/* A tmpfs over the host's root; the current directory becomes its top. */
int mount_open_root(struct inside *in, sbr_error *err) must_check;
/* The new root becomes the root, read-only, and the host's tree is let go. */
int mount_leave_host(struct inside *in, sbr_error *err) must_check;

/* Performs one operation, relative to the current directory. */
int mount_perform(struct inside *in, const struct plan_op *op, sbr_error *err) must_check;

#endif
