/* Copy-on-write trees, inside: overlayfs over a tree of the host's, which stays as it is.
 *
 *   (1) What lies above the trees is in `.cow` of the new root, which is covered before the program starts:
 *       no path leads there, while init keeps the descriptors.
 *   (2) The tree below is detached once the overlay holds it: it has no path inside either. */
#ifndef CONFINE_COW_H
#define CONFINE_COW_H

#include "confine/confiner.h"

/* OP_COW.  Fails with SBR_E_UNSUPPORTED in stage "cow" where this machine cannot do it this way. */
int cow_perform(struct inside *in, const struct plan_op *op, sbr_error *err) must_check;

/* A copy that was mounted in the place of an overlay: remembered, to be measured. */
int cow_open_copy(struct inside *in, const struct plan_op *op, sbr_error *err) must_check;

/* Takes what lies above the trees out of sight. */
int cow_cover(struct inside *in, sbr_error *err) must_check;

/* Inodes of the root that all of this takes. */
uint64_t cow_inodes(const struct plan *plan);

#endif
