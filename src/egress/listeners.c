#include "egress/egress_internal.h"

#include <sys/epoll.h>

void listeners_rest(struct egress *egress)
{
    bool rest = egress->n_open >= EGRESS_MAX_OPEN || egress->starved;

    if (rest == egress->resting)
        return;
    egress->resting = rest;
    for (size_t i = 0; i < egress->n_listeners; i++) {
        struct listener *listener = &egress->listeners[i];

        if (listener->kind == SOCKET_UDP)
            continue;
        if (rest)
            loop_remove(&egress->events, &listener->watch);
        else
            (void)loop_add(&egress->events, &listener->watch, EPOLLIN);
    }
}
