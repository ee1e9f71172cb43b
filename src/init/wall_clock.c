#include "init/state.h"

#include <limits.h>

#include "base/clock.h"

#define LOOK_AGAIN_MS 1000 /* during a pause, whose end wakes nobody */

/* Microseconds that are left; 0: none. */
static uint64_t left_us(const struct init *init)
{
    const struct init_report *report = init->report;
    uint64_t now = clock_now_us(), since = report->paused_since_us;
    uint64_t end = report->ready_us + report->paused_us + init->in.plan->deadline_ms * 1000;

    if (since && now > since)
        end += now - since;
    return end > now ? end - now : 0;
}

int wall_clock_wait(const struct init *init, int other)
{
    uint64_t ms;

    if (!init->in.plan->deadline_ms)
        return other;
    ms = init->report->paused_since_us ? LOOK_AGAIN_MS : left_us(init) / 1000 + 1;
    if (ms > INT_MAX)
        ms = INT_MAX;
    return other >= 0 && (uint64_t)other < ms ? other : (int)ms;
}

bool wall_clock_is_over(const struct init *init)
{
    return init->in.plan->deadline_ms && !init->report->paused_since_us && left_us(init) == 0;
}
