/* The engine's loop: as many descriptors as there are, each with a watch that stands in what it belongs to.
 *
 * What is freed while events are handled may have another event coming in the same turn: it is buried, and freed when
 * the turn is over. */
#ifndef ENGINE_ENGINE_EVENTS_H
#define ENGINE_ENGINE_EVENTS_H

#include <stdint.h>

#include "base/err.h"

typedef void watch_callback(void *context, uint32_t events);

struct watch {
    int fd;                   /* borrowed */
    watch_callback *callback; /* NULL: not watched */
    void *context;
};

/* The first member of whatever is buried. */
struct deferred_free {
    struct deferred_free *next;
};

struct events {
    int epoll_fd;
    struct deferred_free *dead;
};

int engine_events_init(struct events *events, sbr_error *err) must_check;
void engine_events_done(struct events *events);

/* 0, or -1 with errno.  `watch` must stay where it is. */
int engine_events_add(struct events *events, struct watch *watch, uint32_t what) must_check;
/* Nothing happens when it is not watched. */
void engine_events_remove(struct events *events, struct watch *watch);
/* Freed after this turn; from malloc. */
void engine_events_defer_free(struct events *events, struct deferred_free *deferred_free);
/* Waits at most so long (UINT64_MAX: for ever) and handles what is there: how many, or -1 with errno. */
int engine_events_turn(struct events *events, uint64_t timeout_us);

#endif
