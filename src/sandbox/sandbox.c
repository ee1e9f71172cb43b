/* The order of a start:
 *
 *   supervisor                         init                        janitor
 *   v2: janitor, leaf with limits
 *   clone3 ------------------------->  starts, reads its plan
 *   map ids, ORDER_MAPPED ---------->  ids, mounts
 *   with a network: egress; with published ports: publish
 *   v1: janitor, leaves, limits  ----------------------------->   waits for our end
 *   ORDER_ENTER with `tasks` ------->  enters, writes the program,
 *                                      confines itself
 *                                      the program runs
 *
 * On v1 the supervisor makes the leaves while init builds its root on another CPU. */
#include "sandbox/sandbox.h"

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
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/log.h"
#include "confine/run_dir.h"
#include "sandbox/channels.h"
#include "sandbox/mount_below.h"

static bool has_cow(const struct plan *plan)
{
    bool found = false;

    for (size_t i = 0; i < plan->n_ops; i++)
        found |= plan->ops[i].kind == OP_COW;
    return found && !plan_leaves_out(plan, "mounts");
}

/* A container's maker knows nothing of the leaf, so init is moved before its first step. */
static int start_in_container(struct sandbox *box, const struct plan *plan,
                              const struct far_channels *far, sbr_error *err)
{
    int leaf = cgroup_clone_fd(&box->cgroup);
    char pid[16];

    if (box->host->open(box, plan, far, err) < 0)
        return err->code;
    snprintf(pid, sizeof(pid), "%d", (int)box->init.pid);
    if (leaf >= 0 && fd_write_small(leaf, "cgroup.procs", pid) < 0)
        return err_set_errno(err, "cgroup", "cannot move init into its cgroup");
    return 0;
}

static int start_init(struct sandbox *box, const struct plan *plan, const struct far_channels *far,
                      sbr_error *err)
{
    if (box->host)
        return start_in_container(box, plan, far, err);
    box->spawn = calloc(1, sizeof(*box->spawn));
    if (!box->spawn)
        return err_set_oom(err, "spawn");
    /* Init makes these two itself: confine/network_namespace.c and confine/cgroup_enter.c. */
    box->spawn->namespaces = plan->namespaces & ~(uint64_t)(CLONE_NEWCGROUP | CLONE_NEWNET);
    box->spawn->helper = HELPER_INIT;
    box->spawn->cgroup_fd = cgroup_clone_fd(&box->cgroup);
    box->spawn->keep_capabilities = plan->namespaces & CLONE_NEWUSER;
    box->spawn->override_modes = has_cow(plan);
    box->spawn->n_fds = N_INIT_FDS;
    for (int i = 0; i < N_INIT_FDS; i++) /* every number must be an open fd */
        box->spawn->fds[i] = far->fds[i] >= 0 ? far->fds[i] : far->fds[INIT_REPORT];
    if (spawn_start(box->spawn, &box->init, err) < 0)
        return err->code;
    log_debug("spawn", "init is process %d", (int)box->init.pid);
    if (!(plan->namespaces & CLONE_NEWUSER) || ids_map(&box->ids, plan, &box->init, err) == 0)
        return 0;
    /* A dead init has no ids to map. */
    return box->report->state == REPORT_FAILED ? sandbox_failure(box, err) : err->code;
}

static int give_order(const struct sandbox *box, uint32_t order, const int *fds, size_t n_fds)
{
    const struct init_message message = { .order = order,
                                          .uid = box->ids.host_uid,
                                          .gid = box->ids.host_gid };

    return fd_send(box->control, &message, sizeof(message), fds, n_fds);
}

static int order_mapped(struct sandbox *box, const struct plan *plan, sbr_error *err)
{
    int trees[FD_MAX_PASSED];
    size_t n;
    int r = mount_pass(plan, &box->ids, trees, &n, err);

    if (r == 0 && give_order(box, ORDER_MAPPED, trees, n) < 0)
        log_debug("spawn", "init ended before its ids were mapped");
    while (n > 0)
        close(trees[--n]);
    return r;
}

/* Only the inside can find out whether this kernel mounts an overlay over these file systems.  The
 * caller may try another kind as long as nothing was read for the program. */
static int await_mounts(const struct sandbox *box, sbr_error *err)
{
    struct pollfd fds[] = { { .fd = box->control, .events = POLLIN },
                            { .fd = box->init.pidfd, .events = POLLIN } };
    struct init_news news;

    while (poll(fds, ARRAY_LEN(fds), -1) < 0)
        if (errno != EINTR)
            return err_set_errno(err, "mounts", "cannot wait for the new root");
    if (!(fds[0].revents & POLLIN))
        return sandbox_failure(box, err);
    if (read(box->control, &news, sizeof(news)) != (ssize_t)sizeof(news) ||
        news.kind != NEWS_MOUNTED)
        return err_set(err, SBR_E_BUG, "mounts", "init reported another event than was expected");
    return 0;
}

/* Init may be dead already: then its own report has the reason, not our failed write. */
static int order_enter(struct sandbox *box, sbr_error *err)
{
    int tasks[N_CG], n = cgroup_open_tasks(&box->cgroup, tasks, err);

    if (n < 0)
        return n;
    if (give_order(box, ORDER_ENTER, tasks, (size_t)n) < 0)
        log_debug("spawn", "init ended before it was told to enter its group");
    for (int i = 0; i < n; i++)
        close(tasks[i]);
    return 0;
}

static int make_group(struct sandbox *box, const struct plan *plan, sbr_error *err)
{
    struct janitor_reach reach = { &box->init.pidfd, box->run_dir ? &box->control : NULL };

    if (janitor_start(&box->janitor, &box->cgroup, reach, err) < 0)
        return err->code;
    return cgroup_create(&box->cgroup, &plan->limits, err);
}

static int start_helpers(struct sandbox *box, const struct plan *plan,
                         const struct publish_listeners *listeners, sbr_error *err)
{
    if (egress_start(&box->egress, plan, err) < 0)
        return err->code;
    return publish_process_start(&box->publish, plan, listeners, err);
}

static int sandbox_bring_up(struct sandbox *box, const struct plan *plan, struct far_channels *far,
                            const struct publish_listeners *listeners, sbr_error *err)
{
    bool forked_inside = box->cgroup.kind == CGROUP_V2;

    if (channels_make_streams(box, plan, far, err) < 0 || channels_store_plan(plan, far, err) < 0 ||
        channels_share_report(&box->report, far, err) < 0 ||
        egress_prepare(&box->egress, plan, &far->fds[INIT_LINK], err) < 0)
        return err->code;
    if (forked_inside && make_group(box, plan, err) < 0)
        return err->code;
    if (start_init(box, plan, far, err) < 0)
        return err->code;
    if (order_mapped(box, plan, err) < 0 || start_helpers(box, plan, listeners, err) < 0)
        return err->code;
    if (!forked_inside && make_group(box, plan, err) < 0)
        return err->code;
    if (plan_awaits_mounts(plan) && await_mounts(box, err) < 0)
        return err->code;
    return order_enter(box, err);
}

int sandbox_start(struct sandbox *box, const struct plan *plan, const struct sandbox_means *means,
                  sbr_error *err)
{
    return sandbox_start_on(box, plan, means, NULL, NULL, err);
}

int sandbox_start_on(struct sandbox *box, const struct plan *plan,
                     const struct sandbox_means *means, const struct sandbox_host *host,
                     void *container, sbr_error *err)
{
    const struct features *features = means->features;
    struct far_channels far = FAR_CHANNELS_NONE;
    int r;

    sandbox_reset(box);
    box->host = host;
    box->container = container;
    box->run_dir = plan->run_dir;
    box->egress.secrets_link = means->secrets_link;
    r = ids_take(&box->ids, features, err);
    if (r == 0)
        r = egress_take_id(&box->egress, plan, features, err);
    if (r == 0)
        r = publish_process_prepare(&box->publish, plan, features, &far.fds[INIT_PUBLISH], err);
    if (r == 0)
        r = cgroup_open(&box->cgroup, plan, &features->cgroup, err);
    if (r == 0)
        r = sandbox_bring_up(box, plan, &far, means->listeners, err);
    channels_close_far(&far); /* our copies would keep the streams open after the program's end */
    if (r < 0) {
        sandbox_end(box);
        sandbox_done(box);
    }
    return r;
}

/* Kills the whole cgroup where that is possible (v2).  Otherwise init's death ends everything in
 * its pid namespace; without a pid namespace, init must live on and do that itself. */
void sandbox_kill(const struct sandbox *box)
{
    if (cgroup_kill(&box->cgroup) == 0)
        return;
    if (box->run_dir)
        (void)give_order(box, ORDER_KILL, NULL, 0);
    else if (box->init.pidfd >= 0 &&
             syscall(SYS_pidfd_send_signal, box->init.pidfd, SIGKILL, NULL, 0) < 0 &&
             errno == EPERM && box->host)
        box->host->kill(box);
}

void sandbox_order_kill(const struct sandbox *box)
{
    (void)give_order(box, ORDER_KILL, NULL, 0);
}

void sandbox_terminate(const struct sandbox *box)
{
    (void)give_order(box, ORDER_TERMINATE, NULL, 0);
}

void sandbox_signal(struct sandbox *box, unsigned int kernel, int number)
{
    const struct init_message message = { .order = ORDER_SIGNAL,
                                          .number = (uint32_t)number,
                                          .kernel = kernel };

    if (fd_send(box->control, &message, sizeof(message), NULL, 0) == 0)
        box->signals++;
}

bool sandbox_signals_are_sent(const struct sandbox *box)
{
    return atomic_load(&box->report->signals) == box->signals;
}

void sandbox_pause(const struct sandbox *box, bool pause)
{
    (void)give_order(box, pause ? ORDER_PAUSE : ORDER_RESUME, NULL, 0);
}

bool sandbox_collect(const struct sandbox *box)
{
    return give_order(box, ORDER_COLLECT, NULL, 0) == 0;
}

int sandbox_failure(const struct sandbox *box, sbr_error *err)
{
    if (box->report->state == REPORT_FAILED) {
        page_error_read(&box->report->error, err);
        if (err->sys_errno == EPIPE && box->egress.page && box->egress.page->error.code)
            page_error_read(&box->egress.page->error, err); /* init only saw its end */
        return err->code;
    }
    if (box->spawn && box->spawn->sys_errno) {
        errno = box->spawn->sys_errno;
        return err_set_errno(err, "spawn", "cannot execute the helper");
    }
    return err_set(err, SBR_E_SYSTEM, "init",
                   "the sandbox ended while it was made, as when its first process is killed from "
                   "outside or the machine has no memory left; run it again");
}

static void close_control(struct sandbox *box)
{
    scope_close_fd(&box->control);
    box->control = -1; /* sandbox_done closes it again */
}

/* Where another process reaps init. */
static void await_death(const struct sandbox *box)
{
    struct pollfd init = { .fd = box->init.pidfd, .events = POLLIN };

    while (poll(&init, 1, -1) < 0 && errno == EINTR)
        continue;
}

/* Another process reaps init and removes the cgroups. */
static void end_ready(struct sandbox *box)
{
    if (box->init.pidfd >= 0)
        sandbox_kill(box);
    if (box->init.pidfd >= 0 && !(box->report && REPORT_IS_FINAL(box->report->state)))
        await_death(box);
    cgroup_leave(&box->cgroup);
    ids_release(&box->ids);
}

void sandbox_end(struct sandbox *box)
{
    if (box->standby) {
        end_ready(box);
        return;
    }
    if (box->init.pidfd >= 0) {
        siginfo_t info;

        if (box->run_dir)
            close_control(box); /* reaches init also where it awaits no order */
        else
            sandbox_kill(box);
        /* A wait of the caller for any child may have taken the status; we do not need it. */
        if (box->host)
            await_death(box);
        else
            waitid(P_PIDFD, (id_t)box->init.pidfd, &info, WEXITED | __WALL);
    }
    publish_process_stop(&box->publish);
    if (box->host)
        box->host->close(box);
    egress_stop(&box->egress);
    if (box->run_dir)
        run_dir_remove(box->run_dir);
    cgroup_destroy(&box->cgroup);
    janitor_dismiss(box->janitor);
    ids_release(&box->ids);
}

void sandbox_done(struct sandbox *box)
{
    janitor_free(box->janitor);
    egress_done(&box->egress);
    publish_process_done(&box->publish);
    free(box->spawn);
    if (box->report)
        munmap(box->report, REPORT_SIZE);
    scope_close_fd(&box->init.pidfd);
    scope_close_fd(&box->control);
    scope_close_fd(&box->in);
    scope_close_fd(&box->out);
    scope_close_fd(&box->err);
    scope_close_fd(&box->terminal);
    scope_close_fd(&box->collected);
    scope_close_fd(&box->listener);
    scope_close_fd(&box->report_fd);
    for (int i = 0; i <= INIT_CONTROL; i++)
        scope_close_fd(&box->far[i]);
    if (box->standby)
        cgroup_leave(&box->cgroup);
    sandbox_reset(box);
}
