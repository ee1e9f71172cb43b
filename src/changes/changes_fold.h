/* Deleted directories that held much are reported in one line. */
#ifndef CHANGES_CHANGES_FOLD_H
#define CHANGES_CHANGES_FOLD_H

#include "model/changes.h"

#define FOLD_FILES 10 /* more deleted files than this below a directory */

/* For each change. */
struct fold {
    uint64_t files, bytes; /* deleted directories: what was deleted below */
    bool hidden;           /* a directory above reports it */
};

/* The change at the first `len` bytes of `path`, or changes->n.  `changes` is sorted. */
size_t changes_find(const struct changes *changes, unsigned int root, const char *path, size_t len);

/* `changes` is sorted.  The caller frees the array; NULL without memory. */
struct fold *changes_fold(const struct changes *changes);

#endif
