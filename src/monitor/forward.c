#include "monitor/forward.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"

#define FILTERED_MAX (4u << 20) /* far more than one read */

/* One chunk, and at the end what is left in the program's pipe, each as long as a filter makes it.
 */
#define QUEUE_MAX (64u << 20)

void forward_init(struct forward *forward, int fd)
{
    *forward = (struct forward){ .fd = fd };
    buf_init(&forward->queue, QUEUE_MAX);
    buf_init(&forward->filtered, FILTERED_MAX);
}

/* A reader's pipe that was full once gets this size: fewer turns between the program, us and the
 * reader.  A larger one is left as it is. */
#define READER_PIPE (256 * 1024)

/* Called at the first byte, because many programs write to one stream only.
 *
 * Opens a pipe or terminal again, so that O_NONBLOCK is a flag of our own open file and not of the
 * one that we share with the shell.  Where that is not allowed, writes of at most PIPE_BUF bytes
 * after a successful poll do not block either.  The loop can watch a number only once, but the
 * caller may have given the same one for several streams: so this stream gets its own. */
static void forward_open(struct forward *forward)
{
    int shared = forward->fd;
    struct stat st;

    forward->chunk = SSIZE_MAX;
    if (fstat(shared, &st) < 0)
        return;
    forward->is_socket = S_ISSOCK(st.st_mode);
    forward->can_splice = !forward->is_socket && !isatty(shared);
    if (S_ISREG(st.st_mode))
        return;
    forward->fd = forward->is_socket ? -1 : fd_open_again(shared, O_WRONLY | O_NONBLOCK);
    if (forward->fd < 0 && !forward->is_socket)
        forward->chunk = PIPE_BUF;
    if (forward->fd < 0)
        forward->fd = fcntl(shared, F_DUPFD_CLOEXEC, 0);
    forward->own_fd = forward->fd >= 0;
    if (!forward->own_fd)
        forward->fd = shared;
}

static void forward_unwatch(struct forward *forward)
{
    loop_remove(forward->loop, &forward->watch);
}

static void forward_close(struct forward *forward)
{
    forward_unwatch(forward);
    if (forward->own_fd)
        close(forward->fd);
    forward->fd = -1;
    buf_done(&forward->queue);
    buf_done(&forward->filtered);
    forward->queue_start = 0;
}

void forward_done(struct forward *forward)
{
    forward_close(forward);
}

void forward_attach(struct forward *forward, struct loop *loop)
{
    forward->loop = loop;
}

static bool is_ready(const struct forward *forward)
{
    struct pollfd fd = { .fd = forward->fd, .events = POLLOUT };

    return poll(&fd, 1, 0) > 0;
}

/* Writes as much as possible without waiting; the number of bytes, or -1 on failure. */
static ssize_t write_some(struct forward *forward, const char *data, size_t len)
{
    size_t done = 0;

    while (done < len) {
        size_t part = len - done < forward->chunk ? len - done : forward->chunk;
        ssize_t n;

        if (forward->chunk == PIPE_BUF && !is_ready(forward))
            break;
        n = forward->is_socket ? send(forward->fd, data + done, part, MSG_DONTWAIT | MSG_NOSIGNAL)
                               : write(forward->fd, data + done, part);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 && errno == EAGAIN)
            break;
        if (n < 0) {
            forward->sys_errno = errno == EPIPE || errno == ECONNRESET ? 0 : errno;
            return -1;
        }
        done += (size_t)n;
    }
    return (ssize_t)done;
}

/* The caller may free or refill the queue. */
static void call_ready(struct forward *forward)
{
    void (*ready)(void *context) = forward->ready;

    forward->ready = NULL;
    if (ready)
        ready(forward->ready_context);
}

static void forward_flush(void *context, uint32_t events)
{
    struct forward *forward = context;
    ssize_t n;

    (void)events;
    n = write_some(forward, forward->queue.data + forward->queue_start,
                   forward->queue.len - forward->queue_start);
    if (n < 0) {
        forward_close(forward);
        call_ready(forward);
        return;
    }
    forward->queue_start += (size_t)n;
    if (forward->queue_start == forward->queue.len) {
        forward->queue.len = forward->queue_start = 0;
        forward_unwatch(forward);
        call_ready(forward);
    }
}

void forward_fail(struct forward *forward, int sys_errno)
{
    forward->sys_errno = sys_errno;
    forward_close(forward);
}

static int forward_watch(struct forward *forward)
{
    if (forward->watch.on)
        return 0;
    forward->watch = loop_watch_of(forward->fd, forward_flush, forward);
    if (loop_add(forward->loop, &forward->watch, EPOLLOUT) == 0)
        return 0;
    forward_fail(forward, errno);
    return -1;
}

void forward_when_ready(struct forward *forward, void (*ready)(void *context), void *context)
{
    forward->ready = ready;
    forward->ready_context = context;
    if (forward->fd < 0 || forward_watch(forward) < 0)
        call_ready(forward);
}

int forward_write(struct forward *forward, const char *data, size_t len)
{
    ssize_t n = 0;

    if (forward->fd < 0)
        return -1;
    if (!forward->chunk)
        forward_open(forward);
    if (forward->filter) {
        forward->filtered.len = 0;
        forward->filter(forward->filter_state, data, len, &forward->filtered);
        data = forward->filtered.data;
        len = forward->filtered.len;
    }
    if (len)
        forward->last = data[len - 1];
    if (forward->queue.len == 0) {
        n = write_some(forward, data, len);
        if (n < 0) {
            forward_close(forward);
            return -1;
        }
    }
    if ((size_t)n == len)
        return 0;
    if (buf_add(&forward->queue, data + n, len - (size_t)n) < 0) {
        forward_fail(forward, ENOMEM);
        return -1;
    }
    return forward_watch(forward);
}

void forward_end(struct forward *forward)
{
    size_t left = forward_queued(forward);
    int size = forward->fd >= 0 && left ? fcntl(forward->fd, F_GETPIPE_SZ) : -1;

    if (size > 0 && left < INT_MAX / 2 && fcntl(forward->fd, F_SETPIPE_SZ, size + (int)left) >= 0)
        forward_flush(forward, 0);
}

size_t forward_queued(const struct forward *forward)
{
    return forward->fd < 0 ? 0 : forward->queue.len - forward->queue_start;
}

/* Once, when the reader's pipe is full: its reader then waits for room less often. */
static void forward_grow(struct forward *forward)
{
    int size = forward->grown ? -1 : fcntl(forward->fd, F_GETPIPE_SZ);

    forward->grown = true;
    if (size > 0 && size < READER_PIPE)
        (void)fcntl(forward->fd, F_SETPIPE_SZ, READER_PIPE); /* refused above a quota */
}

ssize_t forward_splice(struct forward *forward, int pipe_fd, size_t len)
{
    struct pollfd room = { .events = POLLOUT };
    ssize_t n;

    if (forward->fd >= 0 && !forward->chunk)
        forward_open(forward);
    if (forward->fd < 0 || !forward->can_splice || forward->filter || forward->queue.len)
        return 0;
    room.fd = forward->fd;
    n = splice(pipe_fd, NULL, forward->fd, NULL, len, SPLICE_F_MOVE | SPLICE_F_NONBLOCK);
    if (n > 0)
        forward->last = '\0';
    if (n >= 0 || errno == EINTR)
        return n > 0 ? n : 0;
    if (errno == EAGAIN) {
        if (poll(&room, 1, 0) != 0)
            return 0;
        forward_grow(forward);
        return FORWARD_FULL;
    }
    if (errno == EPIPE) {
        forward_close(forward);
        return -1;
    }
    forward->can_splice = false; /* for example a file in append mode */
    return 0;
}

bool forward_is_idle(const struct forward *forward)
{
    return forward->fd < 0 || forward->queue.len == 0;
}
