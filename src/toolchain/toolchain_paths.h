/* Patterns of paths in a language's file: absolute, or ~/ for $HOME.  The only signs are `*`, for
 * any text within one component but not for a leading dot, and [0-9], for one digit. */
#ifndef TOOLCHAIN_TOOLCHAIN_PATHS_H
#define TOOLCHAIN_TOOLCHAIN_PATHS_H

#include <stdbool.h>
#include <stddef.h>

#include "plan/tools.h"

struct tool_root; /* NULL: the host */

#define TOOLCHAIN_MATCHES 256 /* for one pattern */
#define PATTERN_SIGNS "*["

struct toolchain_paths {
    char **at;
    size_t n;
};

/* The existing paths of a pattern, newest version first: 1.26 before 1.9 before names without
 * numbers.  None without memory. */
void toolchain_paths_expand(const struct tool_root *root, const char *pattern,
                            struct toolchain_paths *ret);
void toolchain_paths_done(struct toolchain_paths *paths);

/* Expands ~/.  False: neither absolute nor below a known home, or too long. */
bool toolchain_path_absolute(const char *pattern, char *buf, size_t size);

#endif
