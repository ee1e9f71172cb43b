#include "changes/beneath.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/inode.h"
#include "changes/node.h"

static int open_prefix(int root_fd, const char *path, size_t len)
{
    char prefix[PATH_MAX];

    if (len >= sizeof(prefix)) {
        errno = ENAMETOOLONG;
        return -1;
    }
    memcpy(prefix, path, len);
    prefix[len] = '\0';
    return node_open(root_fd, len ? prefix : ".", O_PATH | O_DIRECTORY);
}

static size_t parent_len(const char *path, size_t len)
{
    while (len > 0 && path[len - 1] != '/')
        len--;
    return len ? len - 1 : 0;
}

int beneath_parent(int root_fd, const char *path, const char **ret_name)
{
    const char *slash = strrchr(path, '/');

    *ret_name = slash ? slash + 1 : path;
    return open_prefix(root_fd, path, slash ? (size_t)(slash - path) : 0);
}

int beneath_deepest(int root_fd, const char *path, size_t *ret_len)
{
    size_t len = parent_len(path, strlen(path));

    for (;; len = parent_len(path, len)) {
        int fd = open_prefix(root_fd, path, len);

        *ret_len = len;
        if (fd >= 0 || len == 0 || (errno != ENOENT && errno != ENOTDIR && errno != ELOOP))
            return fd;
    }
}

/* A link that goes up first and then only down stays below as long as it goes up no further than it
 * is deep: its own directory is reached without links.  A later "a/.." could be anywhere. */
static bool stays_by_text(const char *path, const char *text)
{
    size_t depth = 0;
    bool down = false;

    for (const char *p = strchr(path, '/'); p; p = strchr(p + 1, '/'))
        depth++;
    for (const char *p = text; *p; p += strspn(p, "/")) {
        size_t len = strcspn(p, "/");

        if (len == 2 && p[0] == '.' && p[1] == '.') {
            if (down || depth == 0)
                return false;
            depth--;
        } else if (len != 1 || p[0] != '.') {
            down = true;
        }
        p += len;
    }
    return true;
}

bool beneath_link_stays(int root_fd, const char *source, const char *path, const char *text)
{
    size_t len = strlen(source), dir = parent_len(path, strlen(path));
    char whole[2 * PATH_MAX];
    int fd;

    if (text[0] == '/') {
        if (strncmp(text, source, len) != 0 || (text[len] != '/' && text[len] != '\0'))
            return false;
        text += len + strspn(text + len, "/");
        path = "";
        dir = 0;
    }
    if (!stays_by_text(path, text))
        return false;
    /* The user's own links may lead out, too. */
    snprintf(whole, sizeof(whole), "%.*s%s%s", (int)dir, path, dir ? "/" : "", *text ? text : ".");
    fd = inode_resolve(root_fd, whole, O_PATH | O_CLOEXEC, RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS);
    if (fd >= 0)
        close(fd);
    return fd >= 0 || errno != EXDEV;
}
