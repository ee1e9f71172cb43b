#include "monitor/stdin_pump.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/signal_fd.h"
#include "monitor/monitor.h"

#define STDIN_CHUNK 65536

/* A program that does not read its input must not kill its supervisor. */
static ssize_t write_quietly(int fd, const void *data, size_t len)
{
    struct sigpipe guard;
    ssize_t n;

    sigpipe_block(&guard);
    n = write(fd, data, len);
    sigpipe_restore(&guard);
    return n;
}

static void source_ready(void *context, uint32_t events);
static void target_ready(void *context, uint32_t events);

static void watch(struct stdin_pump *pump, struct loop_watch *one, uint32_t events, bool wanted)
{
    if (!wanted)
        loop_remove(pump->loop, one);
    else if (!one->on)
        (void)loop_add(pump->loop, one, events);
}

static void watch_source(struct stdin_pump *pump, bool wanted)
{
    watch(pump, &pump->source, EPOLLIN, wanted && !pump->held);
}

static void watch_target(struct stdin_pump *pump, bool wanted)
{
    watch(pump, &pump->target, EPOLLOUT, wanted);
}

/* End of input, or the program has closed it: the program sees end-of-file. */
static void stdin_pump_end(struct stdin_pump *pump)
{
    watch_source(pump, false);
    watch_target(pump, false);
    if (pump->to >= 0)
        close(pump->to);
    pump->to = -1;
    if (pump->feed)
        pump->feed->is_gone = true;
}

void stdin_pump_open_feed(struct stdin_feed *feed)
{
    buf_init(&feed->queue, STDIN_FEED_MAX);
    buf_init(&feed->current, STDIN_FEED_MAX);
    feed->is_open = true;
}

void stdin_pump_free_feed(struct stdin_feed *feed)
{
    buf_done(&feed->queue);
    buf_done(&feed->current);
}

size_t stdin_pump_put(struct stdin_feed *feed, const char *data, size_t len)
{
    size_t room = STDIN_FEED_MAX - feed->queue.len, part = len < room ? len : room;

    if (part && buf_add(&feed->queue, data, part) < 0) {
        feed->queue.failed = false; /* no memory now; what is in the queue is good */
        part = 0;
    }
    feed->is_short = part < len;
    return part;
}

static bool feed_waits(const struct stdin_pump *pump)
{
    return pump->feed && pump->feed->is_open && pump->feed->queue.len == 0;
}

/* The queue becomes what is written next; false when it is empty. */
static bool stdin_pump_take_feed(struct stdin_pump *pump)
{
    struct buf written = pump->feed->current;

    written.len = 0;
    pump->feed->current = pump->feed->queue;
    pump->feed->queue = written;
    pump->data = pump->feed->current.data;
    pump->len = pump->feed->current.len;
    if (pump->len) {
        pump->used = true;
        pump->last = pump->data[pump->len - 1];
    }
    return pump->len > 0;
}

/* After the input, a terminal needs the key that means its end; false when it was given. */
static bool stdin_pump_finish(struct stdin_pump *pump)
{
    if (!pump->is_tty || pump->ended)
        return false;
    pump->ended = true;
    pump->data = pump->eof;
    pump->len = program_tty_eof(pump->to, pump->last, pump->eof);
    return pump->len > 0;
}

/* Others may read the same pipe or terminal, and what was ready may be theirs when we come: a read
 * that waited would keep the loop from the program's output and from its deadlines.  So we open it
 * again, with O_NONBLOCK as a flag of our own. */
static void open_reader(struct stdin_pump *pump)
{
    struct stat st;
    int fd;

    pump->reader = pump->from;
    if (!pump->from_waits || fstat(pump->from, &st) < 0)
        return;
    pump->from_is_socket = S_ISSOCK(st.st_mode);
    if (!S_ISFIFO(st.st_mode) && !isatty(pump->from))
        return;
    fd = fd_open_again(pump->from, O_RDONLY | O_NONBLOCK);
    if (fd >= 0)
        pump->reader = fd;
}

static ssize_t read_source(struct stdin_pump *pump)
{
    if (pump->from < 0)
        return 0;
    if (pump->from_is_socket)
        return recv(pump->from, pump->buffer, STDIN_CHUNK, MSG_DONTWAIT);
    return read(pump->reader, pump->buffer, STDIN_CHUNK);
}

/* Reads the source once; false at its end. */
static bool stdin_pump_fill(struct stdin_pump *pump)
{
    ssize_t n;

    if (pump->feed)
        return stdin_pump_take_feed(pump) || stdin_pump_finish(pump);
    n = read_source(pump);
    if (n < 0 && (errno == EINTR || errno == EAGAIN))
        return true;
    if (n <= 0)
        return stdin_pump_finish(pump);
    pump->used = true;
    pump->last = pump->buffer[n - 1];
    pump->data = pump->buffer;
    pump->len = pump->tap ? pump->tap(pump->tap_context, pump->buffer, (size_t)n) : (size_t)n;
    return true;
}

/* Writes what there is; false when the program does not take it now, or has closed it, or when the
 * turn is over. */
static bool stdin_pump_drain(struct stdin_pump *pump, size_t *left)
{
    while (pump->len) {
        size_t part = pump->len < STDIN_CHUNK ? pump->len : STDIN_CHUNK;
        ssize_t n;

        if (part > *left)
            return false;
        n = write_quietly(pump->to, pump->data, part);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 && errno != EAGAIN)
            stdin_pump_end(pump);
        if (n < 0)
            return false;
        pump->data += n;
        pump->len -= (size_t)n;
        *left -= (size_t)n;
    }
    return true;
}

/* Moves what one turn allows, then waits for the slower side.  Otherwise a program that reads as
 * fast as we write would keep the loop from its timers until the end of the input. */
static void stdin_pump_pump(struct stdin_pump *pump)
{
    size_t left = STDIN_PER_TURN;

    while (stdin_pump_drain(pump, &left)) {
        if (pump->from_waits || feed_waits(pump))
            break; /* read again only when the source is ready */
        if (left < STDIN_CHUNK && (pump->from >= 0 || pump->feed))
            break;
        if (!stdin_pump_fill(pump)) {
            stdin_pump_end(pump);
            return;
        }
    }
    if (pump->to < 0)
        return;
    /* A source that is always ready cannot be watched: wait for the program's pipe instead. */
    watch_target(pump, pump->len > 0 || (!pump->from_waits && !feed_waits(pump)));
    watch_source(pump, pump->len == 0 && pump->from_waits);
}

static void source_ready(void *context, uint32_t events)
{
    struct stdin_pump *pump = context;

    (void)events;
    if (stdin_pump_fill(pump))
        stdin_pump_pump(pump);
    else
        stdin_pump_end(pump);
}

/* Called last in a turn, because the client may write at once. */
static void report_room(const struct stdin_pump *pump)
{
    struct stdin_feed *feed = pump->feed;

    if (!feed || !feed->is_short || !feed->on_room ||
        (feed->queue.len == STDIN_FEED_MAX && !feed->is_gone))
        return;
    feed->is_short = false;
    feed->on_room(feed->context);
}

static void target_ready(void *context, uint32_t events)
{
    struct stdin_pump *pump = context;

    if (events & EPOLLERR)
        stdin_pump_end(pump); /* the program closed its stdin */
    else
        stdin_pump_pump(pump);
    report_room(pump);
}

void stdin_pump_go_on(struct stdin_pump *pump)
{
    if (pump->loop && pump->to >= 0)
        stdin_pump_pump(pump);
}

int stdin_pump_start(struct stdin_pump *pump, struct loop *loop, sbr_error *err)
{
    pump->loop = loop;
    pump->source = loop_watch_of(pump->from, source_ready, pump);
    pump->target = loop_watch_of(pump->to, target_ready, pump);
    pump->last = pump->len ? pump->data[pump->len - 1] : '\n';
    if (pump->feed)
        pump->feed->is_gone = false;
    if (pump->from >= 0) {
        pump->buffer = malloc(STDIN_CHUNK);
        if (!pump->buffer)
            return err_set_oom(err, "stdin");
        /* Refused for what is always ready, such as a regular file. */
        pump->from_waits = loop_add(loop, &pump->source, EPOLLIN) == 0;
        if (pump->held)
            watch_source(pump, false);
        open_reader(pump);
    }
    stdin_pump_pump(pump);
    if (pump->to < 0)
        report_room(pump); /* no event of the pipe's will follow */
    return 0;
}

void stdin_pump_hold(struct stdin_pump *pump, bool held)
{
    pump->held = held;
    if (pump->loop && pump->to >= 0 && pump->from_waits)
        watch_source(pump, pump->len == 0);
}

void stdin_pump_done(struct stdin_pump *pump)
{
    if (pump->loop)
        stdin_pump_end(pump);
    if (pump->buffer && pump->reader != pump->from)
        close(pump->reader);
    free(pump->buffer);
    pump->buffer = NULL;
}
