/* Frames to and from the kernel.  Everything that comes from it may be the work of a hostile cell.
 */
#include <errno.h>
#include <linux/sockios.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "session/supervisor.h"

#define READ_SIZE ((size_t)64 * 1024)
#define END_PATIENCE_US 1000000 /* for the end of a kernel that closed its channel */
#define TO_KERNEL_MAX (2 * (FRAME_PAYLOAD_MAX + FRAME_HEADER_MAX))
/* Reading what kernels say costs this process CPU time that no limit of the program covers: a
 * quarter of what the program has, of one CPU at most.  The burst reads 16 MiB at once. */
#define SHARE_OF_CPUS 4
#define SHARE_MOST 250
#define SHARE_LEAST 10
#define BURST_US 40000

static void broke(struct kernel *k)
{
    k->session->hooks->end_kernel(k, "the kernel broke its channel");
}

/* The room of a long frame is given back. */
static void drop_read(struct kernel *k, size_t len)
{
    buf_drop(&k->from, len);
    if (k->from.len < READ_SIZE && k->from.capacity > 4 * READ_SIZE)
        buf_trim(&k->from);
}

/* All whole frames.  A handler may end the kernel, and with it the bytes; the next cell may then
 * have started another one in the same place, with bytes of its own. */
static void handle_frames(struct kernel *k)
{
    uint64_t life = k->life;
    size_t at = 0;

    while (k->watch.on && k->life == life) {
        enum frame_found found;
        struct frame frame;
        size_t used = 0;

        found = frame_read(k->from.data + at, k->from.len - at, &frame, &used);
        if (found == FRAME_PARTIAL) {
            drop_read(k, at);
            return;
        }
        if (found == FRAME_BAD || !k->session->hooks->frame(k, &frame)) {
            broke(k);
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
static void channel_ended(struct kernel *k)
{
    struct session *s = k->session;

    if (k->index) {
        s->hooks->end_kernel(k, "the kernel ended");
        return;
    }
    kernel_channel_close(k);
    loop_set_timer(&s->loop, TIMER_CHANNEL, clock_now_us() + END_PATIENCE_US, not_ended, s);
}

static void read_channel(struct kernel *k)
{
    char *to = buf_extend(&k->from, READ_SIZE);
    ssize_t n;

    if (!to) {
        broke(k);
        return;
    }
    n = read(k->watch.fd, to, READ_SIZE);
    k->from.len -= READ_SIZE - (size_t)(n > 0 ? n : 0);
    if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR))
        channel_ended(k);
    else
        handle_frames(k);
}

static void watch_channel(struct kernel *k)
{
    uint32_t events = (k->rests ? 0u : EPOLLIN) | (k->to.len ? EPOLLOUT : 0u);

    if (k->watch.on && k->watch.events != events)
        (void)loop_change(&k->session->loop, &k->watch, events);
}

static void rest_over(void *context, uint32_t events)
{
    struct session *s = context;

    (void)events;
    for (size_t i = 0; i < KERNELS_MAX; i++) {
        s->kernels[i].rests = false;
        watch_channel(&s->kernels[i]);
    }
}

/* A flood of frames waits; deadlines and clients do not. */
static void rest(struct session *s, uint64_t us)
{
    for (size_t i = 0; i < KERNELS_MAX; i++) {
        s->kernels[i].rests = true;
        watch_channel(&s->kernels[i]);
    }
    loop_set_timer(&s->loop, TIMER_REST, clock_now_us() + us, rest_over, s);
}

static void write_channel(struct kernel *k)
{
    while (k->to.len) {
        ssize_t n = send(k->watch.fd, k->to.data, k->to.len, MSG_NOSIGNAL);

        if (n <= 0)
            break;
        buf_drop(&k->to, (size_t)n);
    }
    watch_channel(k);
}

static void channel_ready(void *context, uint32_t events)
{
    struct kernel *k = context;
    struct session *s = k->session;
    uint64_t began_us = clock_read_us(CLOCK_THREAD_CPUTIME_ID), rest_us;

    if (events & EPOLLOUT)
        write_channel(k);
    if (!(events & (EPOLLIN | EPOLLHUP | EPOLLERR)))
        return;
    read_channel(k);
    rest_us =
        pace_spend(&s->pace, clock_read_us(CLOCK_THREAD_CPUTIME_ID) - began_us, clock_now_us());
    if (rest_us)
        rest(s, rest_us);
}

void kernel_init_all(struct session *s)
{
    uint64_t share = s->request.limits.value[SBR_CPU_MILLIS] / SHARE_OF_CPUS;

    share = share < SHARE_MOST ? share : SHARE_MOST;
    s->pace =
        (struct pace){ .share = share > SHARE_LEAST ? share : SHARE_LEAST, .burst_us = BURST_US };
    for (unsigned int i = 0; i < KERNELS_MAX; i++)
        s->kernels[i] = (struct kernel){ .session = s, .index = i, .watch.fd = -1 };
    s->kernels[0].language = s->language;
}

void kernel_channel_open(struct kernel *k, int fd)
{
    buf_init(&k->to, TO_KERNEL_MAX);
    buf_init(&k->from, FRAME_HEADER_MAX + FRAME_PAYLOAD_MAX + READ_SIZE);
    k->watch = loop_watch_of(fd, channel_ready, k);
    k->life++;
    k->rests = false;
    if (loop_add(&k->session->loop, &k->watch, EPOLLIN) < 0)
        k->session->hooks->end_kernel(k, "the kernel's channel cannot be watched");
}

/* The run owns the channel of the first kernel. */
void kernel_channel_close(struct kernel *k)
{
    if (k->index && k->watch.fd >= 0)
        loop_close(&k->session->loop, &k->watch);
    else
        loop_remove(&k->session->loop, &k->watch);
    k->watch.fd = -1;
    buf_done(&k->to);
    buf_done(&k->from);
}

void kernel_send(struct kernel *k, const char *word, uint64_t number, const char *arg,
                 const char *payload, size_t len)
{
    if (!k->watch.on)
        return;
    if (frame_put(&k->to, word, number, arg, payload, len) < 0)
        k->session->hooks->end_kernel(k, "the kernel does not read its channel");
    else
        write_channel(k);
}

bool kernel_send_pipes(struct kernel *k, const char *word, uint64_t number, const int fds[2])
{
    union {
        struct cmsghdr header;
        char room[CMSG_SPACE(2 * sizeof(int))];
    } with = { .header = { CMSG_LEN(2 * sizeof(int)), SOL_SOCKET, SCM_RIGHTS } };
    struct msghdr message = { .msg_control = &with, .msg_controllen = sizeof(with) };
    struct iovec data;
    bool sent;

    if (!k->watch.on || k->to.len || frame_put(&k->to, word, number, "-", "", 0) < 0)
        return false;
    memcpy(CMSG_DATA(&with.header), fds, 2 * sizeof(fds[0]));
    data = (struct iovec){ k->to.data, k->to.len };
    message.msg_iov = &data;
    message.msg_iovlen = 1;
    sent = sendmsg(k->watch.fd, &message, MSG_NOSIGNAL) == (ssize_t)k->to.len;
    buf_drop(&k->to, k->to.len);
    return sent;
}

/* A socket counts what the other end has not taken from it yet. */
bool kernel_has_read(const struct kernel *k)
{
    int unread = 0;

    return !k->to.len && (ioctl(k->watch.fd, SIOCOUTQ, &unread) < 0 || unread == 0);
}

bool kernel_can(const struct kernel *k, const char *what)
{
    const json_t *list = json_object_get(k->hello, "can");
    const json_t *word;
    size_t i;

    json_array_foreach(list, i, word)
        if (json_is_string(word) && !strcmp(json_string_value(word), what))
            return true;
    return false;
}

void kernel_freeze(struct session *s, bool freeze)
{
    if (!s->job || s->frozen == freeze)
        return;
    s->frozen = freeze;
    runner_freeze(s->job, freeze);
}
