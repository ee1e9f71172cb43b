#include "monitor/forward.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/scope.h"

#define FILTERED_MAX (4u << 20) /* far more than is read at once */

void sink_init(struct sink *sink, int fd, size_t max_queue)
{
    *sink = (struct sink){ .fd = fd };
    buf_init(&sink->queue, max_queue);
    buf_init(&sink->filtered, FILTERED_MAX);
}

/* Done at the first byte: many programs write to one stream only.
 *
 * A pipe or terminal is opened again, so that "do not wait" is a flag of our own open file and not
 * of the one that we share with the shell.  Where that is not allowed, writes of at most PIPE_BUF
 * bytes after poll said "ready" do not wait either. */
static void sink_open(struct sink *sink)
{
    int shared = sink->fd;
    struct stat st;
    char path[32];

    sink->chunk = SSIZE_MAX;
    if (fstat(shared, &st) < 0)
        return;
    sink->can_splice = !S_ISSOCK(st.st_mode) && !isatty(shared);
    if (S_ISREG(st.st_mode))
        return;
    snprintf(path, sizeof(path), "/proc/self/fd/%d", shared);
    sink->fd = open(path, O_WRONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
    if (sink->fd >= 0) {
        sink->own_fd = true;
        return;
    }
    sink->fd = shared;
    sink->chunk = PIPE_BUF;
}

static void sink_unwatch(struct sink *sink)
{
    if (sink->watching)
        loop_remove(sink->loop, sink->fd);
    sink->watching = false;
}

static void sink_close(struct sink *sink)
{
    sink_unwatch(sink);
    if (sink->own_fd)
        close(sink->fd);
    sink->fd = -1;
    buf_done(&sink->queue);
    buf_done(&sink->filtered);
    sink->queue_start = 0;
}

void sink_done(struct sink *sink)
{
    sink_close(sink);
}

void sink_attach(struct sink *sink, struct loop *loop)
{
    sink->loop = loop;
}

static bool is_ready(const struct sink *sink)
{
    struct pollfd fd = { .fd = sink->fd, .events = POLLOUT };

    return sink->own_fd || poll(&fd, 1, 0) > 0;
}

/* Writes what goes without waiting; the number of bytes, or -1 when no more can be written. */
static ssize_t write_some(struct sink *sink, const char *data, size_t len)
{
    size_t done = 0;

    while (done < len) {
        size_t part = len - done < sink->chunk ? len - done : sink->chunk;
        ssize_t n;

        if (sink->chunk == PIPE_BUF && !is_ready(sink))
            break;
        n = write(sink->fd, data + done, part);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 && errno == EAGAIN)
            break;
        if (n < 0) {
            sink->sys_errno = errno == EPIPE || errno == ECONNRESET ? 0 : errno;
            return -1;
        }
        done += (size_t)n;
    }
    return (ssize_t)done;
}

static void sink_flush(void *context, uint32_t events)
{
    struct sink *sink = context;
    ssize_t n;

    (void)events;
    n = write_some(sink, sink->queue.data + sink->queue_start, sink->queue.len - sink->queue_start);
    if (n < 0) {
        sink_close(sink);
        return;
    }
    sink->queue_start += (size_t)n;
    if (sink->queue_start == sink->queue.len) {
        sink->queue.len = sink->queue_start = 0;
        sink_unwatch(sink);
    }
}

int sink_write(struct sink *sink, const char *data, size_t len)
{
    ssize_t n = 0;

    if (sink->fd < 0)
        return -1;
    if (!sink->chunk)
        sink_open(sink);
    if (sink->filter) {
        sink->filtered.len = 0;
        sink->filter(sink->filter_state, data, len, &sink->filtered);
        data = sink->filtered.data;
        len = sink->filtered.len;
    }
    if (sink->queue.len == 0) {
        n = write_some(sink, data, len);
        if (n < 0) {
            sink_close(sink);
            return -1;
        }
    }
    if ((size_t)n == len)
        return 0;
    if (buf_add(&sink->queue, data + n, len - (size_t)n) < 0) {
        sink_close(sink);
        return -1;
    }
    if (!sink->watching)
        sink->watching = loop_add(sink->loop, sink->fd, EPOLLOUT, sink_flush, sink) == 0;
    return 0;
}

ssize_t sink_splice(struct sink *sink, int pipe_fd, size_t len)
{
    struct pollfd room = { .events = POLLOUT };
    ssize_t n;

    if (sink->fd >= 0 && !sink->chunk)
        sink_open(sink);
    if (sink->fd < 0 || !sink->can_splice || sink->filter || sink->queue.len)
        return 0;
    room.fd = sink->fd;
    n = splice(pipe_fd, NULL, sink->fd, NULL, len, SPLICE_F_MOVE | SPLICE_F_NONBLOCK);
    if (n >= 0 || errno == EINTR)
        return n > 0 ? n : 0;
    if (errno == EAGAIN)
        return poll(&room, 1, 0) == 0 ? SINK_FULL : 0;
    if (errno == EPIPE) {
        sink_close(sink);
        return -1;
    }
    sink->can_splice = false; /* for example a file that is only appended to */
    return 0;
}

bool sink_is_idle(const struct sink *sink)
{
    return sink->fd < 0 || sink->queue.len == 0;
}
