#include "cli/diff_file.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"

int diff_file_open(const struct options *o, int *ret, sbr_error *err)
{
    *ret = -1;
    if (!o->diff_path)
        return 0;
    *ret = open(o->diff_path, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOCTTY, 0666);
    return *ret >= 0 ? 0 : err_set_errno(err, "diff", "cannot write to '%.200s'", o->diff_path);
}

int diff_file_write(const struct options *o, int fd, sbr_result *result, sbr_error *err)
{
    const char *text = result->diff ? result->diff : "";

    if (fd < 0)
        return 0;
    (void)!ftruncate(fd, 0); /* a pipe has no length */
    if (fd_write_all(fd, text, strlen(text)) < 0)
        return err_set_errno(err, "diff", "cannot write to '%.200s'", o->diff_path);
    free(result->diff);
    result->diff = NULL;
    return 0;
}
