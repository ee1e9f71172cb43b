/* A cell takes a slot of the engine, if one runs, and gives it back at its end; an idle session
 * holds none.  The session does not depend on the engine: without one, or when it ends or does not
 * answer, the cell runs at once.
 *
 *   NONE --ask--> ASKED --admitted--> HELD ----- the cell ends ----> NONE
 *                   '--- no engine (any more) --> WITHOUT ---'
 *
 * The request stays with its client until then, so that it can still be interrupted. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/log.h"
#include "job/engine_socket.h"
#include "plan/language.h"
#include "session/supervisor.h"
#include "wire/engine.h"

#define PATIENCE_US 2000000 /* with an engine that does not even say that there is a queue */

static bool ask(struct session *s);

static void hang_up(struct session *s)
{
    loop_close(&s->loop, &s->slot.watch);
    s->slot.watch.fd = -1;
}

static void go_on(struct session *s, enum slot_state state)
{
    loop_set_timer(&s->loop, TIMER_CELL, 0, NULL, NULL);
    s->slot.state = state;
    s->slot.again = false;
    s->hooks->go_on(s);
}

/* The client that waits learns of it, if it wants events. */
static void tell_position(struct session *s, uint32_t before)
{
    const sbr_event event = { .struct_size = sizeof(event),
                              .type = SBR_EVENT_QUEUE,
                              .queue_before = before };
    struct cell_request *request;
    struct connection *c = connection_waiting(s, &request);
    struct buf out;

    if (!c || !request->stream)
        return;
    buf_init(&out, 1 << 20);
    if (!request->lines.seq)
        event_lines_start(&request->lines, &s->request, &out);
    event_lines_event(&request->lines, &event, &out);
    connection_send(s, c, out.data, out.len);
    buf_done(&out);
}

/* The cells of a replay are not refused: the state that they lead to would be none. */
static void turn_away(struct session *s, const char *reason)
{
    struct cell_request request;
    struct connection *c = s->replay.cells ? NULL : connection_next(s, &request);
    sbr_error err;

    if (!c) {
        go_on(s, SLOT_WITHOUT);
        return;
    }
    free(request.code);
    err_set(&err, SBR_E_BUSY, "engine", "%.120s; try again later", reason);
    connection_error(s, c, &err);
    go_on(s, SLOT_NONE);
}

/* An engine that is about to end refuses, too: then there is none, or another one, to ask. */
static void refused(struct session *s, const char *reason)
{
    hang_up(s);
    if (s->slot.again) {
        turn_away(s, reason);
        return;
    }
    s->slot.again = true;
    if (!ask(s))
        go_on(s, SLOT_WITHOUT);
}

static void understand(struct session *s, const struct engine_reply *reply)
{
    switch ((enum engine_answer)reply->answer) {
    case ENGINE_QUEUED:
        loop_set_timer(&s->loop, TIMER_CELL, 0, NULL, NULL);
        tell_position(s, reply->position);
        return;
    case ENGINE_COLD:
        go_on(s, SLOT_HELD);
        return;
    case ENGINE_REFUSED:
        refused(s, reply->reason);
        return;
    case ENGINE_GRANT:
    case ENGINE_STATE:
        break;
    }
    log_info("engine", "its answer cannot be understood");
    hang_up(s);
    go_on(s, SLOT_WITHOUT);
}

static void answer_came(void *context, uint32_t events)
{
    struct session *s = context;
    struct engine_reply reply;
    int fds[FD_MAX_PASSED];
    size_t n_fds = 0;
    ssize_t n = fd_receive(s->slot.watch.fd, &reply, sizeof(reply), fds, &n_fds);
    bool asked = s->slot.state == SLOT_ASKED;

    (void)events;
    while (n_fds > 0)
        close(fds[--n_fds]);
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (n == (ssize_t)sizeof(reply) && reply.version == ENGINE_VERSION && asked) {
        reply.reason[sizeof(reply.reason) - 1] = '\0';
        understand(s, &reply);
        return;
    }
    hang_up(s); /* the engine has ended, or is of another version; a cell that runs goes on */
    if (s->slot.state == SLOT_HELD)
        s->slot.state = SLOT_WITHOUT;
    if (asked)
        go_on(s, SLOT_WITHOUT);
}

static void patience_ended(void *context, uint32_t events)
{
    struct session *s = context;

    (void)events;
    log_info("engine", "it does not answer");
    hang_up(s);
    go_on(s, SLOT_WITHOUT);
}

static bool connect_engine(struct session *s)
{
    int fd;

    if (engine_is_unwanted() || engine_connect(&fd) < 0)
        return false;
    s->slot.watch = loop_watch_of(fd, answer_came, s);
    if (loop_add(&s->loop, &s->slot.watch, EPOLLIN) == 0)
        return true;
    close(fd);
    s->slot.watch.fd = -1;
    return false;
}

/* True: an answer will come. */
static bool ask(struct session *s)
{
    struct engine_request request = { .version = ENGINE_VERSION,
                                      .ask = ENGINE_LEASE,
                                      .share = s->request.share,
                                      .memory_bytes = s->limits.value[SBR_MEMORY_BYTES] };
    bool kept;

    snprintf(request.label, sizeof(request.label), "%.20s cell", s->language->name);
    snprintf(request.caller, sizeof(request.caller), "%s", s->request.caller);
    do {
        kept = s->slot.watch.fd >= 0; /* of an engine that may have ended meanwhile */
        if (!kept && !connect_engine(s))
            return false;
        if (fd_send(s->slot.watch.fd, &request, sizeof(request), NULL, 0) == 0) {
            s->slot.state = SLOT_ASKED;
            loop_set_timer(&s->loop, TIMER_IDLE, 0, NULL, NULL);
            loop_set_timer(&s->loop, TIMER_CELL, clock_now_us() + PATIENCE_US, patience_ended, s);
            return true;
        }
        hang_up(s);
    } while (kept);
    return false;
}

bool cell_slot_take(struct session *s)
{
    if (s->slot.state == SLOT_NONE && !ask(s))
        s->slot.state = SLOT_WITHOUT;
    return s->slot.state != SLOT_ASKED;
}

void cell_slot_give_back(struct session *s)
{
    const struct engine_request done = { .version = ENGINE_VERSION, .ask = ENGINE_DONE };

    if (s->slot.state == SLOT_ASKED)
        return;
    if (s->slot.state == SLOT_HELD && fd_send(s->slot.watch.fd, &done, sizeof(done), NULL, 0) < 0)
        hang_up(s);
    s->slot.state = SLOT_NONE;
}

void cell_slot_leave(struct session *s)
{
    if (s->slot.state == SLOT_NONE && s->slot.watch.fd >= 0)
        hang_up(s);
}
