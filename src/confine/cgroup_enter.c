/* The inside of cgroups, in sandbox-run-init; the supervisor does the rest in cgroup.c. */
#include <fcntl.h>
#include <linux/sched.h>
#include <sched.h>
#include <unistd.h>

#include "base/fd.h"
#include "confine/confiner.h"
#include "wire/control.h"

/* Waits for ORDER_ENTER, moves into the cgroups that came with it, and makes their leaf the root
 * of what can be seen. */
static int cgroup_apply(struct inside *in, sbr_error *err)
{
    struct init_message message = { 0 };
    int fds[FD_MAX_PASSED];
    size_t n_fds = 0;
    ssize_t n = fd_receive(in->control_fd, &message, sizeof(message), fds, &n_fds);
    int r = 0;

    if (n != (ssize_t)sizeof(message) || message.order != ORDER_ENTER)
        return err_set(err, SBR_E_SYSTEM, "cgroup", "the supervisor went away during set-up");
    for (size_t i = 0; i < n_fds; i++) {
        if (r == 0 && fd_write_all(fds[i], "0", 1) < 0)
            r = err_set_errno(err, "cgroup", "cannot enter the cgroup");
        close(fds[i]);
    }
    if (r == 0 && in->plan->namespaces & CLONE_NEWCGROUP && unshare(CLONE_NEWCGROUP) < 0)
        r = err_set_errno(err, "cgroup", "cannot make a cgroup namespace");
    return r;
}

/* A shell is in its cgroups already: its fork put it there, or it entered them right after. */
static int shell_apply(struct inside *in, sbr_error *err)
{
    if (in->plan->namespaces & CLONE_NEWCGROUP && unshare(CLONE_NEWCGROUP) < 0)
        return err_set_errno(err, "cgroup", "cannot make a cgroup namespace");
    return 0;
}

const struct confiner shell_cgroup_confiner = { "cgroup", NULL, shell_apply };
const struct confiner cgroup_confiner = { "cgroup", NULL, cgroup_apply };
