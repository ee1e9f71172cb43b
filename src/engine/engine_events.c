#include "engine/engine_events.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/scope.h"

#define MAX_EVENTS 64
#define LONGEST_US 3600000000ULL

int engine_events_init(struct events *events, sbr_error *err)
{
    *events = (struct events){ .epoll_fd = epoll_create1(EPOLL_CLOEXEC) };
    return events->epoll_fd < 0 ? err_set_errno(err, "engine", "cannot make an event loop") : 0;
}

static void free_dead(struct events *events)
{
    while (events->dead) {
        struct deferred_free *next = events->dead->next;

        free(events->dead);
        events->dead = next;
    }
}

void engine_events_done(struct events *events)
{
    free_dead(events);
    scope_close_fd(&events->epoll_fd);
    events->epoll_fd = -1;
}

int engine_events_add(struct events *events, struct watch *watch, uint32_t what)
{
    struct epoll_event event = { .events = what, .data.ptr = watch };

    if (epoll_ctl(events->epoll_fd, EPOLL_CTL_ADD, watch->fd, &event) == 0)
        return 0;
    watch->callback = NULL;
    return -1;
}

void engine_events_remove(struct events *events, struct watch *watch)
{
    if (watch->callback)
        epoll_ctl(events->epoll_fd, EPOLL_CTL_DEL, watch->fd, NULL);
    watch->callback = NULL;
}

void engine_events_defer_free(struct events *events, struct deferred_free *deferred_free)
{
    deferred_free->next = events->dead;
    events->dead = deferred_free;
}

/* To the microsecond where the kernel supports it (Linux 5.11). */
static int wait_for_events(int epoll_fd, struct epoll_event *ready, uint64_t timeout_us)
{
    struct timespec timeout = { .tv_sec = (time_t)(timeout_us / 1000000),
                                .tv_nsec = (long)(timeout_us % 1000000) * 1000 };
    long n;

    if (timeout_us == 0 || timeout_us > LONGEST_US)
        return epoll_wait(epoll_fd, ready, MAX_EVENTS, timeout_us ? -1 : 0);
    n = syscall(SYS_epoll_pwait2, epoll_fd, ready, MAX_EVENTS, &timeout, NULL, 0);
    if (n < 0 && (errno == ENOSYS || errno == EPERM)) /* EPERM comes from a container's filter */
        n = epoll_wait(epoll_fd, ready, MAX_EVENTS, (int)((timeout_us + 999) / 1000));
    return (int)n;
}

int engine_events_turn(struct events *events, uint64_t timeout_us)
{
    struct epoll_event ready[MAX_EVENTS];
    int n = wait_for_events(events->epoll_fd, ready, timeout_us);

    if (n < 0)
        return errno == EINTR ? 0 : -1;
    for (int i = 0; i < n; i++) {
        const struct watch *watch = ready[i].data.ptr;

        if (watch->callback) /* NULL: an earlier callback of this turn removed it */
            watch->callback(watch->context, ready[i].events);
    }
    free_dead(events);
    return n;
}
