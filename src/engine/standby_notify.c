/* A driver's runtime makes system calls that the filter asks about before a client watches it; for
 * example, a C library looks for a name service daemon.  What the plan refuses is refused;
 * everything else continues, in namespaces without a route to the outside. */
#include <errno.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>

#include "base/log.h"
#include "engine/engine_internal.h"
#include "plan/filter.h"

#define NOTIFICATIONS_PER_TURN 8

/* A later kernel may send a longer notification. */
union notification {
    struct seccomp_notif notif;
    char room[512];
};

static void answer(const struct standby *standby, const struct seccomp_notif *notif)
{
    const struct plan *plan = standby->factory->pool->plan;
    struct seccomp_notif_resp resp = { .id = notif->id };
    uint32_t strictest;

    filter_eval_all(plan->filters, plan->n_filters, &notif->data, &strictest);
    if (strictest == SECCOMP_RET_USER_NOTIF)
        resp.flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE;
    else
        resp.error = strictest & SECCOMP_RET_DATA ? -(int)(strictest & SECCOMP_RET_DATA) : -EPERM;
    /* The caller may be dead by now. */
    if (ioctl(standby->box.listener, SECCOMP_IOCTL_NOTIF_SEND, &resp) < 0 && errno != ENOENT)
        log_debug("engine", "an answer was refused: %s", strerror(errno));
}

static void notifications_came(void *context, uint32_t events)
{
    struct standby *standby = context;
    struct pollfd poll_fd = { .fd = standby->box.listener, .events = POLLIN };
    union notification room;

    if (!(events & EPOLLIN)) { /* no process is left that could ask */
        standby_notify_stop(standby);
        return;
    }
    for (int i = 0;
         i < NOTIFICATIONS_PER_TURN && poll(&poll_fd, 1, 0) == 1 && poll_fd.revents & POLLIN; i++) {
        memset(&room, 0, sizeof(room)); /* the kernel demands zeros */
        if (ioctl(standby->box.listener, SECCOMP_IOCTL_NOTIF_RECV, &room.notif) == 0)
            answer(standby, &room.notif);
    }
}

void standby_notify_answer(struct standby *standby)
{
    struct loop *events = &standby->factory->pool->engine->events;

    if (standby->box.listener < 0 || standby->notify.callback)
        return;
    standby->notify = loop_watch_of(standby->box.listener, notifications_came, standby);
    if (loop_add(events, &standby->notify, EPOLLIN) < 0)
        log_info("engine", "a driver's notifications cannot be received: %s", strerror(errno));
}

void standby_notify_stop(struct standby *standby)
{
    loop_remove(&standby->factory->pool->engine->events, &standby->notify);
}
