#include "monitor/seccomp_notify.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/log.h"
#include "plan/filter.h"
#include "wire/control.h"

#ifndef SECCOMP_IOCTL_NOTIF_SET_FLAGS /* Linux 6.6 */
#define SECCOMP_IOCTL_NOTIF_SET_FLAGS SECCOMP_IOW(4, __u64)
#define SECCOMP_USER_NOTIF_FD_SYNC_WAKE_UP (1UL << 0)
#endif

/* Then output, deadlines and cancelling have their turn. */
#define NOTIFY_PER_TURN 32

/* A later kernel may send a longer notification. */
union notif_room {
    struct seccomp_notif notif;
    char room[512];
};

bool seccomp_notify_is_valid(const struct seccomp_notify *n, const struct seccomp_notif *notif)
{
    return ioctl(n->listener, SECCOMP_IOCTL_NOTIF_ID_VALID, &notif->id) == 0;
}

/* What would have allowed the call: a policy that is less strict, or a volume's mode. */
static const char *remedy_for(const struct policy *refuses, const struct seccomp_data *data)
{
    const struct policy *usual = policy_find(NULL);

    if (!strcmp(refuses->name, "nosockets"))
        return "bring the volume in as cow, or as rw+sockets (ro+sockets) where sockets that lie "
               "in it may "
               "be used";
    if (!strcmp(refuses->name, "nomemory"))
        return "leave --allow-command out";
    if (strcmp(refuses->name, "strict") != 0 && !refuses->is_own)
        return "";
    return filter_eval(&usual->filter, data) >= SECCOMP_RET_USER_NOTIF ? "--policy default" : "";
}

static void note_call(struct seccomp_notify *n, const struct policy *refuses,
                      const struct seccomp_data *data)
{
    const struct policy_rule *rule = refuses ? policy_rule_find(refuses, data->nr) : NULL;
    char text[120], where[160];

    if (!rule)
        return;
    notify_text(rule->call, data, text, sizeof(text));
    snprintf(where, sizeof(where), "%s: %s", rule->file, rule->about);
    denials_note(n->denials, DENIAL_SYSCALL, where, remedy_for(refuses, data), "%s", text);
}

/* A C library looks for a name service daemon with a socket of exactly this type, in many programs
 * that never notice. */
static bool is_probe(const struct policy *refuses, const struct seccomp_data *data)
{
    return refuses && !strcmp(refuses->name, "nosockets") && data->nr == SYS_socket &&
           (uint32_t)data->args[1] == (SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK);
}

static void note_refusal(struct seccomp_notify *n, const struct policy *refuses,
                         const struct seccomp_notif *notif)
{
    if ((pid_t)notif->pid == n->init)
        return;
    if (is_probe(refuses, &notif->data)) {
        n->probe = notif->data;
        n->probe_by = refuses;
        return;
    }
    note_call(n, refuses, &notif->data);
}

static void choose_list(struct seccomp_notify *n, pid_t task)
{
    if (n->list_of)
        n->denials = n->list_of(n->context, task);
}

void seccomp_notify_forget(struct seccomp_notify *n)
{
    n->probe_by = NULL;
    n->unserved_port = 0;
}

void seccomp_notify_blame(struct seccomp_notify *n)
{
    choose_list(n, 0);
    if (n->probe_by)
        note_call(n, n->probe_by, &n->probe);
    notify_unserved(n);
}

/* NOTICE of socket() is about the number of sockets, of any other call about the destination. */
static bool is_counted(const struct seccomp_data *data, uint32_t answer)
{
    return answer == POLICY_COUNT || (answer == SECCOMP_RET_USER_NOTIF && data->nr == SYS_socket);
}

static struct notify_answer answer_to(struct seccomp_notify *n, const struct seccomp_notif *notif)
{
    const struct plan *plan = n->plan;
    uint32_t answer;
    size_t decides = filter_eval_all(plan->filters, plan->n_filters, &notif->data, &answer);

    if (is_counted(&notif->data, answer)) {
        struct notify_answer counted = notify_count(n, notif);

        if (counted.error)
            note_call(n, policy_of(&plan->filters[decides]), &notif->data);
        return counted;
    }
    if (answer == SECCOMP_RET_USER_NOTIF)
        return notify_network(n, notif);
    note_refusal(n, policy_of(&plan->filters[decides]), notif);
    if ((answer & SECCOMP_RET_ACTION_FULL) == SECCOMP_RET_ERRNO && answer & SECCOMP_RET_DATA)
        return (struct notify_answer){ .error = (int)(answer & SECCOMP_RET_DATA) };
    return (struct notify_answer){ .error = EPERM };
}

static void give_answer(const struct seccomp_notify *n, uint64_t id, struct notify_answer answer)
{
    struct seccomp_notif_resp resp = { .id = id,
                                       .val = answer.error || answer.go_on ? 0 : answer.val,
                                       .error = answer.go_on ? 0 : -answer.error,
                                       .flags =
                                           answer.go_on ? SECCOMP_USER_NOTIF_FLAG_CONTINUE : 0 };

    /* The caller may be dead by now. */
    if (ioctl(n->listener, SECCOMP_IOCTL_NOTIF_SEND, &resp) < 0 && errno != ENOENT)
        log_debug("seccomp", "an answer was refused: %s", strerror(errno));
}

static void stop_listening(struct seccomp_notify *n)
{
    loop_set_timer(n->loop, n->timer, 0, NULL, NULL);
    loop_remove(n->loop, &n->listener_watch);
    scope_close_fd(&n->listener);
    n->listener = -1;
}

/* RECV blocks without a question, so poll first.  A caller killed in between does not make it
 * block: the kernel counts all questions, also those of the dead. */
static bool is_asked(int listener)
{
    struct pollfd poll_fd = { .fd = listener, .events = POLLIN };

    return poll(&poll_fd, 1, 0) == 1 && poll_fd.revents & POLLIN;
}

static void rest_over(void *context, uint32_t events)
{
    struct seccomp_notify *n = context;

    (void)events;
    if (n->listener >= 0)
        (void)loop_change(n->loop, &n->listener_watch, EPOLLIN);
}

/* Without EPOLLIN, the loop still reports that no process is left. */
static void rest(struct seccomp_notify *n, uint64_t us)
{
    if (us == 0 || loop_change(n->loop, &n->listener_watch, 0) < 0)
        return;
    loop_set_timer(n->loop, n->timer, clock_now_us() + us, rest_over, n);
}

static void notifications_came(void *context, uint32_t events)
{
    struct seccomp_notify *n = context;
    uint64_t began_us = n->answered < NOTIFY_FREE ? 0 : clock_read_us(CLOCK_THREAD_CPUTIME_ID);
    union notif_room room;

    if (!(events & EPOLLIN)) { /* no process is left that could ask */
        stop_listening(n);
        return;
    }
    for (int i = 0; i < NOTIFY_PER_TURN && is_asked(n->listener); i++) {
        memset(&room, 0, sizeof(room)); /* the kernel demands zeros */
        if (ioctl(n->listener, SECCOMP_IOCTL_NOTIF_RECV, &room.notif) == 0) {
            choose_list(n, (pid_t)room.notif.pid);
            give_answer(n, room.notif.id, answer_to(n, &room.notif));
        }
        n->answered++;
    }
    if (began_us)
        rest(n, pace_spend(&n->pace, clock_read_us(CLOCK_THREAD_CPUTIME_ID) - began_us,
                           clock_now_us()));
}

static void listen_to(struct seccomp_notify *n, int listener)
{
    n->listener = listener;
    /* The caller waits: waking us on the same CPU is faster.  Optional. */
    (void)ioctl(n->listener, SECCOMP_IOCTL_NOTIF_SET_FLAGS, SECCOMP_USER_NOTIF_FD_SYNC_WAKE_UP);
    n->listener_watch = loop_watch_of(n->listener, notifications_came, n);
    if (loop_add(n->loop, &n->listener_watch, EPOLLIN) < 0) {
        log_info("seccomp", "refusals cannot be listened to: %s", strerror(errno));
        scope_close_fd(&n->listener); /* refused calls then fail with ENOSYS */
        n->listener = -1;
    }
}

static void news_came(void *context, uint32_t events)
{
    struct seccomp_notify *n = context;
    struct init_news news;
    int fds[FD_MAX_PASSED];
    size_t n_fds;
    ssize_t len = fd_receive(n->control, &news, sizeof(news), fds, &n_fds);

    (void)events;
    if (len == (ssize_t)sizeof(news) && news.kind == NEWS_TERMINAL && n_fds == 1 &&
        n->terminal_came) {
        n->terminal_came(n->context, fds[0]);
        return; /* the listener is still to come */
    }
    loop_remove(n->loop, &n->control_watch); /* nothing else comes, but the end of init */
    if (len == (ssize_t)sizeof(news) && news.kind == NEWS_LISTENER && n_fds == 1)
        listen_to(n, fds[--n_fds]);
    while (n_fds > 0)
        close(fds[--n_fds]);
}

int seccomp_notify_start(struct seccomp_notify *n, struct sandbox *box, sbr_error *err)
{
    n->listener = n->control = -1;
    n->pace = (struct pace){ .share = NOTIFY_SHARE, .burst_us = NOTIFY_BURST_US };
    if (!n->plan->report && !n->plan->tty.rows)
        return 0;
    if (box->listener >= 0) {
        listen_to(n, take_fd(box->listener));
        return 0;
    }
    n->control_watch = loop_watch_of(box->control, news_came, n);
    if (loop_add(n->loop, &n->control_watch, EPOLLIN) < 0)
        return err_set_errno(err, "monitor", "cannot watch the sandbox");
    n->control = box->control;
    return 0;
}

void seccomp_notify_finish(struct seccomp_notify *n)
{
    if (!n->loop)
        return;
    if (n->lookups_seen && !n->names_seen)
        notify_unnamed(n);
    n->lookups_seen = 0;
    loop_remove(n->loop, &n->control_watch);
    n->control = -1;
    if (n->listener >= 0)
        stop_listening(n);
}
