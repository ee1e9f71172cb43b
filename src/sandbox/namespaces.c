/* Namespaces.  They are made by clone3 in spawn.c, all but the cgroup namespace, which cgroup.c
 * makes once init is in its group, so that the group is the root of what the program can see.
 *
 * Inside, one uid is mapped: 1000, to the host uid of the run.  Host uid 0 never is: a process that
 * is host root with no capability can still write to every file that root owns. */
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/sched.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/scope.h"
#include "sandbox/confiner.h"
#include "sandbox/mounts.h"
#include "sandbox/protocol.h"

#define PROC_MAGIC 0x9fa0

/* 0 when a sysctl is there and says "none"; a missing one means that nothing forbids it. */
static bool sysctl_allows(const char *path)
{
    char text[32];

    return fd_read_small(AT_FDCWD, path, text, sizeof(text)) < 0 || strcmp(text, "0\n") != 0;
}

/* With nonsense for arguments: the kernel says so, a filter says that it is not permitted or not
 * there. */
static bool is_filtered(long number)
{
    return syscall(number, -1, NULL, -1, NULL, -1, 0) < 0 && (errno == EPERM || errno == ENOSYS);
}

/* In a process of its own, whose end is its answer. */
bool namespaces_work(void)
{
    static const long needed[] = { SYS_pivot_root, SYS_fsopen,        SYS_fsconfig,  SYS_fsmount,
                                   SYS_open_tree,  SYS_mount_setattr, SYS_move_mount };
    pid_t pid = fork();
    int status = 0;

    if (pid == 0) {
        bool works = unshare(CLONE_NEWUSER) == 0 && unshare(CLONE_NEWNS) == 0;

        for (size_t i = 0; works && i < ARRAY_LEN(needed); i++)
            works = !is_filtered(needed[i]);
        _exit(works ? 0 : 1); /* lint-ok: _exit: a process that was made for this answer */
    }
    return pid > 0 && waitpid(pid, &status, 0) == pid && status == 0;
}

/* A container runtime covers what it thinks is telling; the kernel then refuses a new procfs, which
 * would show it.  What covers is of another file system, or a device's. */
static bool is_proc_covered(void)
{
    static const char *const often[] = { "/proc/kcore", "/proc/keys", "/proc/timer_list",
                                         "/proc/acpi", "/proc/scsi" };
    struct stat proc, st;

    if (stat("/proc", &proc) < 0)
        return false;
    for (size_t i = 0; i < ARRAY_LEN(often); i++)
        if (stat(often[i], &st) == 0 && st.st_dev != proc.st_dev)
            return true;
    return false;
}

/* What a chroot and the like refuse is only seen when it is tried: see executor.c.  The trials here
 * are for places where a refusal would come too late for that. */
static enum userns_barrier find_barrier(void)
{
    static const char apparmor[] = "/proc/sys/kernel/apparmor_restrict_unprivileged_userns";
    char text[32];

    if (!sysctl_allows("/proc/sys/user/max_user_namespaces"))
        return BARRIER_MAX_SYSCTL;
    if (is_proc_covered())
        return BARRIER_COVERED_PROC;
    if (prctl(PR_GET_SECCOMP, 0, 0, 0, 0) == SECCOMP_MODE_FILTER && !namespaces_work())
        return BARRIER_REFUSED;
    if (geteuid() == 0)
        return BARRIER_NONE;
    if (!sysctl_allows("/proc/sys/kernel/unprivileged_userns_clone"))
        return BARRIER_CLONE_SYSCTL;
    /* Ubuntu lets everybody make one, in which nothing can be done then; only a trial tells whether
     * a profile makes an exception for us. */
    if (fd_read_small(AT_FDCWD, apparmor, text, sizeof(text)) > 0 && text[0] == '1' &&
        !namespaces_work())
        return BARRIER_APPARMOR;
    return BARRIER_NONE;
}

static void namespaces_probe(struct features *features)
{
    struct statfs fs;

    features->uid = geteuid();
    features->gid = getegid();
    features->proc = statfs("/proc", &fs) == 0 && fs.f_type == PROC_MAGIC;
    features->barrier = find_barrier();
    features->user_namespaces = features->barrier == BARRIER_NONE;
}

/* The supervisor maps the ids from outside; until then this process is nobody. */
static int await_mapping(struct inside *in, struct init_message *message, sbr_error *err)
{
    ssize_t n = fd_receive(in->control_fd, message, sizeof(*message), in->trees, &in->n_trees);

    if (n == (ssize_t)sizeof(*message) && message->order == ORDER_MAPPED)
        return 0;
    return err_set(err, SBR_E_SYSTEM, "namespaces", "the supervisor went away during set-up");
}

static int become(uint32_t uid, uint32_t gid, sbr_error *err)
{
    /* Refused for ordinary users, who may not drop groups in a namespace of their own making. */
    if (setgroups(0, NULL) < 0 && errno != EPERM)
        return err_set_errno(err, "namespaces", "cannot drop supplementary groups");
    if (setresgid(gid, gid, gid) < 0)
        return err_set_errno(err, "namespaces", "cannot become group %u", gid);
    if (setresuid(uid, uid, uid) < 0)
        return err_set_errno(err, "namespaces", "cannot become user %u", uid);
    return 0;
}

/* One of the user namespace, or, where there is none, the host's user of this run. */
static int become_user(const struct plan *plan, const struct init_message *message, sbr_error *err)
{
    if (plan->namespaces & CLONE_NEWUSER)
        return become(plan->inside_uid, plan->inside_gid, err);
    return plan->place ? become(message->uid, message->gid, err) : 0;
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

/* The filter of some containers lets everything pass but this. */
static int name_host(struct inside *in, sbr_error *err)
{
    if (sethostname(in->plan->hostname, strlen(in->plan->hostname)) == 0)
        return 0;
    if (errno != EPERM)
        return err_set_errno(err, "namespaces", "cannot set the host name");
    in->report->keeps_host_name = 1;
    return 0;
}

static int namespaces_apply(struct inside *in, sbr_error *err)
{
    const struct plan *plan = in->plan;
    struct init_message message = { 0 };

    if (await_mapping(in, &message, err) < 0 || become_user(plan, &message, err) < 0)
        return err->code;
    if (plan->namespaces & CLONE_NEWUTS && name_host(in, err) < 0)
        return err->code;
    if (plan->namespaces & CLONE_NEWUSER && !plan_leaves_out(plan, "no-user-namespaces"))
        return forbid_user_namespaces(err);
    return 0;
}

const struct confiner namespaces_confiner = { "namespaces", namespaces_probe, namespaces_apply };
