/* Created and deleted files with the same content become one renamed file. */
#ifndef CHANGES_RENAMES_H
#define CHANGES_RENAMES_H

#include "model/changes.h"

/* Looks at changes->items from `first` on, all of one root.  Empty files never count as renamed;
 * among several that fit, one with the same last name is preferred.  Only files whose sizes occur
 * on both sides are read. */
int renames_find(struct changes *changes, size_t first, int source_fd, int content_fd,
                 sbr_error *err) must_check;

#endif
