/* Whether a file system is mounted below a directory. */
#ifndef SANDBOX_MOUNT_BELOW_H
#define SANDBOX_MOUNT_BELOW_H

#include <stdbool.h>

/* `path` may contain links.  Also true where the kernel does not say. */
bool mount_is_below(const char *path);

/* The same for a resolved path and one line of /proc/PID/mountinfo, which is changed. */
bool mount_line_is_below(char *line, const char *path);

#endif
