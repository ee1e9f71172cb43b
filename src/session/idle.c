/* How long a session lives: idle time, the freezing of what is idle, and the greatest age. */
#include <unistd.h>

#include "base/clock.h"
#include "base/text.h"
#include "session/supervisor.h"

#define HOLD_US 10000000 /* from the answer to the client's `hold` */
#define WARN_MS 60000    /* before the end of an idle session */
#define LOOK_US 10000    /* between two looks at the CPU time, at least */

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

static uint64_t cpu_now(const struct session *s)
{
    sbr_metrics now = { .struct_size = sizeof(now) };

    return s->job && sbr_job_metrics(s->job, &now) == 0 ? now.cpu_user_us + now.cpu_system_us : 0;
}

void idle_note_cpu(struct session *s)
{
    if (s->limits.value[SBR_CPU_MS] != LIMIT_NONE)
        s->between_us = cpu_now(s);
}

static void tell_stop(struct session *s)
{
    static const char line[] =
        "{\"type\":\"warning\",\"message\":\"what earlier cells left running has used up the CPU "
        "time between cells and stands still until the next cell; --cpu-time gives more\"}\n";

    if (!s->frozen)
        connection_tell_all(s, line);
}

/* Fires at the earliest time at which the limit can be reached, with all CPUs busy. */
static void look_between(void *context, uint32_t events)
{
    struct session *s = context;
    uint64_t limit = s->limits.value[SBR_CPU_MS] * 1000, used = cpu_now(s) - s->between_us;
    uint64_t cpus = (uint64_t)sysconf(_SC_NPROCESSORS_ONLN);
    uint64_t wait = used < limit ? (limit - used) / (cpus ? cpus : 1) : 0;

    (void)events;
    if (s->state != SESSION_READY || s->frozen || !s->job)
        return;
    if (used >= limit && !is_awaited(s)) {
        tell_stop(s);
        kernel_freeze(s, true);
        return;
    }
    loop_set_timer(&s->loop, TIMER_CPU, clock_now_us() + (wait > LOOK_US ? wait : LOOK_US),
                   look_between, s);
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
    if (s->limits.value[SBR_CPU_MS] != LIMIT_NONE)
        look_between(s, 0);
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
