/* Programs of ours that stand beside this one in a build tree, and under libexec when installed. */
#ifndef CLI_COMPANION_H
#define CLI_COMPANION_H

#include "base/err.h"

/* Executes it; returns only when that fails, with errno of the last attempt and *err. */
int companion_exec(const char *name, char *const *argv, sbr_error *err) must_check;

#endif
