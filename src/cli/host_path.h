/* Paths of the host's as people give them: relative to where they are, or to their home. */
#ifndef CLI_HOST_PATH_H
#define CLI_HOST_PATH_H

#include "base/err.h"

/* Absolute, with the way to its last part resolved; the last part itself is not followed.  What is absolute already stays
 * as it is, and so does the last part of what is not there.  The caller frees *ret. */
int host_path(const char *path, char **ret, sbr_error *err) must_check;

/* The same for the SRC of SRC:DST, and for the DIR of PATTERN:DIR. */
int host_path_before(const char *spec, char **ret, sbr_error *err) must_check;
int host_path_behind(const char *spec, char **ret, sbr_error *err) must_check;

#endif
