/* One loop; everything is a descriptor.  epoll and one timer descriptor for all deadlines, so that
 * a caller with a loop of its own needs to watch a single fd (loop_fd). */
#ifndef BASE_LOOP_H
#define BASE_LOOP_H

#include <stdint.h>

#include "base/err.h"

#define LOOP_MAX_WATCHES 16
#define LOOP_MAX_TIMERS 7

typedef void loop_callback(void *context, uint32_t events);

struct loop_watch {
    int fd;              /* -1: free slot */
    uint32_t generation; /* tells an event of this watch from one of an earlier in its slot */
    loop_callback *callback;
    void *context;
};

struct loop_timer {
    uint64_t at_us; /* 0: not armed */
    loop_callback *callback;
    void *context;
};

struct loop {
    int epoll_fd;
    int timer_fd;
    uint64_t armed_us; /* what timer_fd is set to; 0: nothing */
    struct loop_watch watches[LOOP_MAX_WATCHES];
    struct loop_timer timers[LOOP_MAX_TIMERS];
};

int loop_init(struct loop *loop, sbr_error *err) must_check;
void loop_done(struct loop *loop);

int loop_fd(const struct loop *loop);

/* Watches `fd` (borrowed) for EPOLL* events. */
int loop_add(struct loop *loop, int fd, uint32_t events, loop_callback *callback, void *context)
    must_check;
int loop_change(struct loop *loop, int fd, uint32_t events);
void loop_remove(struct loop *loop, int fd);

/* Calls back once at `at_us` of CLOCK_MONOTONIC; 0 takes the timer back.  `slot` names the timer.
 */
void loop_set_timer(struct loop *loop, unsigned int slot, uint64_t at_us, loop_callback *callback,
                    void *context);

/* Handles what is ready; waits for it when `wait` is not 0.  0 or -1 with errno. */
int loop_turn(struct loop *loop, int wait);

#endif
