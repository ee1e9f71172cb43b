#include "work/build_signs.h"

#include <fcntl.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/fd.h"
#include "base/listing.h"
#include "base/scope.h"

/* Links are followed on purpose only within reach of the caller, whose own project it is. */
static char *read_at(int dir_fd, const char *path)
{
    scoped_fd int fd = openat(dir_fd, path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    scoped_free char *data = fd >= 0 ? calloc(1, BUILD_SIGNS_MOST + 1) : NULL;
    struct stat st;

    if (!data || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) ||
        fd_read_full(fd, data, BUILD_SIGNS_MOST) < 0)
        return NULL;
    return take_ptr(data);
}

static const struct request_file *file_of(const struct build_signs *signs, const char *pattern)
{
    for (size_t i = 0; signs->req && i < signs->req->n_files; i++)
        if (!fnmatch(pattern, signs->req->files[i].path, FNM_PERIOD | FNM_PATHNAME))
            return &signs->req->files[i];
    return NULL;
}

char *build_signs_read(const struct build_signs *signs, const char *path)
{
    const struct request_file *file = file_of(signs, path);

    if (file)
        return strndup(file->data ? file->data : "",
                       file->len < BUILD_SIGNS_MOST ? file->len : BUILD_SIGNS_MOST);
    return signs->dir_fd >= 0 ? read_at(signs->dir_fd, path) : NULL;
}

static bool file_has(const struct build_signs *signs, const char *path, const char *text)
{
    scoped_free char *content = *text ? build_signs_read(signs, path) : NULL;

    return !*text || (content && strstr(content, text));
}

bool build_signs_have(const struct build_signs *signs, const char *pattern, const char *text)
{
    const struct request_file *file = file_of(signs, pattern);
    scoped_fd int fd = -1;
    scoped_listing struct listing list = { 0 };

    if (file && file_has(signs, file->path, text))
        return true;
    if (signs->dir_fd < 0)
        return false;
    fd = openat(signs->dir_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0 || listing_read(fd, &list) < 0)
        return false;
    for (size_t i = 0; i < list.n; i++)
        if (!fnmatch(pattern, list.names[i], FNM_PERIOD) && file_has(signs, list.names[i], text))
            return true;
    return false;
}
