/* A driver's runtime makes system calls that the filter asks about before anybody watches it: a C library looks for a
 * daemon of names, for one.  What the plan refuses is refused; everything else goes on, in namespaces without a way out. */
#include <errno.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>

#include "base/log.h"
#include "engine/engine_internal.h"
#include "plan/filter_eval.h"

#define QUESTIONS_PER_TURN 8

/* A later kernel may have more to say. */
union question {
    struct seccomp_notif notif;
    char room[512];
};

static void answer(const struct cell *cell, const struct seccomp_notif *notif)
{
    const struct plan *plan = cell->house->kind->plan;
    struct seccomp_notif_resp resp = { .id = notif->id };
    uint32_t strictest;

    filter_eval_all(plan->filters, plan->n_filters, &notif->data, &strictest);
    if (strictest == SECCOMP_RET_USER_NOTIF)
        resp.flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE;
    else
        resp.error = strictest & SECCOMP_RET_DATA ? -(int)(strictest & SECCOMP_RET_DATA) : -EPERM;
    /* Who asked may be dead by now. */
    if (ioctl(cell->box.listener, SECCOMP_IOCTL_NOTIF_SEND, &resp) < 0 && errno != ENOENT)
        log_debug("engine", "an answer was refused: %s", strerror(errno));
}

static void questions_came(void *context, uint32_t events)
{
    struct cell *cell = context;
    struct pollfd poll_fd = { .fd = cell->box.listener, .events = POLLIN };
    union question room;

    if (!(events & EPOLLIN)) { /* nobody is left who could ask */
        cell_stop_answering(cell);
        return;
    }
    for (int i = 0; i < QUESTIONS_PER_TURN && poll(&poll_fd, 1, 0) == 1 && poll_fd.revents & POLLIN;
         i++) {
        memset(&room, 0, sizeof(room)); /* the kernel insists */
        if (ioctl(cell->box.listener, SECCOMP_IOCTL_NOTIF_RECV, &room.notif) == 0)
            answer(cell, &room.notif);
    }
}

void cell_answer(struct cell *cell)
{
    struct events *events = &cell->house->kind->engine->events;

    if (cell->box.listener < 0 || cell->questions.callback)
        return;
    cell->questions = (struct watch){ cell->box.listener, questions_came, cell };
    if (events_add(events, &cell->questions, EPOLLIN) < 0)
        log_info("engine", "a driver's questions cannot be heard: %s", strerror(errno));
}

void cell_stop_answering(struct cell *cell)
{
    events_remove(&cell->house->kind->engine->events, &cell->questions);
}
