/* A strict patch(1), to check unified diffs with: it knows nothing of how they are made. */
#ifndef PATCH_MODEL_H
#define PATCH_MODEL_H

#include "changes/textdiff.h"

/* Applies hunks to a text: the result, which the caller frees, or NULL when a number or a line in
 * them is wrong. */
char *patch_apply(struct text before, struct text hunks, size_t *ret_len);

#endif
