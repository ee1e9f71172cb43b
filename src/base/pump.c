#include "base/pump.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/err.h"

#define PIPE_BYTES (256 * 1024)
#define COPY_BYTES (64 * 1024)
#define ROUNDS 16 /* of one pump before the next has its turn */

/* Empty pipes for reuse.  Most often one is enough: what goes in comes out at once. */
static struct {
    int fds[8][2];
    size_t n;
} spare;

static bool no_splice; /* the kernel cannot splice; found out once */

static bool pipe_take(int ret[2])
{
    if (spare.n > 0) {
        spare.n--;
        ret[0] = spare.fds[spare.n][0];
        ret[1] = spare.fds[spare.n][1];
        return true;
    }
    if (no_splice || pipe2(ret, O_NONBLOCK | O_CLOEXEC) < 0) {
        ret[0] = ret[1] = -1;
        return false;
    }
    fcntl(ret[1], F_SETPIPE_SZ, PIPE_BYTES); /* a smaller pipe works too */
    return true;
}

static void pipe_close(int fds[2])
{
    if (fds[0] >= 0) {
        close(fds[0]);
        close(fds[1]);
    }
    fds[0] = fds[1] = -1;
}

static void pipe_give(int fds[2])
{
    if (fds[0] >= 0 && spare.n < ARRAY_LEN(spare.fds)) {
        spare.fds[spare.n][0] = fds[0];
        spare.fds[spare.n][1] = fds[1];
        spare.n++;
        fds[0] = fds[1] = -1;
    }
    pipe_close(fds);
}

void pump_init(struct pump *pump, const struct pump_meter *meter, int from, int to)
{
    *pump = (struct pump){ .meter = meter, .from = from, .to = to, .pipe = { -1, -1 } };
}

void pump_done(struct pump *pump)
{
    if (pump->held > 0)
        pipe_close(pump->pipe); /* it still has bytes of this connection in it */
    else
        pipe_give(pump->pipe);
    free(pump->copy);
    pump->copy = NULL;
    pump->held = 0;
}

/* Gets a pipe or a buffer to hold bytes; false: neither. */
static bool find_room(struct pump *pump)
{
    if (pump->pipe[0] >= 0 || pump->copy || pipe_take(pump->pipe))
        return true;
    pump->copy = malloc(COPY_BYTES);
    return pump->copy != NULL;
}

/* recv() leaves the urgent byte out, and goes on behind it. */
static ssize_t copy_in(struct pump *pump, size_t max)
{
    pump->start = 0;
    pump->flags = MSG_NOSIGNAL;
    if (pump->urgent && recv(pump->from, pump->copy, 1, MSG_OOB) == 1) {
        pump->flags |= MSG_OOB;
        return 1;
    }
    return recv(pump->from, pump->copy, max < COPY_BYTES ? max : COPY_BYTES, 0);
}

/* splice() goes no further than to an urgent byte.  There it reports that nothing has come, or even
 * the end of the stream, although more follows. */
static ssize_t take_in(struct pump *pump, size_t max)
{
    ssize_t n;

    if (pump->pipe[0] < 0)
        return copy_in(pump, max);
    n = splice(pump->from, NULL, pump->pipe[1], NULL, max, SPLICE_F_MOVE | SPLICE_F_NONBLOCK);
    pump->urgent |= n == 0; /* the byte may have come after the events that led here */
    if (n < 0 && (errno == EINVAL || errno == ENOSYS))
        no_splice = true;
    else if (n > 0 || !pump->urgent || (n < 0 && errno != EAGAIN))
        return n;
    pipe_close(pump->pipe);
    pump->copy = malloc(COPY_BYTES);
    return pump->copy ? copy_in(pump, max) : -1;
}

static ssize_t give_out(struct pump *pump)
{
    if (pump->pipe[0] >= 0)
        return splice(pump->pipe[0], NULL, pump->to, NULL, pump->held,
                      SPLICE_F_MOVE | SPLICE_F_NONBLOCK);
    return send(pump->to, pump->copy + pump->start, pump->held, pump->flags);
}

static enum pump_result outcome(void)
{
    return errno == EAGAIN || errno == EINTR ? PUMP_WAITS : PUMP_BROKEN;
}

/* No more bytes may pass, but the end of the stream still may. */
static enum pump_result look_for_end(struct pump *pump)
{
    char byte;
    ssize_t n = recv(pump->from, &byte, 1, MSG_PEEK | MSG_DONTWAIT);

    if (n > 0)
        return PUMP_FULL;
    if (n < 0)
        return outcome();
    pump->eof = true;
    return PUMP_MORE;
}

static uint64_t room_left(const struct pump_meter *meter)
{
    uint64_t used = *meter->used;

    if (meter->max == UINT64_MAX)
        return UINT64_MAX;
    return used < meter->max ? meter->max - used : 0;
}

static enum pump_result fill(struct pump *pump)
{
    uint64_t room = room_left(pump->meter);
    ssize_t n;

    if (room == 0)
        return look_for_end(pump);
    if (!find_room(pump))
        return PUMP_BROKEN;
    n = take_in(pump, room < PIPE_BYTES ? (size_t)room : PIPE_BYTES);
    if (n < 0)
        return outcome();
    pump->held = (size_t)n;
    pump->eof = n == 0;
    atomic_fetch_add_explicit(pump->meter->used, (uint64_t)n, memory_order_relaxed);
    return PUMP_MORE;
}

static enum pump_result empty(struct pump *pump)
{
    ssize_t n = give_out(pump);

    if (n < 0)
        return outcome();
    pump->held -= (size_t)n;
    pump->start += (size_t)n;
    return PUMP_MORE;
}

static enum pump_result step(struct pump *pump)
{
    if (pump->held > 0)
        return empty(pump);
    if (!pump->eof)
        return fill(pump);
    pump->done = true;
    /* `to` may be gone already, which the other direction will find out. */
    shutdown(pump->to, SHUT_WR);
    return PUMP_WAITS;
}

enum pump_result pump_move(struct pump *pump, uint32_t events)
{
    enum pump_result result = pump->done ? PUMP_WAITS : PUMP_MORE;

    pump->urgent |= (events & EPOLLPRI) != 0;
    for (unsigned int i = 0; i < 2 * ROUNDS && result == PUMP_MORE; i++)
        result = step(pump);
    if (pump->held == 0)
        pump_done(pump);
    return result;
}
