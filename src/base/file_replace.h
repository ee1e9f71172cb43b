/* A file of the user's that gets new contents: the old or the new ones, never a part. */
#ifndef BASE_FILE_REPLACE_H
#define BASE_FILE_REPLACE_H

#include <stddef.h>

#include "base/err.h"
#include "base/scope.h"

/* A link is followed, permissions stay.  The directory must be writable. */
int file_replace(const char *path, const void *data, size_t len, sbr_error *err) must_check;

#endif
