/* The stream that a collect reader reads: watched by a loop, or waited for. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "base/clock.h"
#include "monitor/collect_reader.h"

#define CHUNK (256 * 1024)
#define CHUNKS_PER_TURN 16
#define WAIT_MS 100

static void collect_reader_close(struct collect_reader *reader)
{
    if (reader->fd >= 0) {
        loop_remove(reader->loop, &reader->watch);
        close(reader->fd);
    }
    reader->fd = -1;
}

/* True while there may be more. */
static bool read_some(struct collect_reader *reader, unsigned char *chunk)
{
    ssize_t n = read(reader->fd, chunk, CHUNK);

    if (n > 0)
        collect_reader_take(reader, chunk, (size_t)n);
    else if (n == 0 || errno != EAGAIN)
        collect_reader_close(reader);
    return n > 0;
}

/* True when there was anything to read. */
static bool read_turn(struct collect_reader *reader)
{
    unsigned char *chunk = malloc(CHUNK);
    int i = 0;

    if (!chunk)
        collect_reader_refuse(reader, "does not fit into memory");
    while (chunk && i < CHUNKS_PER_TURN && reader->fd >= 0 && read_some(reader, chunk))
        i++;
    if (reader->broken && !reader->ended) /* a write error tells init that reading has ended */
        collect_reader_close(reader);
    free(chunk);
    return i > 0;
}

static void collect_reader_ready(void *context, uint32_t events)
{
    struct collect_reader *reader = context;
    void (*began)(void *) = reader->began;

    (void)events;
    reader->began = NULL;
    (void)read_turn(reader);
    if (began)
        began(reader->context);
}

int collect_reader_start(struct collect_reader *reader, int fd, struct loop *loop, sbr_error *err)
{
    reader->fd = fd;
    reader->loop = loop;
    reader->watch = loop_watch_of(fd, collect_reader_ready, reader);
    if (fcntl(fd, F_SETFL, O_NONBLOCK) < 0 || loop_add(loop, &reader->watch, EPOLLIN) < 0)
        return err_set_errno(err, "collect", "cannot watch for what comes out of the sandbox");
    return 0;
}

int collect_reader_wait(struct collect_reader *reader, uint64_t timeout_us, sbr_error *err)
{
    uint64_t deadline = clock_now_us() + timeout_us;

    while (!reader->broken && reader->fd >= 0 && clock_now_us() < deadline) {
        struct pollfd ready = { .fd = reader->fd, .events = POLLIN };

        if (poll(&ready, 1, WAIT_MS) > 0)
            (void)read_turn(reader);
    }
    if (reader->ended)
        return 0; /* a part may have failed */
    if (!reader->broken)
        collect_reader_refuse(reader, "did not arrive in time");
    collect_reader_close(reader);
    *err = reader->failure;
    return err->code;
}

void collect_reader_finish(struct collect_reader *reader)
{
    while (reader->fd >= 0)
        if (!read_turn(reader))
            collect_reader_close(reader);
    collect_reader_judge(reader);
}

void collect_reader_done(struct collect_reader *reader)
{
    collect_reader_close(reader);
    collect_reader_leave(reader);
}
