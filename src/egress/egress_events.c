#include "egress/egress_events.h"

#include <errno.h>
#include <unistd.h>

int egress_events_init(struct events *events, sbr_error *err)
{
    events->n = events->at = 0;
    events->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    if (events->epoll_fd < 0)
        return err_set_errno(err, "egress", "cannot wait for events");
    return 0;
}

static int control(const struct events *events, int operation, struct watch *watch)
{
    struct epoll_event event = { .events = watch->events, .data.ptr = watch };

    return epoll_ctl(events->epoll_fd, operation, watch->fd, &event);
}

bool egress_events_add(struct events *events, struct watch *watch, uint32_t mask)
{
    watch->events = mask;
    if (control(events, EPOLL_CTL_ADD, watch) == 0)
        return true;
    watch->events = 0;
    return false;
}

void egress_events_again(const struct events *events, struct watch *watch)
{
    control(events, EPOLL_CTL_MOD, watch);
}

void egress_events_remove(struct events *events, struct watch *watch)
{
    if (watch->events == 0)
        return;
    control(events, EPOLL_CTL_DEL, watch);
    watch->events = 0;
    for (int i = events->at; i < events->n; i++)
        if (events->batch[i].data.ptr == watch)
            events->batch[i].data.ptr = NULL;
}

void egress_events_close(struct events *events, struct watch *watch)
{
    if (watch->fd < 0)
        return;
    egress_events_remove(events, watch);
    close(watch->fd);
    watch->fd = -1;
}

void egress_events_move(struct events *events, struct watch *from, struct watch *to)
{
    to->fd = from->fd;
    to->events = from->events;
    control(events, EPOLL_CTL_MOD, to);
    for (int i = events->at; i < events->n; i++)
        if (events->batch[i].data.ptr == from)
            events->batch[i].data.ptr = to;
    from->fd = -1;
    from->events = 0;
}

int egress_events_turn(struct events *events, int timeout_ms)
{
    int n = epoll_wait(events->epoll_fd, events->batch, EVENTS_BATCH, timeout_ms);

    if (n < 0)
        return errno == EINTR ? 0 : -1;
    events->n = n;
    for (events->at = 0; events->at < events->n;) {
        const struct epoll_event *event = &events->batch[events->at++];
        struct watch *watch = event->data.ptr;

        if (watch)
            watch->ready(watch->context, event->events);
    }
    events->n = events->at = 0;
    return n;
}
