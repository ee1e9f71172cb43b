#include "base/file_replace.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/text.h"

/* The permissions of the old file, or what a new one gets. */
static mode_t mode_for(const char *path)
{
    struct stat st;
    mode_t mask;

    if (stat(path, &st) == 0)
        return st.st_mode & 0777;
    mask = umask(0);
    umask(mask);
    return 0666 & ~mask;
}

static int write_new(int fd, const char *path, const void *data, size_t len)
{
    return fd_write_all(fd, data, len) < 0 || fchmod(fd, mode_for(path)) < 0 || fsync(fd) < 0 ? -1
                                                                                              : 0;
}

/* A terminal or a pipe has no contents to keep. */
static int write_special(const char *path, const void *data, size_t len, sbr_error *err)
{
    scoped_fd int fd = open(path, O_WRONLY | O_CLOEXEC | O_NOCTTY);

    if (fd < 0 || fd_write_all(fd, data, len) < 0)
        return err_set_errno(err, "file", "cannot write '%.200s'", path);
    return 0;
}

/* The descriptor of this process that a path stands for; -1: none.  Opened by name, a regular file
 * behind it would be written from its beginning, over what is in it. */
static int own_descriptor(const char *path)
{
    static const char *const names[] = { "/dev/stdin", "/dev/stdout", "/dev/stderr" };
    static const char *const prefixes[] = { "/dev/fd/", "/proc/self/fd/" };

    for (size_t i = 0; i < ARRAY_LEN(names); i++)
        if (!strcmp(path, names[i]))
            return (int)i;
    for (size_t i = 0; i < ARRAY_LEN(prefixes); i++) {
        size_t len = strlen(prefixes[i]);
        uint64_t number;

        if (!strncmp(path, prefixes[i], len) && text_parse_count(path + len, &number) == TEXT_OK &&
            number <= INT_MAX)
            return (int)number;
    }
    return -1;
}

int file_replace(const char *path, const void *data, size_t len, sbr_error *err)
{
    scoped_free char *real = NULL, *temporary = NULL;
    const char *target;
    scoped_fd int fd = -1;
    struct stat st;
    int own = own_descriptor(path);

    if (own >= 0)
        return fd_write_all(own, data, len) < 0
                   ? err_set_errno(err, "file", "cannot write to '%.200s'", path)
                   : 0;
    if (stat(path, &st) == 0 && !S_ISREG(st.st_mode))
        return write_special(path, data, len, err);
    real = realpath(path, NULL);
    if (!real && errno != ENOENT)
        return err_set_errno(err, "file", "cannot write '%.200s'", path);
    target = real ? real : path;
    temporary = text_format("%s.XXXXXX", target);
    if (!temporary)
        return err_set_oom(err, "file");
    fd = mkostemp(temporary, O_CLOEXEC);
    if (fd < 0)
        return err_set_errno(err, "file", "cannot write beside '%.200s'", path);
    if (write_new(fd, target, data, len) < 0 || rename(temporary, target) < 0) {
        err_set_errno(err, "file", "cannot write '%.200s'", path);
        unlink(temporary);
        return err->code;
    }
    return 0;
}
