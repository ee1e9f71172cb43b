/* How far a program may be ahead of those who read its events. */
#include "base/clock.h"
#include "http/execution.h"

/* Then the program waits.  What it still has in two pipes when it ends has room in the log, too. */
#define UNREAD_MOST ((size_t)512 << 10)

static bool has_readers(const struct execution *e)
{
    return !link_is_alone(&e->streams) || !link_is_alone(&e->sockets);
}

/* Whoever began a run or a cell as a stream gets every event: a program that is ahead of the first
 * of its readers waits, as it would for a pipe.  Time limits and signals go on.  A run waits some
 * time for readers that come back, and a cell does not. */
void execution_pace(struct execution *e)
{
    size_t most = e->holds ? UNREAD_MOST / 4 : UNREAD_MOST;
    bool hold = event_log_unread(&e->log, e->read_next) > most;

    if (e->hold)
        hold &= has_readers(e);
    else if (e->mode != EXECUTION_STREAMED || !e->job || e->users)
        return;
    if (hold == e->holds)
        return;
    e->holds = hold;
    if (e->hold)
        e->hold(e, hold, e->hold_context);
    else
        (void)sbr_job_hold_output(e->job, hold);
}

void execution_was_left(struct execution *e)
{
    if (!has_readers(e))
        e->alone_us = clock_now_us();
    execution_pace(e);
}

void execution_was_read(struct execution *e, uint64_t next)
{
    uint64_t last = event_log_next(&e->log);

    if (next <= e->read_next)
        return;
    e->read_next = next < last ? next : last;
    execution_pace(e);
}
