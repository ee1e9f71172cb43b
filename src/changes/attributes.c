#include "changes/node.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/xattr.h>

static bool is_wanted(const char *name)
{
    static const char *const starts[] = { "user.", "system.posix_acl_access", "security.selinux" };

    for (size_t i = 0; i < ARRAY_LEN(starts); i++)
        if (strncmp(name, starts[i], strlen(starts[i])) == 0)
            return strncmp(name, "user.overlay.", 13) != 0;
    return false;
}

static void copy_one(int from_fd, int to_fd, const char *name)
{
    ssize_t size = fgetxattr(from_fd, name, NULL, 0);
    scoped_free char *value = size < 0 ? NULL : malloc((size_t)size + 1);

    if (value)
        size = fgetxattr(from_fd, name, value, (size_t)size);
    if (value && size >= 0 && fsetxattr(to_fd, name, value, (size_t)size, 0) < 0)
        return; /* another file system, or not ours to set */
}

void attributes_copy(int from_fd, int to_fd)
{
    ssize_t size = flistxattr(from_fd, NULL, 0);
    scoped_free char *names = size <= 0 ? NULL : malloc((size_t)size);

    if (names)
        size = flistxattr(from_fd, names, (size_t)size);
    for (ssize_t at = 0; names && at < size; at += (ssize_t)strlen(names + at) + 1)
        if (is_wanted(names + at))
            copy_one(from_fd, to_fd, names + at);
}
