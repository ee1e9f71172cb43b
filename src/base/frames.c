#include "base/frames.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/scope.h"

void frames_init(struct frames *f, int fd, size_t max_waiting)
{
    *f = (struct frames){ .fd = fd };
    buf_init(&f->waiting, max_waiting);
}

void frames_done(struct frames *f)
{
    buf_done(&f->waiting);
    scope_close_fd(&f->fd);
    f->fd = -1;
}

/* 1: sent; 0: the socket takes nothing now; -1: it never will. */
static int send_now(const struct frames *f, struct iovec parts[2])
{
    const struct msghdr message = { .msg_iov = parts, .msg_iovlen = 2 };
    ssize_t n;

    do
        n = sendmsg(f->fd, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
    while (n < 0 && errno == EINTR);
    if (n >= 0)
        return 1;
    return errno == EAGAIN || errno == ENOBUFS ? 0 : -1;
}

/* All of it or nothing: frames_flush trusts the sizes that it finds. */
static int keep(struct frames *f, const struct iovec parts[2])
{
    uint32_t size = (uint32_t)(parts[0].iov_len + parts[1].iov_len);
    char *to = buf_extend(&f->waiting, sizeof(size) + size);

    if (!to)
        return -1;
    memcpy(to, &size, sizeof(size));
    to += sizeof(size);
    for (size_t i = 0; i < 2; i++) {
        if (parts[i].iov_len)
            memcpy(to, parts[i].iov_base, parts[i].iov_len);
        to += parts[i].iov_len;
    }
    return 0;
}

int frames_send(struct frames *f, const void *head, size_t head_len, const void *data, size_t len)
{
    struct iovec parts[2] = { { (void *)head, head_len }, { (void *)data, len } };
    int r = 0;

    if (!f->broken && !f->waiting.len)
        r = send_now(f, parts);
    if (r < 0 || (r == 0 && !f->broken && keep(f, parts) < 0))
        f->broken = true;
    return f->broken ? -1 : 0;
}

int frames_flush(struct frames *f)
{
    size_t sent = 0;
    int r = f->broken ? -1 : 1;

    while (r > 0 && sent < f->waiting.len) {
        struct iovec parts[2] = { { f->waiting.data + sent + sizeof(uint32_t), 0 }, { NULL, 0 } };
        uint32_t size;

        memcpy(&size, f->waiting.data + sent, sizeof(size));
        parts[0].iov_len = size;
        r = send_now(f, parts);
        sent += r > 0 ? sizeof(size) + size : 0;
    }
    buf_drop(&f->waiting, sent);
    if (!f->waiting.len && f->waiting.capacity) { /* thousands of idle connections keep nothing */
        size_t max = f->waiting.max;

        buf_done(&f->waiting);
        buf_init(&f->waiting, max);
    }
    f->broken = r < 0;
    return f->broken ? -1 : 0;
}

bool frames_is_waiting(const struct frames *f)
{
    return f->waiting.len > 0;
}

ssize_t frames_receive(const struct frames *f, void *data, size_t size)
{
    ssize_t n;

    do
        n = recv(f->fd, data, size, MSG_DONTWAIT | MSG_TRUNC);
    while (n < 0 && errno == EINTR);
    if (n > (ssize_t)size) { /* a frame that is too long is none of ours */
        errno = EMSGSIZE;
        return -1;
    }
    return n;
}
