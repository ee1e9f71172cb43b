/* How long a session lives: idle time, the freezing of what is idle, and the greatest age. */
#include "base/clock.h"
#include "base/scope.h"
#include "base/text.h"
#include "session/supervisor.h"

#define HOLD_US 10000000 /* from the answer to the client's `hold` */
#define WARN_MS 60000    /* before the end of an idle session */

double idle_expires_s(const struct session *s)
{
    uint64_t now = clock_now_us(), end = s->used_us + s->bounds.idle_ms * 1000;

    return s->state == SESSION_BUSY || now > end ? 0 : (double)(end - now) / 1e6;
}

static void expired(void *context, uint32_t events)
{
    struct session *s = context;

    (void)events;
    s->hooks->lose(s, "the session was idle for too long");
    s->closing = s->over = true;
}

/* Clients that are connected hear of the end before it comes. */
static void warn(void *context, uint32_t events)
{
    struct session *s = context;
    scoped_free char *line = NULL;

    (void)events;
    line =
        text_format("{\"type\":\"warning\",\"message\":\"the session ends in %.0f s unless a cell "
                    "runs\"}\n",
                    idle_expires_s(s));
    if (line)
        connection_tell_all(s, line);
    loop_set_timer(&s->loop, TIMER_IDLE, s->used_us + s->bounds.idle_ms * 1000, expired, s);
}

static void wait_for_expiry(struct session *s)
{
    uint64_t before = s->bounds.idle_ms / 10 < WARN_MS ? s->bounds.idle_ms / 10 : WARN_MS;

    loop_set_timer(&s->loop, TIMER_IDLE, s->used_us + (s->bounds.idle_ms - before) * 1000, warn, s);
}

/* A client waits for a kernel that has to say something, or for a copy of its memory. */
static bool is_awaited(const struct session *s)
{
    for (size_t i = 0; i < KERNELS_MAX; i++)
        if (s->kernels[i].starter)
            return true;
    return s->asks || !link_is_alone(&s->copies);
}

static void freeze_due(void *context, uint32_t events)
{
    struct session *s = context;

    (void)events;
    if (s->state == SESSION_READY && !is_awaited(s))
        kernel_freeze(s, true);
    cell_slot_leave(s);
    wait_for_expiry(s);
}

void idle_begin(struct session *s)
{
    if (s->used_us == 0)
        s->used_us = clock_now_us();
    if (s->bounds.freeze_ms && s->bounds.freeze_ms < s->bounds.idle_ms)
        loop_set_timer(&s->loop, TIMER_IDLE, s->used_us + s->bounds.freeze_ms * 1000, freeze_due,
                       s);
    else
        wait_for_expiry(s);
}

static void age_reached(void *context, uint32_t events)
{
    struct session *s = context;

    (void)events;
    s->hooks->lose(s, "the session reached its greatest age");
    s->closing = s->over = true;
}

void idle_begin_life(struct session *s)
{
    s->created_at_us = clock_read_us(CLOCK_REALTIME);
    s->used_us = 0;
    loop_set_timer(&s->loop, TIMER_AGE, clock_now_us() + s->bounds.age_ms * 1000, age_reached, s);
}

static void not_held(void *context, uint32_t events)
{
    struct session *s = context;

    (void)events;
    s->closing = s->over = true;
    s->hooks->lose(s, "the prompt that made it has ended");
}

/* A prompt that dies between the start and its `hold` leaves no session. */
void idle_await_hold(struct session *s, bool heard)
{
    if (s->bounds.held)
        loop_set_timer(&s->loop, TIMER_HOLD, clock_now_us() + (heard ? HOLD_US : 1), not_held, s);
}
