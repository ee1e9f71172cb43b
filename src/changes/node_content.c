#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "changes/node.h"

/* Where data may be at or after `offset`; file systems that do not know answer: here. */
static uint64_t next_data(int fd, uint64_t offset, uint64_t size)
{
    off_t at = lseek(fd, (off_t)offset, SEEK_DATA);

    if (at < 0)
        return errno == ENXIO ? size : offset;
    return (uint64_t)at < size ? (uint64_t)at : size;
}

/* Fills the chunk as far as the file goes; -1 with errno. */
static ssize_t read_at(int fd, char *chunk, size_t len, uint64_t offset)
{
    size_t got = 0;

    while (got < len) {
        ssize_t n = pread(fd, chunk + got, len - got, (off_t)(offset + got));

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return -1;
        if (n == 0)
            break;
        got += (size_t)n;
    }
    return (ssize_t)got;
}

static bool sum_index(int fd, char sum[SHA256_HEX_SIZE])
{
    scoped_free char *text = NULL;
    sbr_error ignored;
    size_t len;

    return fd >= 0 && fd_read_text(fd, GIT_INDEX_MAX, &text, &len, &ignored) == 0 &&
           git_index_sum(text, len, sum);
}

int node_sum_at(int dir_fd, const char *name, const char *path, char sum[SHA256_HEX_SIZE])
{
    struct node_state seen;
    scoped_fd int fd = git_index_is(path) ? node_open_file(dir_fd, name, &seen) : -1;

    return sum_index(fd, sum) ? 0 : node_sum(dir_fd, name, sum);
}

bool node_same_index(int a_fd, int b_fd)
{
    char a[SHA256_HEX_SIZE], b[SHA256_HEX_SIZE];

    return sum_index(a_fd, a) && sum_index(b_fd, b) && !strcmp(a, b);
}

int node_same_content(int a_fd, int b_fd, uint64_t size)
{
    scoped_free char *chunks = malloc(2 * NODE_CHUNK);
    uint64_t offset = 0;

    if (!chunks)
        return -1;
    while (offset < size) {
        uint64_t a_next = next_data(a_fd, offset, size), b_next = next_data(b_fd, offset, size);
        ssize_t a_len, b_len;
        size_t len;

        offset = a_next < b_next ? a_next : b_next;
        len = size - offset < NODE_CHUNK ? (size_t)(size - offset) : NODE_CHUNK;
        a_len = read_at(a_fd, chunks, len, offset);
        b_len = a_len < 0 ? -1 : read_at(b_fd, chunks + NODE_CHUNK, len, offset);
        if (a_len < 0 || b_len < 0)
            return -1;
        if ((size_t)a_len != len || b_len != a_len || memcmp(chunks, chunks + NODE_CHUNK, len) != 0)
            return 0;
        offset += len;
    }
    return 1;
}
