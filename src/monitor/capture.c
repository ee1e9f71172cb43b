#include "monitor/capture.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/clock.h"

#define CHUNK (256 * 1024)
/* Bounds how long one stream keeps the loop from the deadlines. */
#define CHUNKS_PER_TURN 8

/* Shared by all captures of a thread: large enough to be fast, and not on the stack. */
static __thread char *chunk_buffer;
static pthread_key_t chunk_key; /* frees it with its thread */
static pthread_once_t chunk_once = PTHREAD_ONCE_INIT;

static void make_chunk_key(void)
{
    (void)pthread_key_create(&chunk_key, free);
}

static bool have_chunk_buffer(void)
{
    if (chunk_buffer)
        return true;
    pthread_once(&chunk_once, make_chunk_key);
    chunk_buffer = malloc(CHUNK);
    if (chunk_buffer)
        (void)pthread_setspecific(chunk_key, chunk_buffer);
    return chunk_buffer;
}

static void capture_ready(void *context, uint32_t events);

static int capture_watch(struct capture *capture)
{
    capture->watch = loop_watch_of(capture->fd, capture_ready, capture);
    return loop_add(capture->loop, &capture->watch, EPOLLIN);
}

/* The reader takes bytes again, or its time is up: continues to read from the program. */
static void capture_resume(void *context, uint32_t events)
{
    struct capture *capture = context;
    uint64_t waited;

    (void)events;
    if (!capture->paused_us)
        return;
    waited = clock_now_us() - capture->paused_us;
    /* A reader that used up its time gets no more. */
    capture->waited_us += waited < OUTPUT_WAIT_ONCE_US ? waited : OUTPUT_WAIT_US;
    capture->paused_us = 0;
    loop_set_timer(capture->loop, capture->timer, 0, NULL, NULL);
    loop_remove(capture->loop, &capture->reader_watch);
    if (capture->fd >= 0 && capture_watch(capture) < 0)
        capture->excess(capture->context); /* cannot be watched any more: end it rather than hang */
}

/* Waits for the reader instead of copying what it does not take yet.  False: may not wait. */
static bool capture_pause(struct capture *capture)
{
    uint64_t now = clock_now_us();

    capture->reader_watch = loop_watch_of(capture->forward->fd, capture_resume, capture);
    if ((capture->waited_us >= OUTPUT_WAIT_US && !capture->forward->patient) ||
        loop_add(capture->loop, &capture->reader_watch, EPOLLOUT) < 0)
        return false;
    loop_remove(capture->loop, &capture->watch);
    capture->paused_us = now;
    loop_set_timer(capture->loop, capture->timer, now + OUTPUT_WAIT_ONCE_US, capture_resume,
                   capture);
    return true;
}

static void capture_close(struct capture *capture)
{
    if (capture->fd >= 0) {
        loop_remove(capture->loop, &capture->watch);
        close(capture->fd);
    }
    capture->fd = -1;
    capture_resume(capture, 0);
}

static void capture_take(struct capture *capture, char *data, size_t len)
{
    uint64_t room = capture->total < capture->max ? capture->max - capture->total : 0;
    size_t part = len < room ? len : (size_t)room;

    capture->total += len;
    if (part && (capture->keep || capture->keep_tail))
        buf_add(&capture->kept, data, part);
    if (capture->keep_tail && capture->kept.len > 2 * OUTPUT_TAIL)
        buf_drop(&capture->kept, capture->kept.len - OUTPUT_TAIL);
    /* The reader left: closing our end informs the program, as a direct pipe would. */
    if (part && capture->forward && forward_write(capture->forward, data, part) < 0 &&
        !capture->keep)
        capture_close(capture);
    if (capture->total / OUTPUT_PATIENCE > capture->max)
        capture->excess(capture->context);
}

/* Passes bytes on without copying, while nothing must be kept or dropped.  Returns what
 * forward_splice returns. */
static ssize_t capture_splice(struct capture *capture)
{
    uint64_t room = capture->total < capture->max ? capture->max - capture->total : 0;
    ssize_t n;

    if (capture->keep || capture->keep_tail || !capture->forward || room == 0)
        return 0;
    n = forward_splice(capture->forward, capture->fd, room < CHUNK ? (size_t)room : CHUNK);
    if (n > 0)
        capture->total += (uint64_t)n;
    return n;
}

/* Moves bytes once; false when there are no more for now. */
static bool capture_read(struct capture *capture)
{
    ssize_t n = capture_splice(capture);

    if (n == FORWARD_FULL && capture_pause(capture))
        return false;
    if (n == -1) {
        capture_close(capture); /* informs the program, as a direct pipe would */
        return false;
    }
    if (n > 0)
        return true;
    n = read(capture->fd, chunk_buffer, CHUNK);
    if (n < 0)
        return errno == EINTR;
    if (n == 0) {
        capture_close(capture);
        return false;
    }
    capture_take(capture, chunk_buffer, (size_t)n);
    return capture->fd >= 0 && n == CHUNK;
}

static void capture_ready(void *context, uint32_t events)
{
    struct capture *capture = context;

    (void)events;
    for (int i = 0; i < CHUNKS_PER_TURN; i++)
        if (!capture_read(capture))
            return;
}

int capture_start(struct capture *capture, struct loop *loop, sbr_error *err)
{
    if (!have_chunk_buffer())
        return err_set_oom(err, "output");
    capture->loop = loop;
    buf_init(&capture->kept, capture->keep_tail            ? 4 * OUTPUT_TAIL + CHUNK
                             : capture->max < SIZE_MAX / 2 ? (size_t)capture->max
                                                           : SIZE_MAX / 2);
    if (capture->forward)
        forward_attach(capture->forward, loop);
    if (capture_watch(capture) < 0)
        return err_set_errno(err, "output", "cannot watch a stream of the program");
    return 0;
}

/* What is in the pipe now came from the program.  What comes later may not: a process that lives on
 * may hold the other end and write forever. */
static void capture_rest(struct capture *capture)
{
    int left = 0;

    if (capture->fd >= 0 && ioctl(capture->fd, FIONREAD, &left) < 0)
        left = 0; /* not a pipe of ours */
    while (capture->fd >= 0 && left > 0) {
        ssize_t n = read(capture->fd, chunk_buffer, left < CHUNK ? (size_t)left : CHUNK);

        if (n <= 0)
            return;
        left -= (int)n;
        capture_take(capture, chunk_buffer, (size_t)n);
    }
}

void capture_finish(struct capture *capture, struct output *ret)
{
    capture_resume(capture, 0);
    capture_rest(capture);
    capture_close(capture);
    ret->total = capture->total;
    ret->truncated = capture->total > capture->max || capture->kept.failed;
    if (capture->keep_tail)
        ret->tail = buf_take(&capture->kept, &ret->tail_len);
    ret->data = capture->keep ? buf_take(&capture->kept, &ret->len) : NULL;
    if (!ret->data)
        ret->len = 0;
}

void capture_done(struct capture *capture)
{
    capture_close(capture);
    buf_done(&capture->kept);
}
