/* The bytes of a program. */
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

#include "base/fd.h"
#include "base/inode.h"
#include "cli/source.h"

static int open_error(const char *path, sbr_error *err)
{
    bool missing = errno == ENOENT;

    err_set_errno(err, "program", "cannot read '%.200s'", path);
    if (missing)
        err->code = SBR_E_NOT_FOUND;
    return err->code;
}

int source_read_path(const char *path, char **ret, size_t *ret_len, sbr_error *err)
{
    scoped_fd int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
    struct stat st;

    if (fd < 0 || fstat(fd, &st) < 0)
        return open_error(path, err);
    if (S_ISDIR(st.st_mode))
        return err_set(
            err, SBR_E_INVALID, "program",
            "'%.200s' is a directory, not a file; name the file, and the directory with --project",
            path);
    return fd_read_text(fd, REQUEST_MAX_BYTES, ret, ret_len, err);
}

int source_read_program(const sbr_request *req, char **ret, size_t *ret_len, sbr_error *err)
{
    scoped_fd int dir = open(req->project, O_PATH | O_DIRECTORY | O_CLOEXEC);
    struct stat st;
    scoped_fd int fd = dir >= 0 ? inode_open_regular(dir, req->program, &st) : -1;

    if (fd < 0)
        return 0;
    return fd_read_text(fd, REQUEST_MAX_BYTES, ret, ret_len, err) < 0 ? err->code : 1;
}
