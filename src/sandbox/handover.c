/* Hands a standby sandbox from the engine that made it to the process that runs a program in it. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/fd.h"
#include "sandbox/channels.h"
#include "sandbox/sandbox.h"

enum given {
    GIVEN_CONTROL,
    GIVEN_IN,
    GIVEN_OUT,
    GIVEN_ERR,
    GIVEN_COLLECTED,
    GIVEN_REPORT,
    GIVEN_INIT,
    GIVEN_LISTENER,
    GIVEN_OOM,
    GIVEN_GROUPS, /* N_CG of them */
    N_GIVEN = GIVEN_GROUPS + N_CG
};
_Static_assert((int)N_GIVEN == SANDBOX_MAX_GIVEN, "as the header says");

#define NEEDED                                                                                     \
    (1u << GIVEN_CONTROL | 1u << GIVEN_IN | 1u << GIVEN_OUT | 1u << GIVEN_ERR |                    \
     1u << GIVEN_REPORT | 1u << GIVEN_INIT)

/* The field that holds the fd. */
static int *slot(struct sandbox *box, unsigned int which)
{
    int *const slots[GIVEN_GROUPS] = { &box->control,    &box->in,        &box->out,
                                       &box->err,        &box->collected, &box->report_fd,
                                       &box->init.pidfd, &box->listener,  &box->cgroup.oom_fd };

    return which < GIVEN_GROUPS ? slots[which] : &box->cgroup.leaf_fd[which - GIVEN_GROUPS];
}

void sandbox_give(const struct sandbox *box, struct handover_msg *msg, int fds[SANDBOX_MAX_GIVEN],
                  size_t *ret_n)
{
    struct sandbox copy = *box;
    size_t n = 0;

    *msg = (struct handover_msg){ .init_pid = box->init.pid,
                                  .host_uid = box->ids.host_uid,
                                  .host_gid = box->ids.host_gid,
                                  .cgroup_kind = box->cgroup.kind,
                                  .cgroup_controllers = box->cgroup.controllers,
                                  .before = box->before };
    memcpy(msg->cgroup_name, box->cgroup.name, sizeof(msg->cgroup_name));
    for (unsigned int i = 0; i < N_GIVEN; i++)
        if (*slot(&copy, i) >= 0) {
            msg->given |= 1u << i;
            fds[n++] = *slot(&copy, i);
        }
    *ret_n = n;
}

static int map_report(struct sandbox *box, sbr_error *err)
{
    void *page = mmap(NULL, REPORT_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, box->report_fd, 0);

    if (page == MAP_FAILED)
        return err_set_errno(err, "report", "cannot map the report");
    box->report = page;
    return 0;
}

int sandbox_take(struct sandbox *box, const struct handover_msg *msg, const int *fds, size_t n,
                 sbr_error *err)
{
    size_t used = 0;

    sandbox_reset(box);
    box->standby = true;
    box->init.pid = msg->init_pid;
    box->ids.host_uid = msg->host_uid;
    box->ids.host_gid = msg->host_gid;
    box->cgroup.kind = (enum cgroup_kind)msg->cgroup_kind;
    box->cgroup.controllers = msg->cgroup_controllers;
    box->before = msg->before;
    memcpy(box->cgroup.name, msg->cgroup_name, sizeof(box->cgroup.name));
    box->cgroup.name[sizeof(box->cgroup.name) - 1] = '\0';
    for (unsigned int i = 0; i < N_GIVEN && used < n; i++)
        if (msg->given & 1u << i)
            *slot(box, i) = fds[used++];
    if (used < n || (msg->given & NEEDED) != NEEDED || msg->given >> N_GIVEN ||
        (size_t)__builtin_popcount(msg->given) != n) {
        while (used < n)
            close(fds[used++]);
        err_set(err, SBR_E_BUG, "engine", "the engine gave a sandbox that is not whole");
    } else if (map_report(box, err) == 0) {
        return 0;
    }
    sandbox_end(box);
    sandbox_done(box);
    return err->code;
}

/* Stores only what is not in the blueprint: init has the rest. */
static int store_late_parts(const struct plan *plan, struct far_channels *far, sbr_error *err)
{
    struct plan late = *plan;
    int r;

    late.n_filters = late.n_rules = late.n_collects = 0;
    late.n_ops = 0;
    late.ops = calloc(plan->n_ops + 1, sizeof(*late.ops));
    if (!late.ops)
        return err_set_oom(err, "plan");
    for (size_t i = 0; i < plan->n_ops; i++)
        if (plan->ops[i].kind == OP_PROGRAM)
            late.ops[late.n_ops++] = plan->ops[i];
    r = channels_store_plan(&late, far, err);
    free(late.ops);
    return r;
}

static int send_program(const struct sandbox *box, const struct plan *plan, const int *files,
                        size_t n_files, sbr_error *err)
{
    struct init_message message = { .order = ORDER_GO };
    struct far_channels far = FAR_CHANNELS_NONE;
    int fds[FD_MAX_PASSED], r = store_late_parts(plan, &far, err);

    if (r == 0) {
        fds[0] = far.fds[INIT_PLAN];
        memcpy(fds + 1, files, n_files * sizeof(files[0]));
        r = fd_send(box->control, &message, sizeof(message), fds, n_files + 1);
        if (r < 0)
            err_set_errno(err, "engine", "the prepared sandbox is gone");
    }
    channels_close_far(&far);
    return r < 0 ? err->code : 0;
}

int sandbox_add_kernel(const struct sandbox *box, const struct plan *plan, unsigned int kernel,
                       int *ret, sbr_error *err)
{
    struct init_message message = { .order = ORDER_KERNEL, .kernel = kernel };
    struct far_channels far = FAR_CHANNELS_NONE;
    scoped_fd int near = -1;
    int fds[2], r;

    r = channels_make_kernel(&near, &far.fds[INIT_STDIN]) < 0
            ? err_set_errno(err, "kernel", "cannot make a channel")
            : store_late_parts(plan, &far, err);
    if (r == 0) {
        fds[0] = far.fds[INIT_PLAN];
        fds[1] = far.fds[INIT_STDIN];
        r = fd_send(box->control, &message, sizeof(message), fds, 2);
        if (r < 0)
            err_set_errno(err, "kernel", "cannot ask the sandbox for a kernel");
    }
    channels_close_far(&far);
    if (r == 0)
        *ret = take_fd(near);
    return r < 0 ? err->code : 0;
}

/* The controllers whose limit differs from the default. */
static uint32_t unusual(const struct sandbox *box, const struct limits *limits)
{
    uint32_t which = ~SANDBOX_USUAL_LIMITS;
    struct limits usual;

    limits_init(&usual);
    if (limits->value[SBR_MEMORY_BYTES] != usual.value[SBR_MEMORY_BYTES] ||
        box->cgroup.spares_init || box->cgroup.has_network)
        which |= 1u << CG_MEMORY;
    if (limits->value[SBR_PIDS] != usual.value[SBR_PIDS])
        which |= 1u << CG_PIDS;
    return which;
}

int sandbox_go(struct sandbox *box, const struct plan *plan, const int *files, size_t n_files,
               sbr_error *err)
{
    if (n_files >= FD_MAX_PASSED)
        return err_set(err, SBR_E_INVALID, "program", "the program has too many files");
    cgroup_take_plan(&box->cgroup, plan);
    if (cgroup_limit(&box->cgroup, &plan->limits, unusual(box, &plan->limits), err) < 0)
        return err->code;
    return send_program(box, plan, files, n_files, err);
}
