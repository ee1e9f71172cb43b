/* The file system in which tools are looked for: the host's, or that of an image.
 *
 * Paths are as a program inside would write them.  A link of an image never leads out of it. */
#ifndef TOOLCHAIN_TOOL_ROOT_H
#define TOOLCHAIN_TOOL_ROOT_H

#include <dirent.h>
#include <limits.h>
#include <stdbool.h>
#include <sys/stat.h>

struct tool_root {
    int fd;           /* the image's top */
    const char *id;   /* its digest; empty: what is in it may change */
    const char *name; /* of a root without a digest */
    const char *path; /* where its commands are, as in $PATH */
};

/* In all of them `root` is NULL for the host. */
bool tool_root_stat(const struct tool_root *root, const char *path, struct stat *ret);
/* For reading; -1 with errno. */
int tool_root_open(const struct tool_root *root, const char *path, int flags);
DIR *tool_root_open_dir(const struct tool_root *root, const char *path);
/* The path without links. */
bool tool_root_resolve(const struct tool_root *root, const char *path, char real[PATH_MAX]);
/* True when this user may execute the file; inside an image there is but one user. */
bool tool_root_is_program(const struct tool_root *root, const char *path, struct stat *ret);

#endif
