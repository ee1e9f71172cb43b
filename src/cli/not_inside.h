/* A command that fails because the caller's directory is not in the sandbox. */
#ifndef CLI_NOT_INSIDE_H
#define CLI_NOT_INSIDE_H

#include "cli/options.h"

/* The word of `exec` that names a file which only the caller sees; NULL: there is none. */
const char *not_inside_find(const struct options *o);

/* Whether the host has no such file either, as far as that can be told without a look at what is
 * mounted. */
bool not_inside_nor_here(const char *path);

/* Completes an error about a command that was not found. */
void not_inside_explain(const struct options *o, sbr_error *err);

#endif
