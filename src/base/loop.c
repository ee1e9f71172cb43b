#include "base/loop.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "base/clock.h"

#ifndef SYS_epoll_pwait2
#define SYS_epoll_pwait2 441
#endif

#define LONGEST_US 3600000000ULL /* so that milliseconds fit an int; callers wait again */

/* Arms the one timer fd for the earliest deadline. */
static void rearm(struct loop *loop)
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
    spec.it_value = clock_from_ns((int64_t)earliest * 1000);
    timerfd_settime(loop->timer.fd, TFD_TIMER_ABSTIME, &spec, NULL);
}

static void timers_due(void *context, uint32_t events)
{
    struct loop *loop = context;
    uint64_t expirations, now = clock_now_us();
    ssize_t ignored = read(loop->timer.fd, &expirations, sizeof(expirations));

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
    rearm(loop);
}

int loop_init(struct loop *loop, const char *stage, sbr_error *err)
{
    *loop = (struct loop){ .epoll_fd = epoll_create1(EPOLL_CLOEXEC), .timer.fd = -1 };
    return loop->epoll_fd < 0 ? err_set_errno(err, stage, "cannot make an event loop") : 0;
}

int loop_init_timers(struct loop *loop, const char *stage, sbr_error *err)
{
    if (loop_init(loop, stage, err) < 0)
        return err->code;
    loop->timer = loop_watch_of(timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK),
                                timers_due, loop);
    if (loop->timer.fd >= 0 && loop_add(loop, &loop->timer, EPOLLIN) == 0)
        return 0;
    err_set_errno(err, stage, "cannot make an event loop");
    loop_done(loop);
    return err->code;
}

static void free_garbage(struct loop *loop)
{
    while (loop->garbage) {
        struct loop_garbage *next = loop->garbage->next;

        free(loop->garbage);
        loop->garbage = next;
    }
}

void loop_done(struct loop *loop)
{
    free_garbage(loop);
    scope_close_fd(&loop->epoll_fd);
    scope_close_fd(&loop->timer.fd);
    loop->epoll_fd = loop->timer.fd = -1;
}

int loop_fd(const struct loop *loop)
{
    return loop->epoll_fd;
}

static int control(const struct loop *loop, int operation, struct loop_watch *watch)
{
    struct epoll_event event = { .events = watch->events, .data.ptr = watch };

    return epoll_ctl(loop->epoll_fd, operation, watch->fd, &event);
}

/* What the kernel reported for `from` already is for `to`, or for none. */
static void redirect(struct loop *loop, const struct loop_watch *from, struct loop_watch *to)
{
    for (int i = loop->at; i < loop->n; i++)
        if (loop->batch[i].data.ptr == from)
            loop->batch[i].data.ptr = to;
}

int loop_add(struct loop *loop, struct loop_watch *watch, uint32_t events)
{
    watch->events = events;
    watch->on = control(loop, EPOLL_CTL_ADD, watch) == 0;
    return watch->on ? 0 : -1;
}

int loop_change(const struct loop *loop, struct loop_watch *watch, uint32_t events)
{
    watch->events = events;
    return control(loop, EPOLL_CTL_MOD, watch);
}

void loop_remove(struct loop *loop, struct loop_watch *watch)
{
    if (!watch->on)
        return;
    control(loop, EPOLL_CTL_DEL, watch);
    watch->on = false;
    redirect(loop, watch, NULL);
}

void loop_close(struct loop *loop, struct loop_watch *watch)
{
    loop_remove(loop, watch);
    scope_close_fd(&watch->fd);
    watch->fd = -1;
}

void loop_move(struct loop *loop, struct loop_watch *from, struct loop_watch *to)
{
    to->fd = from->fd;
    to->on = from->on;
    (void)loop_change(loop, to, from->events);
    redirect(loop, from, to);
    from->fd = -1;
    from->on = false;
}

void loop_set_timer(struct loop *loop, unsigned int slot, uint64_t at_us, loop_callback *callback,
                    void *context)
{
    loop->timers[slot] =
        (struct loop_timer){ .at_us = at_us, .callback = callback, .context = context };
    rearm(loop);
}

void loop_free_later(struct loop *loop, struct loop_garbage *garbage)
{
    garbage->next = loop->garbage;
    loop->garbage = garbage;
}

/* To the microsecond where the kernel can (Linux 5.11) and it matters. */
static int wait_for_events(struct loop *loop, uint64_t timeout_us)
{
    struct timespec timeout;
    int ms;
    long n;

    if (timeout_us == LOOP_FOREVER)
        return epoll_wait(loop->epoll_fd, loop->batch, LOOP_BATCH, -1);
    timeout_us = timeout_us < LONGEST_US ? timeout_us : LONGEST_US;
    ms = (int)((timeout_us + 999) / 1000);
    if (timeout_us % 1000 == 0)
        return epoll_wait(loop->epoll_fd, loop->batch, LOOP_BATCH, ms);
    timeout = clock_from_ns((int64_t)timeout_us * 1000);
    n = syscall(SYS_epoll_pwait2, loop->epoll_fd, loop->batch, LOOP_BATCH, &timeout, NULL, 0);
    if (n < 0 && (errno == ENOSYS || errno == EPERM)) /* the latter of a container's filter */
        n = epoll_wait(loop->epoll_fd, loop->batch, LOOP_BATCH, ms);
    return (int)n;
}

#ifdef SBR_TEST_HOOKS
/* SANDBOX_RUN_TEST_STEP=NAME:N:SIGNAL signals the process whose name begins so before its N-th
 * step. */
void loop_step(void)
{
    static long left = -1, number;
    const char *wanted = getenv("SANDBOX_RUN_TEST_STEP"), *colon;
    char name[16] = "", *end;

    if (left == 0 || !wanted)
        return;
    if (left < 0) {
        colon = strchr(wanted, ':');
        (void)prctl(PR_GET_NAME, name, 0, 0, 0);
        left = colon && !strncmp(name, wanted, (size_t)(colon - wanted))
                   ? strtol(colon + 1, &end, 10)
                   : 0;
        number = left ? strtol(end + 1, NULL, 10) : 0;
    }
    if (left > 0 && --left == 0)
        (void)kill(getpid(), (int)number);
}
#endif

int loop_turn(struct loop *loop, uint64_t timeout_us)
{
    int n = wait_for_events(loop, timeout_us);

    if (n < 0)
        return errno == EINTR ? 0 : -1;
    loop->n = n;
    for (loop->at = 0; loop->at < loop->n;) {
        const struct epoll_event *event = &loop->batch[loop->at++];
        const struct loop_watch *watch = event->data.ptr;

        loop_step();
        if (watch) /* or an earlier callback of this turn took it away */
            watch->callback(watch->context, event->events);
    }
    loop->n = loop->at = 0;
    free_garbage(loop);
    return n;
}
