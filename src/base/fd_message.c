#include "base/fd.h"

#include <errno.h>
#include <sys/socket.h>

#include "base/secret_memory.h"

#define PART_MAX (32 << 10)

static int send_part(int fd, const void *data, size_t len)
{
    ssize_t n;

    do
        n = send(fd, data, len, MSG_NOSIGNAL);
    while (n < 0 && errno == EINTR);
    return n == (ssize_t)len ? 0 : -1;
}

int fd_message_send(int fd, const void *data, size_t len)
{
    const char *at = data;
    const uint64_t size = len;

    if (send_part(fd, &size, sizeof(size)) < 0)
        return -1;
    for (size_t n; len > 0; at += n, len -= n) {
        n = len < PART_MAX ? len : PART_MAX;
        if (send_part(fd, at, n) < 0)
            return -1;
    }
    return 0;
}

static ssize_t receive_part(int fd, void *data, size_t size)
{
    ssize_t n;

    do
        n = recv(fd, data, size, 0);
    while (n < 0 && errno == EINTR);
    if (n == 0)
        errno = 0;
    return n;
}

char *fd_message_receive(int fd, size_t max, size_t *ret_len)
{
    uint64_t size;
    size_t at = 0;
    char *text;

    if (receive_part(fd, &size, sizeof(size)) != (ssize_t)sizeof(size))
        return NULL;
    if (size > max) {
        errno = EMSGSIZE;
        return NULL;
    }
    text = secret_memory_new((size_t)size);
    while (text && at < size) {
        ssize_t n = receive_part(fd, text + at, (size_t)size - at);

        if (n <= 0) {
            secret_memory_free(text);
            return NULL;
        }
        at += (size_t)n;
    }
    *ret_len = (size_t)size;
    return text;
}
