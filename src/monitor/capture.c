#include "monitor/capture.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <unistd.h>

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

static void capture_close(struct capture *capture)
{
    if (capture->fd >= 0) {
        loop_remove(capture->loop, &capture->watch);
        close(capture->fd);
    }
    capture->fd = -1;
}

static int capture_watch(struct capture *capture)
{
    capture->watch = loop_watch_of(capture->fd, capture_ready, capture);
    return loop_add(capture->loop, &capture->watch, EPOLLIN);
}

/* The reader took everything, or left. */
static void capture_release(void *context)
{
    struct capture *capture = context;

    if (!capture->held)
        return;
    capture->held = false;
    if (capture->fd < 0 || capture->stopped || capture_watch(capture) == 0)
        return;
    forward_fail(capture->forward, errno); /* cannot be watched any more: ends rather than hangs */
    capture_close(capture);
}

/* Stops reading from the program until its reader took what it has.  The deadlines go on. */
static void capture_hold(struct capture *capture)
{
    loop_remove(capture->loop, &capture->watch);
    capture->held = true;
    forward_when_ready(capture->forward, capture_release, capture);
}

void capture_stop(struct capture *capture, bool stop)
{
    if (capture->stopped == stop)
        return;
    capture->stopped = stop;
    if (stop)
        loop_remove(capture->loop, &capture->watch);
    else if (capture->fd >= 0 && !capture->held && capture_watch(capture) < 0)
        capture_close(capture); /* cannot be watched any more: ends rather than hangs */
}

static uint64_t capture_room(const struct capture *capture)
{
    return capture->total < capture->max ? capture->max - capture->total : 0;
}

static void give(const struct capture_sink *sink, const char *data, size_t len)
{
    if (len && sink->on_bytes)
        sink->on_bytes(sink->context, data, len);
}

/* Where the next chunk is read to.  A long stream is read to where it is kept, which
 * saves a copy; a short one does not need so much room. */
static char *capture_place(struct capture *capture)
{
    char *kept = NULL;

    if (capture->keep && capture->kept.kept.len >= CHUNK && capture_room(capture) >= CHUNK)
        kept = head_tail_room(&capture->kept, CHUNK);
    return kept ? kept : chunk_buffer;
}

static void capture_keep(struct capture *capture, const char *data, size_t len)
{
    if (data != chunk_buffer)
        head_tail_added(&capture->kept, len);
    else
        head_tail_add(&capture->kept, data, len);
}

static void capture_take(struct capture *capture, const char *data, size_t len)
{
    uint64_t room = capture_room(capture);
    size_t part = len < room ? len : (size_t)room;

    capture->total += len;
    give(&capture->file, data, part);
    give(&capture->sink, data, part);
    if (part && (capture->keep || capture->keep_tail))
        capture_keep(capture, data, part);
    /* The reader left: closing our end informs the program, as a direct pipe would. */
    if (part && capture->forward && forward_write(capture->forward, data, part) < 0 &&
        !capture->keep)
        capture_close(capture);
    if (part == len || capture->over)
        return;
    capture->over = true;
    if (!capture->ends)
        capture->excess(capture->context);
}

/* Passes bytes on without copying, while nothing must be kept or dropped.  Returns what
 * forward_splice returns. */
static ssize_t capture_splice(struct capture *capture)
{
    uint64_t room = capture_room(capture);
    ssize_t n;

    if (capture->keep || capture->keep_tail || capture->sink.on_bytes || capture->file.on_bytes ||
        !capture->forward || room == 0)
        return 0;
    n = forward_splice(capture->forward, capture->fd, room < CHUNK ? (size_t)room : CHUNK);
    if (n > 0)
        capture->total += (uint64_t)n;
    return n;
}

/* Reads into memory, and hands on from there; false when there are no more bytes for now. */
static bool capture_copy(struct capture *capture)
{
    char *place = capture_place(capture);
    ssize_t n = read(capture->fd, place, CHUNK);

    if (n == 0 || (n < 0 && capture->is_tty && errno == EIO)) {
        capture_close(capture);
        return false;
    }
    if (n < 0)
        return errno == EINTR;
    capture_take(capture, place, (size_t)n);
    if (capture->fd >= 0 && capture->forward && !forward_is_idle(capture->forward)) {
        capture_hold(capture);
        return false;
    }
    return capture->fd >= 0 && !capture->stopped && (n == CHUNK || capture->is_tty);
}

/* Moves bytes once; false when there are no more for now. */
static bool capture_read(struct capture *capture)
{
    ssize_t n = capture_splice(capture);

    if (n == FORWARD_FULL) {
        capture_hold(capture);
        return false;
    }
    if (n == -1) {
        capture_close(capture); /* informs the program, as a direct pipe would */
        return false;
    }
    return n > 0 || capture_copy(capture);
}

static void capture_ready(void *context, uint32_t events)
{
    struct capture *capture = context;

    (void)events;
    for (int i = 0; i < CHUNKS_PER_TURN; i++)
        if (!capture_read(capture))
            return;
}

static void init_kept(struct capture *capture)
{
    uint64_t max = capture->max == LIMIT_NONE       ? OUTPUT_KEPT
                   : capture->max < OUTPUT_KEPT_MAX ? capture->max
                                                    : OUTPUT_KEPT_MAX;

    if (capture->keep)
        head_tail_init(&capture->kept, (size_t)(max - max / 2), (size_t)(max / 2));
    else
        head_tail_init(&capture->kept, 0, OUTPUT_TAIL);
}

int capture_start(struct capture *capture, struct loop *loop, sbr_error *err)
{
    if (!have_chunk_buffer())
        return err_set_oom(err, "output");
    capture->loop = loop;
    init_kept(capture);
    if (capture->forward)
        forward_attach(capture->forward, loop);
    if (capture_watch(capture) < 0)
        return err_set_errno(err, "output", "cannot watch a stream of the program");
    return 0;
}

int capture_switch(struct capture *capture, int tty_fd)
{
    loop_remove(capture->loop, &capture->watch);
    scope_close_fd(&capture->fd);
    capture->fd = tty_fd;
    capture->is_tty = true;
    return capture->stopped || capture->held ? 0 : capture_watch(capture);
}

/* A terminal does not say how much it holds, but never holds more than this. */
#define TTY_MOST (1 << 20)

/* What is in the pipe now came from the program.  What comes later may not: a process that lives on
 * may hold the other end and write forever. */
static void capture_rest(struct capture *capture)
{
    int left = 0;

    if (capture->is_tty)
        left = TTY_MOST;
    else if (capture->fd >= 0 && ioctl(capture->fd, FIONREAD, &left) < 0)
        left = 0; /* not a pipe of ours */
    while (capture->fd >= 0 && left > 0) {
        ssize_t n = read(capture->fd, chunk_buffer, left < CHUNK ? (size_t)left : CHUNK);

        if (n <= 0)
            return;
        left -= (int)n;
        capture_take(capture, chunk_buffer, (size_t)n);
    }
}

void capture_drain(struct capture *capture)
{
    if (!capture->held && !capture->stopped)
        capture_rest(capture);
}

void capture_finish(struct capture *capture, struct output *ret)
{
    capture->held = false;
    capture->ends = true;
    capture_rest(capture);
    capture_close(capture);
    ret->total = capture->total;
    ret->truncated = capture->over;
    if (capture->keep) {
        head_tail_take(&capture->kept, capture->over, ret);
        ret->truncated |= ret->len + ret->tail_len < ret->total;
    } else if (capture->keep_tail) {
        head_tail_take_tail(&capture->kept, ret);
    }
}

void capture_done(struct capture *capture)
{
    capture_close(capture);
    head_tail_done(&capture->kept);
}
