/* Frames to and from the kernel.  Everything that comes from it may be the work of a hostile cell.
 */
#include <errno.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "session/supervisor.h"

#define READ_SIZE ((size_t)64 * 1024)
#define END_PATIENCE_US 1000000 /* for the end of a kernel that closed its channel */
#define TO_KERNEL_MAX (2 * (FRAME_PAYLOAD_MAX + FRAME_HEADER_MAX))

static void broke(struct session *s)
{
    s->hooks->lose(s, "the kernel broke its channel");
}

/* All whole frames.  A handler may end the session, and with it the bytes. */
static void handle_frames(struct session *s)
{
    size_t at = 0;

    while (s->kernel_watch.on) {
        enum frame_found found;
        struct frame frame;
        size_t used = 0;

        found = frame_read(s->from_kernel.data + at, s->from_kernel.len - at, &frame, &used);
        if (found == FRAME_PARTIAL) {
            buf_drop(&s->from_kernel, at);
            return;
        }
        if (found == FRAME_BAD || !s->hooks->frame(s, &frame)) {
            broke(s);
            return;
        }
        at += used;
    }
}

static void not_ended(void *context, uint32_t events)
{
    struct session *s = context;

    (void)events;
    s->hooks->lose(s, "the kernel closed its channel");
}

/* A kernel that has ended closes its channel before its run is over. */
static void channel_ended(struct session *s)
{
    kernel_channel_close(s);
    loop_set_timer(&s->loop, TIMER_CHANNEL, clock_now_us() + END_PATIENCE_US, not_ended, s);
}

static void read_channel(struct session *s)
{
    char *to = buf_extend(&s->from_kernel, READ_SIZE);
    ssize_t n;

    if (!to) {
        broke(s);
        return;
    }
    n = read(s->kernel_watch.fd, to, READ_SIZE);
    s->from_kernel.len -= READ_SIZE - (size_t)(n > 0 ? n : 0);
    if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR))
        channel_ended(s);
    else
        handle_frames(s);
}

static void write_channel(struct session *s)
{
    while (s->to_kernel.len) {
        ssize_t n = send(s->kernel_watch.fd, s->to_kernel.data, s->to_kernel.len, MSG_NOSIGNAL);

        if (n <= 0)
            break;
        buf_drop(&s->to_kernel, (size_t)n);
    }
    (void)loop_change(&s->loop, &s->kernel_watch, EPOLLIN | (s->to_kernel.len ? EPOLLOUT : 0u));
}

static void channel_ready(void *context, uint32_t events)
{
    struct session *s = context;

    if (events & EPOLLOUT)
        write_channel(s);
    if (events & (EPOLLIN | EPOLLHUP | EPOLLERR))
        read_channel(s);
}

void kernel_channel_open(struct session *s, int fd)
{
    buf_init(&s->to_kernel, TO_KERNEL_MAX);
    buf_init(&s->from_kernel, FRAME_HEADER_MAX + FRAME_PAYLOAD_MAX + READ_SIZE);
    s->kernel_watch = loop_watch_of(fd, channel_ready, s);
    if (loop_add(&s->loop, &s->kernel_watch, EPOLLIN) < 0)
        s->hooks->lose(s, "the kernel's channel cannot be watched");
}

void kernel_channel_close(struct session *s)
{
    loop_remove(&s->loop, &s->kernel_watch);
    s->kernel_watch.fd = -1;
    buf_done(&s->to_kernel);
    buf_done(&s->from_kernel);
}

void kernel_send(struct session *s, const char *word, uint64_t number, const char *arg,
                 const char *payload, size_t len)
{
    if (!s->kernel_watch.on)
        return;
    if (frame_put(&s->to_kernel, word, number, arg, payload, len) < 0)
        s->hooks->lose(s, "the kernel does not read its channel");
    else
        write_channel(s);
}

void kernel_freeze(struct session *s, bool freeze)
{
    if (!s->job || s->frozen == freeze)
        return;
    s->frozen = freeze;
    runner_freeze(s->job, freeze);
}
