#include "monitor/stdin_pump.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <time.h>
#include <unistd.h>

#define STDIN_CHUNK 65536

/* Blocks and discards SIGPIPE for this write: a program that does not read its input must not kill
 * its supervisor, whatever the caller of the library does with that signal. */
static ssize_t write_quietly(int fd, const void *data, size_t len)
{
    static const struct timespec now = { 0 };
    sigset_t pipe_only, before, pending;
    ssize_t n;
    int saved;
    bool was_pending;

    sigemptyset(&pipe_only);
    sigaddset(&pipe_only, SIGPIPE);
    sigpending(&pending);
    was_pending = sigismember(&pending, SIGPIPE) == 1;
    pthread_sigmask(SIG_BLOCK, &pipe_only, &before);
    n = write(fd, data, len);
    saved = errno;
    if (n < 0 && saved == EPIPE && !was_pending)
        while (sigtimedwait(&pipe_only, NULL, &now) < 0 && errno == EINTR)
            continue;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    errno = saved;
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
    watch(pump, &pump->source, EPOLLIN, wanted);
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
}

/* Reads the source once; false at its end. */
static bool stdin_pump_fill(struct stdin_pump *pump)
{
    ssize_t n = pump->from >= 0 ? read(pump->from, pump->buffer, STDIN_CHUNK) : 0;

    if (n < 0 && (errno == EINTR || errno == EAGAIN))
        return true;
    pump->used |= n > 0;
    pump->data = pump->buffer;
    pump->len = n > 0 ? (size_t)n : 0;
    return n > 0;
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
        if (pump->from_waits)
            break; /* read again only when the source is ready */
        if (left < STDIN_CHUNK && pump->from >= 0)
            break;
        if (!stdin_pump_fill(pump)) {
            stdin_pump_end(pump);
            return;
        }
    }
    if (pump->to < 0)
        return;
    /* A source that is always ready cannot be watched: wait for the program's pipe instead. */
    watch_target(pump, pump->len > 0 || !pump->from_waits);
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

static void target_ready(void *context, uint32_t events)
{
    struct stdin_pump *pump = context;

    if (events & EPOLLERR)
        stdin_pump_end(pump); /* the program closed its stdin */
    else
        stdin_pump_pump(pump);
}

int stdin_pump_start(struct stdin_pump *pump, struct loop *loop, sbr_error *err)
{
    pump->loop = loop;
    pump->source = loop_watch_of(pump->from, source_ready, pump);
    pump->target = loop_watch_of(pump->to, target_ready, pump);
    if (pump->from >= 0) {
        pump->buffer = malloc(STDIN_CHUNK);
        if (!pump->buffer)
            return err_set_oom(err, "stdin");
        /* Refused for what is always ready, such as a regular file. */
        watch_source(pump, true);
        pump->from_waits = pump->source.on;
    }
    stdin_pump_pump(pump);
    return 0;
}

void stdin_pump_done(struct stdin_pump *pump)
{
    if (pump->loop)
        stdin_pump_end(pump);
    free(pump->buffer);
    pump->buffer = NULL;
}
