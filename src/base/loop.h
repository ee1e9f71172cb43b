/* The one event loop: epoll, with watches that stand in what they belong to.  Their number is not
 * bounded, and none is mistaken for another that has its file descriptor now.
 *
 * The supervisor's loop has timers as well, on one timer fd: a caller with a loop of its own
 * watches a single fd (loop_fd).  The engine and the egress process wait with a timeout instead. */
#ifndef BASE_LOOP_H
#define BASE_LOOP_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/epoll.h>

#include "base/err.h"

#define LOOP_BATCH 64
#define LOOP_MAX_TIMERS 13
#define LOOP_FOREVER UINT64_MAX

typedef void loop_callback(void *context, uint32_t events);

/* Must stay where it is while it is watched. */
struct loop_watch {
    int fd; /* borrowed; -1: none */
    loop_callback *callback;
    void *context;
    uint32_t events; /* EPOLL* */
    bool on;
};

static inline struct loop_watch loop_watch_of(int fd, loop_callback *callback, void *context)
{
    return (struct loop_watch){ .fd = fd, .callback = callback, .context = context };
}

struct loop_timer {
    uint64_t at_us; /* 0: not armed */
    loop_callback *callback;
    void *context;
};

/* The first member of what is freed after the turn. */
struct loop_garbage {
    struct loop_garbage *next;
};

struct loop {
    int epoll_fd;
    struct epoll_event batch[LOOP_BATCH];
    int n, at; /* of the batch that is being handled */
    struct loop_watch timer;
    uint64_t armed_us; /* what the timer fd is set to; 0: nothing */
    struct loop_timer timers[LOOP_MAX_TIMERS];
    struct loop_garbage *garbage;
};

int loop_init(struct loop *loop, const char *stage, sbr_error *err) must_check;
/* With timers. */
int loop_init_timers(struct loop *loop, const char *stage, sbr_error *err) must_check;
void loop_done(struct loop *loop);

int loop_fd(const struct loop *loop);

/* Watches watch->fd.  0, or -1 with errno. */
int loop_add(struct loop *loop, struct loop_watch *watch, uint32_t events);
/* Other events; the same once more make an edge-triggered watch report again what is still ready.
 */
int loop_change(const struct loop *loop, struct loop_watch *watch, uint32_t events);
/* Nothing is reported any more, not even what the kernel reported in this turn already.  Does
 * nothing when it is not watched. */
void loop_remove(struct loop *loop, struct loop_watch *watch);
/* The same, and closes the file descriptor. */
void loop_close(struct loop *loop, struct loop_watch *watch);
/* Hands the file descriptor and its registration to a watch that keeps its own callback. */
void loop_move(struct loop *loop, struct loop_watch *from, struct loop_watch *to);

/* Calls back once at `at_us` of CLOCK_MONOTONIC; 0 takes the timer back.  `slot` names the timer.
 */
void loop_set_timer(struct loop *loop, unsigned int slot, uint64_t at_us, loop_callback *callback,
                    void *context);

/* Frees what malloc returned, after this turn: callbacks on the stack may still look at it. */
void loop_free_later(struct loop *loop, struct loop_garbage *garbage);

/* Waits at most so long for events and handles them: how many, or -1 with errno. */
int loop_turn(struct loop *loop, uint64_t timeout_us);

/* A test can end the process before any step: an event, or a transition of a job. */
#ifdef SBR_TEST_HOOKS
void loop_step(void);
#else
static inline void loop_step(void)
{
}
#endif

/* Bounds the CPU time that an untrusted program can make one of our processes use: what it asks for
 * is done later.  Debt grows with the CPU time used and shrinks with time; beyond `burst_us` the
 * process rests. */
struct pace {
    uint64_t share;    /* thousandths of one CPU; 0: no bound */
    uint64_t burst_us; /* what may be used at once                  */
    uint64_t debt_us;
    uint64_t at_us; /* of the last call */
};

/* `spent_us` of CPU time were used since the last call.  Returns how long to rest now, in
 * microseconds; 0: not at all.  No rest is longer than three bursts take, however large the debt.
 */
uint64_t pace_spend(struct pace *pace, uint64_t spent_us, uint64_t now_us);

#endif
