#include "monitor/stdin_pump.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <time.h>
#include <unistd.h>

#define FEED_CHUNK 65536

/* A program that does not read its input must not kill its supervisor by SIGPIPE, whatever the
 * caller of the library does with that signal: it is held back and taken away for this write. */
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

static void watch_source(struct feed *feed, bool wanted)
{
    if (wanted && !feed->watching_from)
        feed->watching_from = loop_add(feed->loop, feed->from, EPOLLIN, source_ready, feed) == 0;
    else if (!wanted && feed->watching_from) {
        loop_remove(feed->loop, feed->from);
        feed->watching_from = false;
    }
}

static void watch_target(struct feed *feed, bool wanted)
{
    if (wanted && !feed->watching_to)
        feed->watching_to = loop_add(feed->loop, feed->to, EPOLLOUT, target_ready, feed) == 0;
    else if (!wanted && feed->watching_to) {
        loop_remove(feed->loop, feed->to);
        feed->watching_to = false;
    }
}

/* End of input, or nobody reads it: the program sees end-of-file. */
static void feed_end(struct feed *feed)
{
    watch_source(feed, false);
    watch_target(feed, false);
    if (feed->to >= 0)
        close(feed->to);
    feed->to = -1;
}

/* One read of the source; false at its end. */
static bool feed_fill(struct feed *feed)
{
    ssize_t n = feed->from >= 0 ? read(feed->from, feed->buffer, FEED_CHUNK) : 0;

    if (n < 0 && (errno == EINTR || errno == EAGAIN))
        return true;
    feed->used |= n > 0;
    feed->data = feed->buffer;
    feed->len = n > 0 ? (size_t)n : 0;
    return n > 0;
}

/* Writes what there is; false when the program does not take it now, or not any more, or when the turn is over. */
static bool feed_drain(struct feed *feed, size_t *left)
{
    while (feed->len) {
        size_t part = feed->len < FEED_CHUNK ? feed->len : FEED_CHUNK;
        ssize_t n;

        if (part > *left)
            return false;
        n = write_quietly(feed->to, feed->data, part);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 && errno != EAGAIN)
            feed_end(feed);
        if (n < 0)
            return false;
        feed->data += n;
        feed->len -= (size_t)n;
        *left -= (size_t)n;
    }
    return true;
}

/* Moves what can be moved in one turn, then waits for the side that holds things up.  A program that reads as fast as
 * we write would otherwise keep us from the clock for as long as its input is. */
static void feed_pump(struct feed *feed)
{
    size_t left = FEED_PER_TURN;

    while (feed_drain(feed, &left)) {
        if (feed->from_waits)
            break; /* the next read only when the source says that it is ready */
        if (left < FEED_CHUNK && feed->from >= 0)
            break;
        if (!feed_fill(feed)) {
            feed_end(feed);
            return;
        }
    }
    if (feed->to < 0)
        return;
    /* What is always ready cannot be waited for: the program's end says when to go on. */
    watch_target(feed, feed->len > 0 || !feed->from_waits);
    watch_source(feed, feed->len == 0 && feed->from_waits);
}

static void source_ready(void *context, uint32_t events)
{
    struct feed *feed = context;

    (void)events;
    if (feed_fill(feed))
        feed_pump(feed);
    else
        feed_end(feed);
}

static void target_ready(void *context, uint32_t events)
{
    struct feed *feed = context;

    if (events & EPOLLERR)
        feed_end(feed); /* the program closed its stdin */
    else
        feed_pump(feed);
}

int feed_start(struct feed *feed, struct loop *loop, sbr_error *err)
{
    feed->loop = loop;
    if (feed->from >= 0) {
        feed->buffer = malloc(FEED_CHUNK);
        if (!feed->buffer)
            return err_set_oom(err, "stdin");
        /* Refused for what is always ready, such as a regular file. */
        watch_source(feed, true);
        feed->from_waits = feed->watching_from;
    }
    feed_pump(feed);
    return 0;
}

void feed_done(struct feed *feed)
{
    if (feed->loop)
        feed_end(feed);
    free(feed->buffer);
    feed->buffer = NULL;
}
