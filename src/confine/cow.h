/* Copy-on-write trees, inside: overlayfs over a tree of the host, which stays unchanged.
 *
 *   (1) The upper directories are in `.cow` of the new root, which is covered before the program
 *       starts: no path leads there, but init keeps their file descriptors.
 *   (2) The lower tree is detached once the overlay holds it: it has no path inside either. */
#ifndef CONFINE_COW_H
#define CONFINE_COW_H

#include "confine/confiner.h"

/* Performs an OP_COW.  Fails with SBR_E_UNSUPPORTED in stage "cow" where this machine cannot
 * mount such an overlay. */
int cow_perform(struct inside *in, const struct plan_op *op, sbr_error *err) must_check;

/* Remembers a copy that is mounted instead of an overlay, to be measured after the run. */
int cow_open_copy(struct inside *in, const struct plan_op *op, sbr_error *err) must_check;

/* Covers `.cow` with an empty read-only directory. */
int cow_cover(struct inside *in, sbr_error *err) must_check;

/* Inodes that copy-on-write trees take in the root. */
uint64_t cow_inodes(const struct plan *plan);

#endif
