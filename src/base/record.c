#include "base/record.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/encoding.h"
#include "base/fd.h"
#include "base/sha256.h"

#define SUM_SIZE (SHA256_HEX_SIZE - 1)

void record_crash_point(void)
{
#ifdef SBR_TEST_HOOKS
    const char *last = getenv("SANDBOX_RUN_TEST_APPLY");
    static long done;

    if (last && ++done == strtol(last, NULL, 10))
        (void)kill(getpid(), SIGKILL);
#endif
}

void record_begin(struct buf *data, uint32_t magic, size_t max)
{
    buf_init(data, max);
    buf_put_u32(data, magic);
}

void record_finish(struct buf *data)
{
    char hex[SHA256_HEX_SIZE];

    if (data->failed)
        return;
    sha256_hex(data->data, data->len, hex);
    buf_add(data, hex, SUM_SIZE);
}

static int write_aside(int dir_fd, const char *aside, const struct buf *data, unsigned int flags)
{
    const int once = flags & RECORD_SHARED ? O_EXCL : O_TRUNC;
    scoped_fd int fd = -1;

    record_crash_point();
    fd = openat(dir_fd, aside, O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC | once, 0600);
    if (fd < 0)
        return -1;
    record_crash_point();
    if (fd_write_all(fd, data->data, data->len) < 0)
        return -1;
    return flags & RECORD_FLUSH ? fsync(fd) : 0;
}

static int write_named(int dir_fd, const char *name, const struct buf *data, unsigned int flags)
{
    char aside[ENCODING_ID_SIZE + 80];
    int saved;

    snprintf(aside, sizeof(aside), "%.60s.new", name);
    if (data->failed) {
        errno = ENOMEM;
        return -1;
    }
    if (flags & RECORD_SHARED && encoding_random_id(aside) < 0)
        return -1;
    if (write_aside(dir_fd, aside, data, flags) == 0) {
        record_crash_point();
        if (renameat(dir_fd, aside, dir_fd, name) == 0)
            return flags & RECORD_FLUSH ? fsync(dir_fd) : 0;
    }
    saved = errno;
    (void)unlinkat(dir_fd, aside, 0);
    errno = saved;
    return -1;
}

int record_write(int dir_fd, const char *name, struct buf *data, unsigned int flags)
{
    int r;

    record_finish(data);
    r = write_named(dir_fd, name, data, flags);
    buf_done(data);
    return r;
}

/* The length without the sum; 0 when that is wrong.  Earlier versions wrote it as a string in
 * workspaces. */
static size_t check_sum(const char *data, size_t len)
{
    size_t around = len && data[len - 1] == '\0' ? sizeof(uint32_t) : 0, tail = SUM_SIZE + !!around;
    char hex[SHA256_HEX_SIZE];

    if (len < tail + around)
        return 0;
    sha256_hex(data, len - tail - around, hex);
    return memcmp(hex, data + len - tail, SUM_SIZE) == 0 ? len - tail - around : 0;
}

int record_read(int dir_fd, const char *name, uint32_t magic, size_t max, struct record *ret)
{
    scoped_fd int fd =
        openat(dir_fd, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    struct stat st;

    *ret = (struct record){ 0 };
    if (fd < 0 && (errno == ENOENT || errno == ENOTDIR || errno == ELOOP || errno == ENXIO))
        return 0;
    if (fd < 0 || fstat(fd, &st) < 0)
        return -1;
    if (!S_ISREG(st.st_mode) || st.st_size < 0 || (uint64_t)st.st_size > max)
        return 0;
    ret->data = malloc((size_t)st.st_size + 1);
    if (!ret->data)
        return -1;
    if (fd_read_full(fd, ret->data, (size_t)st.st_size) != st.st_size)
        return 0;
    ret->written = st.st_mtim;
    ret->fields =
        (struct buf_reader){ .data = ret->data, .len = check_sum(ret->data, (size_t)st.st_size) };
    return buf_reader_u32(&ret->fields) == magic && !ret->fields.failed;
}

void record_done(struct record *record)
{
    free(record->data);
    *record = (struct record){ 0 };
}
