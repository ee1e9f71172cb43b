/* Namespaces.  They are made by clone3 in spawn.c, all but the cgroup namespace, which cgroup.c
 * makes once init is in its group, so that the group is the root of what the program can see.
 *
 * Inside, one uid is mapped: 1000, to the host uid of the run.  Host uid 0 never is: a process that
 * is host root with no capability can still write to every file that root owns. */
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/scope.h"
#include "sandbox/confiner.h"
#include "sandbox/mounts.h"
#include "sandbox/protocol.h"

/* 0 when a sysctl is there and says "none"; a missing one means that nothing forbids it. */
static bool sysctl_allows(const char *path)
{
    char text[32];

    return fd_read_small(AT_FDCWD, path, text, sizeof(text)) < 0 || strcmp(text, "0\n") != 0;
}

static void namespaces_probe(struct features *features)
{
    features->uid = geteuid();
    features->gid = getegid();
    features->user_namespaces =
        sysctl_allows("/proc/sys/user/max_user_namespaces") &&
        (features->uid == 0 || sysctl_allows("/proc/sys/kernel/unprivileged_userns_clone"));
}

/* The supervisor maps the ids from outside; until then this process is nobody. */
static int await_mapping(struct inside *in, sbr_error *err)
{
    struct init_message message = { 0 };
    ssize_t n = fd_receive(in->control_fd, &message, sizeof(message), in->trees, &in->n_trees);

    if (n == (ssize_t)sizeof(message) && message.order == ORDER_MAPPED)
        return 0;
    return err_set(err, SBR_E_SYSTEM, "namespaces", "the supervisor went away during set-up");
}

static int become_inside_user(const struct plan *plan, sbr_error *err)
{
    /* Refused for ordinary users, who may not drop groups in a namespace of their own making. */
    if (setgroups(0, NULL) < 0 && errno != EPERM)
        return err_set_errno(err, "namespaces", "cannot drop supplementary groups");
    if (setresgid(plan->inside_gid, plan->inside_gid, plan->inside_gid) < 0)
        return err_set_errno(err, "namespaces", "cannot become group %u", plan->inside_gid);
    if (setresuid(plan->inside_uid, plan->inside_uid, plan->inside_uid) < 0)
        return err_set_errno(err, "namespaces", "cannot become user %u", plan->inside_uid);
    return 0;
}

/* The filter refuses new user namespaces too; this holds even for a system call that it misses. The
 * file is that of the reader's own user namespace, whichever procfs it is reached through. */
static int forbid_user_namespaces(sbr_error *err)
{
    static const char *const no_options[] = { NULL };
    static const char path[] = "sys/user/max_user_namespaces";
    scoped_fd int proc = -1;

    if (fd_write_small(AT_FDCWD, "/proc/sys/user/max_user_namespaces", "0") == 0)
        return 0;
    /* In a container the host's procfs may be read-only; one of our own is not. */
    proc = mount_new("proc", no_options, 0);
    if (proc < 0 || fd_write_small(proc, path, "0") < 0)
        return err_set_errno(err, "namespaces", "cannot forbid new user namespaces");
    return 0;
}

static int namespaces_apply(struct inside *in, sbr_error *err)
{
    const struct plan *plan = in->plan;

    if (await_mapping(in, err) < 0)
        return err->code;
    if (plan->namespaces & CLONE_NEWUSER && become_inside_user(plan, err) < 0)
        return err->code;
    if (plan->namespaces & CLONE_NEWUTS && sethostname(plan->hostname, strlen(plan->hostname)) < 0)
        return err_set_errno(err, "namespaces", "cannot set the host name");
    if (plan->namespaces & CLONE_NEWUSER && !plan_leaves_out(plan, "no-user-namespaces"))
        return forbid_user_namespaces(err);
    return 0;
}

const struct confiner namespaces_confiner = { "namespaces", namespaces_probe, namespaces_apply };
