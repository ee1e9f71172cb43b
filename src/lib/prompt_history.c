#include "lib/prompt_history.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/fd.h"
#include "base/scope.h"
#include "changes/state_dir.h"

#define STATE_HISTORY "history" /* LANGUAGE */
#define READ_MAX ((size_t)64 << 20)
#define READ_SIZE 65536
#define NAME_SIZE 128

static int open_file(const char *name, int flags, int *ret, sbr_error *err)
{
    struct state_dir dir = { .fd = -1 };
    int fd;

    if (state_open(STATE_HISTORY, true, &dir, err) < 0)
        return err->code;
    fd = openat(dir.fd, name, flags | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, S_IRUSR | S_IWUSR);
    if (fd < 0 && errno != ENOENT)
        err_set_errno(err, "repl", "cannot open the history");
    state_close(&dir);
    *ret = fd;
    return fd < 0 && errno != ENOENT ? SBR_E_SYSTEM : 0;
}

int prompt_history_read(const char *language, char **ret, size_t *ret_len, sbr_error *err)
{
    scoped_fd int fd = -1;
    struct buf text;
    ssize_t n = 0;
    char *to;

    if (open_file(language, O_RDONLY, &fd, err) < 0)
        return err->code;
    buf_init(&text, READ_MAX);
    while (fd >= 0 && (to = buf_extend(&text, READ_SIZE))) {
        n = read(fd, to, READ_SIZE);
        text.len -= READ_SIZE - (size_t)(n > 0 ? n : 0);
        if (n <= 0)
            break;
    }
    if (n < 0 || text.failed) {
        buf_done(&text);
        return err_set(err, SBR_E_SYSTEM, "repl", "the history cannot be read");
    }
    *ret = buf_take(&text, ret_len);
    return *ret ? 0 : err_set_oom(err, "repl");
}

int prompt_history_add(const char *language, const char *text, size_t len, sbr_error *err)
{
    scoped_fd int fd = -1;

    if (open_file(language, O_WRONLY | O_APPEND | O_CREAT, &fd, err) < 0)
        return err->code;
    return fd < 0 || fd_write_all(fd, text, len) < 0
               ? err_set_errno(err, "repl", "cannot write the history")
               : 0;
}

int prompt_history_replace(const char *language, const char *text, size_t len, sbr_error *err)
{
    struct state_dir dir = { .fd = -1 };
    scoped_fd int fd = -1;
    char name[NAME_SIZE];
    int r;

    snprintf(name, sizeof(name), ".%.60s.%d", language, (int)getpid());
    if (open_file(name, O_WRONLY | O_TRUNC | O_CREAT, &fd, err) < 0 ||
        state_open(STATE_HISTORY, true, &dir, err) < 0)
        return err->code;
    r = fd < 0 || fd_write_all(fd, text, len) < 0 ? -1 : renameat(dir.fd, name, dir.fd, language);
    if (r < 0) {
        err_set_errno(err, "repl", "cannot write the history");
        (void)unlinkat(dir.fd, name, 0);
    }
    state_close(&dir);
    return r < 0 ? err->code : 0;
}
