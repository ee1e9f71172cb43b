/* Views: a directory of the host, shown inside through a read-only overlayfs.
 *
 * A bind mount shows the host's own inodes, and an inode is more than its content: a program that
 * can only read it connects to a socket, holds a lease or a lock that the host's programs wait
 * for, and watches which files are opened.  An overlay has inodes of its own in front of the same
 * pages of the page cache. */
#ifndef CONFINE_VIEW_H
#define CONFINE_VIEW_H

#include "confine/confiner.h"

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
