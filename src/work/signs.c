#include "work/signs.h"

#include <fcntl.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/fd.h"
#include "base/listing.h"
#include "base/scope.h"

#define MOST_READ (256 * 1024)

static bool file_has(int dir_fd, const char *path, const char *text)
{
    scoped_fd int fd = openat(dir_fd, path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    scoped_free char *data = fd >= 0 ? calloc(1, MOST_READ + 1) : NULL;
    struct stat st;

    if (!data || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
        return false;
    return fd_read_full(fd, data, MOST_READ) > 0 && strstr(data, text);
}

bool signs_in(int dir_fd, const char *pattern, const char *text)
{
    scoped_fd int fd = openat(dir_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    scoped_listing struct listing list = { 0 };

    if (fd < 0 || listing_read(fd, &list) < 0)
        return false;
    for (size_t i = 0; i < list.n; i++)
        if (fnmatch(pattern, list.names[i], 0) == 0 &&
            (pattern[0] == '.' || list.names[i][0] != '.') &&
            (!*text || file_has(fd, list.names[i], text)))
            return true;
    return false;
}

bool signs_in_project(int dir_fd, const char *pattern, const char *text)
{
    static const char *const places[] = { ".", "tests", "test", "spec", "src" };

    for (size_t p = 0; p < sizeof(places) / sizeof(*places); p++) {
        scoped_fd int fd = openat(dir_fd, places[p], O_RDONLY | O_DIRECTORY | O_CLOEXEC);

        if (fd >= 0 && signs_in(fd, pattern, text))
            return true;
    }
    return false;
}
