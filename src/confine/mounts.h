/* System calls of the mount API that the C library may not wrap, and the operations of a plan. */
#ifndef CONFINE_MOUNTS_H
#define CONFINE_MOUNTS_H

#include <linux/mount.h>
#include <stdbool.h>
#include <stdint.h>

#include "confine/confiner.h"

/* A detached copy of the host's tree at `path`, with `attributes` set on all of it; fd or -1.
 * Private: mounts that the host makes later do not appear in it. */
int mount_clone(int dir_fd, const char *path, uint64_t attributes);

/* The same without the mounts below it. */
int mount_clone_top(int dir_fd, const char *path, uint64_t attributes);

/* Shows the files of a detached tree with the owners that a user namespace
 * maps theirs to; 0 or -1. */
int mount_map_owners(int tree_fd, int namespace_fd, bool below);

/* A new file system, not attached yet; options are "key=value" strings,
 * NULL-terminated; fd or -1. */
int mount_new(const char *type, const char *const *options, uint64_t attributes);

/* Attaches a detached tree at `path`, which must exist; 0 or -1. */
int mount_attach(int tree_fd, int dir_fd, const char *path);

/* Sets attributes of an attached mount; 0 or -1. */
int mount_change_all(int mount_fd, uint64_t attributes); /* with the mounts below it */
int mount_change(int mount_fd, uint64_t attributes);

/* Makes `path` and its parents, relative to the current directory; 0 or -1. */
int mount_make_directories(const char *path, uint32_t mode);

/* Makes a file that did not exist, and its directories, and opens it for writing
 * whatever its mode; fd or -1. */
int mount_make_open_file(const char *path, uint32_t mode);
/* The same with content; 0 or -1. */
int mount_make_file(const char *path, uint32_t mode, const void *data, size_t len);

/* Replaces what has the name `path`, which must not be a directory (EISDIR), by a file.  Refuses a
 * path with a link in it (ENOTDIR or ELOOP), because the tree is untrusted; 0 or -1. */
int mount_replace_file(const char *path, uint32_t mode, const void *data, size_t len);

/* Enters the work directory; one that an image lacks is made first, through no link. */
int mount_enter_workdir(const struct plan *plan);
/* Makes the mount point of an operation, a directory or an empty file; with OP_OVER, by the same
 * rules.  0 or -1. */
int mount_make_point(const struct plan_op *op, bool directory);

/* Attributes of every mount, and of every read-only mount. */
#define ATTR_BASE (MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV)
#define ATTR_BIND (ATTR_BASE | MOUNT_ATTR_RDONLY)

/* The next tree that the supervisor cloned; fd or -1. */
int mount_take_passed(struct inside *in);

/* Mounts a tmpfs over the host's root and makes its top the current directory. */
int mount_open_root(struct inside *in, sbr_error *err) must_check;
/* Once all operations are performed: protects and covers what they ask for, and leaves the host. */
int mount_finish(struct inside *in, sbr_error *err) must_check;
/* Makes the new root the root, read-only, and detaches the host's tree. */
int mount_leave_host(struct inside *in, sbr_error *err) must_check;

/* Performs one operation, relative to the current directory. */
int mount_perform(struct inside *in, const struct plan_op *op, sbr_error *err) must_check;

/* Copy-on-write trees, inside: overlayfs over a tree of the host, which stays unchanged.
 *
 *   (1) The upper directories are in `.cow` of the new root, which is covered before the program
 *       starts: no path leads there, but init keeps their file descriptors.
 *   (2) The lower tree is detached once the overlay holds it: it has no path inside either. */

/* Performs an OP_COW.  Fails with SBR_E_UNSUPPORTED in stage "cow" where this machine cannot
 * mount such an overlay. */
int cow_perform(struct inside *in, const struct plan_op *op, sbr_error *err) must_check;

/* Remembers a copy that is mounted instead of an overlay, to be measured after the run. */
int cow_open_copy(struct inside *in, const struct plan_op *op, sbr_error *err) must_check;

/* Covers `.cow` with an empty read-only directory. */
int cow_cover(struct inside *in, sbr_error *err) must_check;

/* Inodes that copy-on-write trees take in the root. */
uint64_t cow_inodes(const struct plan *plan);

/* Views: a directory of the host, shown inside through a read-only overlayfs.
 *
 * A bind mount shows the host's own inodes, and an inode is more than its content: a program that
 * can only read it connects to a socket, holds a lease or a lock that the host's programs wait
 * for, and watches which files are opened.  An overlay has inodes of its own in front of the same
 * pages of the page cache. */

/* Mounts a view of the directory `op->from`, which is no link, at the empty
 * directory `op->to`; 0 or -1. */
int view_mount(const struct plan_op *op);

/* The same for a detached tree, which is a directory.  Where the kernel refuses, an operation with
 * OP_VIEW_ONLY fails with SBR_E_UNSUPPORTED in stage "view"; otherwise the tree itself is attached,
 * and the report says so. */
int view_bring(struct inside *in, const struct plan_op *op, int tree_fd, sbr_error *err) must_check;

/* Removes the directory that views needed while the root was built. */
int view_finish(const struct inside *in, sbr_error *err) must_check;

/* Inodes that views take in the root. */
uint64_t view_inodes(const struct plan *plan);

#endif
