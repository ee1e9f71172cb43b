/* Many file descriptors, one epoll.  (base/loop.h is for a handful, with timers; egress checks the
 * time once a second, and when the next address of a host is due.) */
#ifndef EGRESS_EGRESS_EVENTS_H
#define EGRESS_EGRESS_EVENTS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/epoll.h>

#include "base/err.h"

#define EVENTS_BATCH 64

struct watch {
    int fd;          /* the owner of the watch owns it; -1: none */
    uint32_t events; /* EPOLL*; 0: not being watched             */
    void (*ready)(void *context, uint32_t events);
    void *context;
};

struct events {
    int epoll_fd;
    struct epoll_event batch[EVENTS_BATCH];
    int n, at; /* of the batch that is being handled */
};

int egress_events_init(struct events *events, sbr_error *err) must_check;
/* Watches watch->fd; false with errno when the kernel refuses. */
bool egress_events_add(struct events *events, struct watch *watch, uint32_t mask);
/* Reports an edge-triggered watch once more, if it still is ready: for a handler
 * that stopped half-way. */
void egress_events_again(const struct events *events, struct watch *watch);
/* Reports nothing any more, not even events that the kernel has returned already. */
void egress_events_remove(struct events *events, struct watch *watch);
/* The same, and closes the file descriptor. */
void egress_events_close(struct events *events, struct watch *watch);
/* Hands the file descriptor and its registration to another watch, which keeps its own `ready`;
 * `from` has none any more. */
void egress_events_move(struct events *events, struct watch *from, struct watch *to);
/* Waits at most this long and handles what is ready.  Returns how many were, or -1 with errno. */
int egress_events_turn(struct events *events, int timeout_ms);

#endif
