#include "base/loop.h"

#include <errno.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/scope.h"

/* Arms the one timer descriptor for the earliest deadline. */
static void loop_rearm(struct loop *loop)
{
    struct itimerspec spec = { 0 };
    uint64_t earliest = 0;

    for (unsigned int i = 0; i < LOOP_MAX_TIMERS; i++) {
        uint64_t at = loop->timers[i].at_us;

        if (at && (!earliest || at < earliest))
            earliest = at;
    }
    if (earliest == loop->armed_us)
        return;
    loop->armed_us = earliest;
    spec.it_value.tv_sec = (time_t)(earliest / 1000000);
    spec.it_value.tv_nsec = (long)(earliest % 1000000) * 1000;
    timerfd_settime(loop->timer_fd, TFD_TIMER_ABSTIME, &spec, NULL);
}

static void loop_timers_due(void *context, uint32_t events)
{
    struct loop *loop = context;
    uint64_t expirations, now = clock_now_us();
    ssize_t ignored = read(loop->timer_fd, &expirations, sizeof(expirations));

    (void)ignored;
    (void)events;
    loop->armed_us = 0;
    for (unsigned int i = 0; i < LOOP_MAX_TIMERS; i++) {
        struct loop_timer *timer = &loop->timers[i];

        if (!timer->at_us || timer->at_us > now)
            continue;
        timer->at_us = 0;
        timer->callback(timer->context, 0);
    }
    loop_rearm(loop);
}

int loop_init(struct loop *loop, sbr_error *err)
{
    *loop = (struct loop){ .epoll_fd = -1, .timer_fd = -1 };
    for (unsigned int i = 0; i < LOOP_MAX_WATCHES; i++)
        loop->watches[i].fd = -1;
    loop->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    loop->timer_fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
    if (loop->epoll_fd < 0 || loop->timer_fd < 0 ||
        loop_add(loop, loop->timer_fd, EPOLLIN, loop_timers_due, loop) < 0) {
        err_set_errno(err, "monitor", "cannot make an event loop");
        loop_done(loop);
        return SBR_E_SYSTEM;
    }
    return 0;
}

void loop_done(struct loop *loop)
{
    scope_close_fd(&loop->epoll_fd);
    scope_close_fd(&loop->timer_fd);
    loop->epoll_fd = loop->timer_fd = -1;
}

int loop_fd(const struct loop *loop)
{
    return loop->epoll_fd;
}

static struct loop_watch *loop_find(struct loop *loop, int fd)
{
    for (unsigned int i = 0; i < LOOP_MAX_WATCHES; i++)
        if (loop->watches[i].fd == fd)
            return &loop->watches[i];
    return NULL;
}

/* Slot and generation, as epoll carries them. */
static uint64_t watch_tag(const struct loop *loop, const struct loop_watch *watch)
{
    return (uint64_t)watch->generation << 32 | (uint64_t)(watch - loop->watches);
}

int loop_add(struct loop *loop, int fd, uint32_t events, loop_callback *callback, void *context)
{
    struct loop_watch *watch = loop_find(loop, -1);
    struct epoll_event event = { .events = events };

    if (!watch) {
        errno = ENOSPC;
        return -1;
    }
    watch->generation++;
    event.data.u64 = watch_tag(loop, watch);
    if (epoll_ctl(loop->epoll_fd, EPOLL_CTL_ADD, fd, &event) < 0)
        return -1;
    watch->fd = fd;
    watch->callback = callback;
    watch->context = context;
    return 0;
}

int loop_change(struct loop *loop, int fd, uint32_t events)
{
    struct loop_watch *watch = loop_find(loop, fd);
    struct epoll_event event = { .events = events };

    if (!watch) {
        errno = ENOENT;
        return -1;
    }
    event.data.u64 = watch_tag(loop, watch);
    return epoll_ctl(loop->epoll_fd, EPOLL_CTL_MOD, fd, &event);
}

void loop_remove(struct loop *loop, int fd)
{
    struct loop_watch *watch = fd >= 0 ? loop_find(loop, fd) : NULL;

    if (!watch)
        return;
    epoll_ctl(loop->epoll_fd, EPOLL_CTL_DEL, fd, NULL);
    watch->fd = -1;
}

void loop_set_timer(struct loop *loop, unsigned int slot, uint64_t at_us, loop_callback *callback,
                    void *context)
{
    loop->timers[slot] =
        (struct loop_timer){ .at_us = at_us, .callback = callback, .context = context };
    loop_rearm(loop);
}

int loop_turn(struct loop *loop, int wait)
{
    struct epoll_event events[LOOP_MAX_WATCHES];
    int n = epoll_wait(loop->epoll_fd, events, LOOP_MAX_WATCHES, wait ? -1 : 0);

    if (n < 0)
        return errno == EINTR ? 0 : -1;
    for (int i = 0; i < n; i++) {
        struct loop_watch *watch = &loop->watches[(uint32_t)events[i].data.u64];

        /* An earlier callback of this turn may have taken the watch away, or its slot. */
        if (watch->fd >= 0 && watch_tag(loop, watch) == events[i].data.u64)
            watch->callback(watch->context, events[i].events);
    }
    return 0;
}
