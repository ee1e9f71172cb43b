#include "sandbox/factory.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/log.h"
#include "sandbox/channels.h"
#include "sandbox/mount_below.h"
#include "wire/zygote.h"

#ifndef MFD_EXEC
#define MFD_EXEC 0x0010U
#endif

/* The library of the zygote, embedded by the build; see src/worker. */
extern const unsigned char worker_image_start[], worker_image_end[];
static const struct {
    const unsigned char *start, *end;
} worker_image = { worker_image_start, worker_image_end };

/* All factories of a process share one user: on cgroup v2 that user owns the right to fork into a
 * cgroup, and the parent of all leaves has a single owner.  Held as long as the process lives. */
static int take_user(struct ids *ret, const struct features *features, sbr_error *err)
{
    static struct ids user;
    static bool taken;

    if (!taken && ids_take(&user, features, err) < 0)
        return err->code;
    taken = true;
    *ret = user;
    return 0;
}

/* A factory has /dev/null at the numbers of a run's streams. */
static int open_nothing(struct far_channels *far, sbr_error *err)
{
    for (int i = INIT_STDIN; i <= INIT_STDERR; i++) {
        far->fds[i] = open("/dev/null", O_RDWR | O_CLOEXEC);
        if (far->fds[i] < 0)
            return err_set_errno(err, "factory", "cannot open /dev/null");
    }
    return 0;
}

static int prepare_zygote(struct factory *factory, struct far_channels *far, sbr_error *err)
{
    size_t len = (size_t)(worker_image.end - worker_image.start);
    int pair[2];

    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
        return err_set_errno(err, "zygote", "cannot make a socket pair");
    factory->zygote = pair[0];
    far->fds[FACTORY_ZYGOTE] = pair[1];
    /* A zygote that hangs must not stop the engine: orders that it does not read fail. */
    if (fcntl(factory->zygote, F_SETFL, O_NONBLOCK) < 0)
        return err_set_errno(err, "zygote", "cannot prepare its socket");
    far->fds[FACTORY_LIBRARY] = fd_sealed_memory("worker", worker_image.start, len, MFD_EXEC);
    if (far->fds[FACTORY_LIBRARY] < 0 && errno == EINVAL) /* before Linux 6.3 */
        far->fds[FACTORY_LIBRARY] = fd_sealed_memory("worker", worker_image.start, len, 0);
    if (far->fds[FACTORY_LIBRARY] < 0)
        return err_set_errno(err, "zygote", "cannot store the library");
    return 0;
}

static int spawn_factory(struct factory *factory, const struct far_channels *far, sbr_error *err)
{
    struct spawn *spawn = factory->spawn = calloc(1, sizeof(*factory->spawn));

    if (!spawn)
        return err_set_oom(err, "factory");
    spawn->namespaces = factory->plan->namespaces & ~(uint64_t)(CLONE_NEWCGROUP | CLONE_NEWNET);
    spawn->helper = HELPER_INIT;
    spawn->cgroup_fd = -1;
    spawn->keep_capabilities = spawn->factory = true;
    spawn->n_fds = N_INIT_FDS;
    for (int i = 0; i < N_INIT_FDS; i++) /* every number must be an open fd */
        spawn->fds[i] = far->fds[i] >= 0 ? far->fds[i] : far->fds[INIT_REPORT];
    if (spawn_start(spawn, &factory->process, err) < 0)
        return err->code;
    return ids_map_factory(&factory->ids, &factory->process, err);
}

static int order_mapped(struct factory *factory, sbr_error *err)
{
    struct init_message message = { .order = ORDER_MAPPED,
                                    .uid = factory->ids.host_uid,
                                    .gid = factory->ids.host_gid };
    int trees[FD_MAX_PASSED], r = 0;
    size_t n = 0;

    if (!plan_is_of_image(factory->plan))
        r = mount_pass(factory->plan, &factory->ids, trees, &n, err);
    if (r == 0 && fd_send(factory->control, &message, sizeof(message), trees, n) < 0)
        r = err_set_errno(err, "factory", "the factory ended at once");
    while (n > 0)
        close(trees[--n]);
    return r;
}

static int bring_up(struct factory *factory, struct far_channels *far, sbr_error *err)
{
    if (open_nothing(far, err) < 0 || channels_make_control(&factory->control, far, err) < 0 ||
        channels_store_plan(factory->plan, far, err) < 0 ||
        channels_share_report(&factory->report, far, err) < 0)
        return err->code;
    if (factory->plan->standby == STANDBY_ZYGOTE && prepare_zygote(factory, far, err) < 0)
        return err->code;
    if (spawn_factory(factory, far, err) < 0)
        return err->code;
    return order_mapped(factory, err);
}

int factory_start(struct factory *factory, const struct plan *plan, const struct features *features,
                  sbr_error *err)
{
    struct far_channels far = FAR_CHANNELS_NONE;
    int r;

    *factory = (struct factory){
        .control = -1, .zygote = -1, .plan = plan, .features = *features, .process.pidfd = -1
    };
    if (!plan->standby || !(plan->namespaces & CLONE_NEWUSER) || plan->run_dir)
        return err_set(err, SBR_E_BUG, "factory", "the plan is not a blueprint");
    r = take_user(&factory->ids, features, err);
    if (r == 0)
        r = bring_up(factory, &far, err);
    channels_close_far(&far);
    if (r < 0)
        factory_end(factory);
    return r;
}

/* v2: the factory forks into cgroups that it may not write to, unless it owns them. */
static void let_fork(const struct factory *factory, const struct cgroup *cg)
{
    const int dirs[] = { cg->leaf_fd[0], cg->parent_fd[0] };

    if (geteuid() != 0 || cg->kind != CGROUP_V2)
        return;
    for (size_t i = 0; i < ARRAY_LEN(dirs); i++)
        if (fchownat(dirs[i], "cgroup.procs", factory->ids.host_uid, (gid_t)-1, 0) < 0)
            log_debug("factory", "a group cannot be given to it: %s", strerror(errno));
}

/* The slot keeps its cgroups: a sandbox made ahead gets copies of their fds, to read and limit. */
static int lend_groups(struct cgroup *to, const struct cgroup *from, sbr_error *err)
{
    *to = *from;
    to->oom_fd = from->oom_fd >= 0 ? fcntl(from->oom_fd, F_DUPFD_CLOEXEC, 3) : -1;
    for (unsigned int i = 0; i < N_CG; i++) {
        to->parent_fd[i] = -1;
        to->leaf_fd[i] = -1;
    }
    for (unsigned int i = 0; i < N_CG; i++)
        if (from->leaf_fd[i] >= 0 &&
            (to->leaf_fd[i] = fcntl(from->leaf_fd[i], F_DUPFD_CLOEXEC, 3)) < 0)
            return err_set_errno(err, "cgroup", "cannot copy a descriptor");
    return 0;
}

/* A sandbox of an image builds its own root, so its trees come with the order.  How many, or
 * negative. */
static int clone_trees(const struct factory *factory, const struct sandbox *box, int *fds,
                       size_t room, sbr_error *err)
{
    int trees[FD_MAX_PASSED], r = 0;
    size_t n = 0;

    if (plan_is_of_image(factory->plan))
        r = mount_pass(factory->plan, &box->ids, trees, &n, err);
    if (r == 0 && n > room)
        r = err_set(err, SBR_E_UNSUPPORTED, "factory", "the image has too many trees");
    for (size_t i = 0; i < n; i++)
        if (r == 0)
            fds[i] = trees[i];
        else
            close(trees[i]);
    return r < 0 ? r : (int)n;
}

static int send_make(struct factory *factory, const struct slot *slot, const struct sandbox *box,
                     const struct far_channels *far, sbr_error *err)
{
    struct fork_order order = { .order = ORDER_MAKE,
                                .uid = box->ids.host_uid,
                                .gid = box->ids.host_gid };
    int fds[FD_MAX_PASSED], r = 0;
    size_t n = 0, first_own;

    for (unsigned int i = 0; i < N_INIT_FDS; i++)
        if (far->fds[i] >= 0) {
            order.given |= 1u << i;
            fds[n++] = far->fds[i];
        }
    first_own = n;
    r = clone_trees(factory, box, fds + n, FD_MAX_PASSED - n - N_CG - 1, err);
    if (r < 0)
        return r;
    order.n_trees = (uint32_t)r;
    n += order.n_trees;
    r = cgroup_open_tasks(&slot->cgroup, fds + n, err);
    if (r >= 0) {
        order.n_tasks = (uint32_t)r;
        n += order.n_tasks;
        order.group = slot->cgroup.kind == CGROUP_V2 && slot->cgroup.controllers;
        fds[n] = slot->cgroup.leaf_fd[0];
        r = fd_send(factory->control, &order, sizeof(order), fds, n + order.group);
        if (r < 0)
            r = err_set_errno(err, "factory", "cannot order a sandbox");
    }
    while (n > first_own)
        close(fds[--n]);
    return r;
}

/* A worker of the zygote gets the same ends as its init. */
static void keep_far_channels(struct sandbox *box, struct far_channels *far)
{
    for (int i = 0; i <= INIT_CONTROL; i++)
        box->far[i] = take_fd(far->fds[i]);
}

static int order_sandbox(struct factory *factory, struct slot *slot, struct sandbox *box,
                         struct far_channels *far, sbr_error *err)
{
    struct limits usual;

    limits_init(&usual);
    if (channels_make_streams(box, factory->plan, far, err) < 0 ||
        channels_share_report(&box->report, far, err) < 0 ||
        cgroup_limit(&slot->cgroup, &usual, SANDBOX_USUAL_LIMITS, err) < 0 ||
        lend_groups(&box->cgroup, &slot->cgroup, err) < 0)
        return err->code;
    box->report_fd = fcntl(far->fds[INIT_REPORT], F_DUPFD_CLOEXEC, 3);
    if (box->report_fd < 0)
        return err_set_errno(err, "factory", "cannot copy a descriptor");
    let_fork(factory, &slot->cgroup);
    if (send_make(factory, slot, box, far, err) < 0)
        return err->code;
    factory->making[factory->n_making++] = box;
    if (factory->plan->standby == STANDBY_ZYGOTE)
        keep_far_channels(box, far);
    return 0;
}

int factory_make(struct factory *factory, struct slot *slot, struct sandbox *box, sbr_error *err)
{
    struct far_channels far = FAR_CHANNELS_NONE;
    int r;

    sandbox_reset(box);
    if (!factory->ready || factory->n_making == FACTORY_MAX_MAKING)
        return err_set(err, SBR_E_BUSY, "factory", "the factory cannot make another one now");
    box->standby = true;
    r = ids_take(&box->ids, &factory->features, err);
    if (r == 0)
        r = order_sandbox(factory, slot, box, &far, err);
    channels_close_far(&far);
    if (r < 0) {
        sandbox_end(box);
        sandbox_done(box);
    }
    return r;
}

static int factory_failure(const struct factory *factory, sbr_error *err)
{
    if (factory->report && factory->report->state == REPORT_FAILED) {
        page_error_read(&factory->report->error, err);
        return err->code;
    }
    return err_set(err, SBR_E_SYSTEM, "factory", "the factory ended");
}

static struct sandbox *oldest(struct factory *factory)
{
    struct sandbox *box = factory->making[0];

    factory->n_making--;
    memmove(factory->making, factory->making + 1, factory->n_making * sizeof(struct sandbox *));
    return box;
}

int factory_hear(struct factory *factory, struct sandbox **ret, sbr_error *err)
{
    struct init_news news = { 0 };
    int fds[FD_MAX_PASSED];
    size_t n_fds = 0;
    ssize_t n = fd_receive(factory->control, &news, sizeof(news), fds, &n_fds);
    struct sandbox *box;

    if (n < 0 && (errno == EINTR || errno == EAGAIN))
        return FACTORY_NOTHING;
    if (n != (ssize_t)sizeof(news))
        return factory_failure(factory, err);
    if (news.kind == NEWS_READY)
        factory->ready = true;
    if (news.kind != NEWS_MADE || factory->n_making == 0) {
        while (n_fds > 0)
            close(fds[--n_fds]);
        return FACTORY_NOTHING;
    }
    box = oldest(factory);
    box->init.pidfd = n_fds > 0 ? fds[0] : -1;
    box->init.pid = n_fds > 0 ? fd_pid_of(fds[0]) : -1;
    *ret = box;
    return FACTORY_FORKED;
}

/* The shell is ready: sends a zygote worker into it, and gives init the socket of that worker. */
static int join_worker(const struct factory *factory, struct sandbox *box, sbr_error *err)
{
    struct zygote_order order = { 0 };
    struct init_message adopt = { .order = ORDER_ADOPT };
    int fds[ZYGOTE_ORDER_FDS + N_CG] = { box->init.pidfd, box->far[INIT_STDIN],
                                         box->far[INIT_STDOUT], box->far[INIT_STDERR],
                                         box->far[INIT_CONTROL] };
    int pair[2], r = cgroup_open_tasks(&box->cgroup, fds + ZYGOTE_ORDER_FDS, err);
    size_t n = ZYGOTE_ORDER_FDS;

    if (r < 0)
        return r;
    order.n_tasks = (uint32_t)r;
    n += (size_t)r;
    order.group = box->cgroup.kind == CGROUP_V2 && box->cgroup.controllers;
    if (order.group)
        fds[n++] = box->cgroup.leaf_fd[0];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) == 0) {
        fds[ZYGOTE_ORDER_GO] = pair[1];
        r = fd_send(factory->zygote, &order, sizeof(order), fds, n);
        if (r == 0)
            r = fd_send(box->control, &adopt, sizeof(adopt), &pair[0], 1);
        close(pair[0]);
        close(pair[1]);
    } else {
        r = -1;
    }
    for (uint32_t i = 0; i < order.n_tasks; i++)
        close(fds[ZYGOTE_ORDER_FDS + i]);
    for (int i = 0; i <= INIT_CONTROL; i++) {
        scope_close_fd(&box->far[i]);
        box->far[i] = -1;
    }
    return r < 0 ? err_set_errno(err, "zygote", "cannot order a worker") : 0;
}

int factory_box_news(struct factory *factory, struct sandbox *box, sbr_error *err)
{
    struct init_news news = { 0 };
    int fds[FD_MAX_PASSED];
    size_t n_fds = 0;
    ssize_t n = fd_receive(box->control, &news, sizeof(news), fds, &n_fds);

    if (n < 0 && (errno == EINTR || errno == EAGAIN))
        return FACTORY_NOTHING;
    if (n == (ssize_t)sizeof(news) && news.kind == NEWS_LISTENER && n_fds == 1 && box->listener < 0)
        box->listener = fds[--n_fds];
    while (n_fds > 0)
        close(fds[--n_fds]);
    if (n != (ssize_t)sizeof(news))
        return sandbox_failure(box, err);
    if (news.kind != NEWS_STANDBY)
        return FACTORY_NOTHING;
    if (box->far[INIT_CONTROL] < 0) {
        /* What was used until now was preparation, not the program. */
        cgroup_forget_peaks(&box->cgroup);
        cgroup_read(&box->cgroup, &box->before);
        return FACTORY_STANDBY;
    }
    return join_worker(factory, box, err) < 0 ? err->code : FACTORY_NOTHING;
}

void factory_end(struct factory *factory)
{
    siginfo_t info;

    if (factory->process.pidfd >= 0) {
        syscall(SYS_pidfd_send_signal, factory->process.pidfd, SIGKILL, NULL, 0);
        waitid(P_PIDFD, (id_t)factory->process.pidfd, &info, WEXITED | __WALL);
    }
    free(factory->spawn);
    if (factory->report)
        munmap(factory->report, REPORT_SIZE);
    scope_close_fd(&factory->process.pidfd);
    scope_close_fd(&factory->control);
    scope_close_fd(&factory->zygote);
    *factory = (struct factory){ .control = -1, .zygote = -1, .process.pidfd = -1 };
}
