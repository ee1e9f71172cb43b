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
struct grave {
    struct grave *next;
};

struct events {
    int epoll_fd;
    struct grave *dead;
};

int events_init(struct events *events, sbr_error *err) must_check;
void events_done(struct events *events);

/* 0, or -1 with errno.  `watch` must stay where it is. */
int events_add(struct events *events, struct watch *watch, uint32_t what) must_check;
/* Nothing happens when it is not watched. */
void events_remove(struct events *events, struct watch *watch);
/* Freed after this turn; from malloc. */
void events_bury(struct events *events, struct grave *grave);
/* Waits at most so long (UINT64_MAX: for ever) and handles what is there: how many, or -1 with errno. */
int events_turn(struct events *events, uint64_t timeout_us);

#endif
