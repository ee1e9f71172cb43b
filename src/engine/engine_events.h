/* The engine's event loop: any number of fds, each with a watch inside the object that owns it.
 *
 * An object that is freed while events are handled may have another event in the same turn: its
 * free is deferred to the end of the turn. */
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

/* The first member of every object whose free can be deferred. */
struct deferred_free {
    struct deferred_free *next;
};

struct events {
    int epoll_fd;
    struct deferred_free *dead;
};

int engine_events_init(struct events *events, sbr_error *err) must_check;
void engine_events_done(struct events *events);

/* 0, or -1 with errno.  `watch` must not move. */
int engine_events_add(struct events *events, struct watch *watch, uint32_t what) must_check;
/* Does nothing when it is not watched. */
void engine_events_remove(struct events *events, struct watch *watch);
/* Freed after this turn; from malloc. */
void engine_events_defer_free(struct events *events, struct deferred_free *deferred_free);
/* Waits at most `timeout_us` (UINT64_MAX: forever) and handles all events; their number, or -1. */
int engine_events_turn(struct events *events, uint64_t timeout_us);

#endif
