/* Namespaces: clone3 in spawn.c makes all but the cgroup namespace, which cgroup_enter.c makes once
 * init is in its cgroup, so that this cgroup is the root that the program sees.
 *
 * Inside, one uid is mapped: 1000, to the host uid of the run.  Host uid 0 is never mapped: a
 * process that is host root with no capability can still write to every file that root owns. */
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/sched.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "confine/confiner.h"
#include "confine/mounts.h"
#include "wire/control.h"

#define PROC_MAGIC 0x9fa0
#define INOTIFY_QUEUES_MOST "16"
#define INOTIFY_WATCHES_MOST "16384"
#define ATTRIBUTE_MOUNT_ROOT 0x2000 /* of statx, Linux 5.8 */

/* False for a sysctl that does not exist. */
static bool sysctl_is(const char *path, const char *value)
{
    char text[32];

    return fd_read_small(AT_FDCWD, path, text, sizeof(text)) > 0 && !strcmp(text, value);
}

/* Waits for a process whose exit status is the answer. */
static bool answered_yes(pid_t pid)
{
    int status = 0;

    return pid > 0 && waitpid(pid, &status, 0) == pid && status == 0;
}

/* Calls with invalid arguments: the kernel reports those, a filter reports EPERM or ENOSYS. */
static bool is_filtered(long number)
{
    return syscall(number, -1, NULL, -1, NULL, -1, 0) < 0 && (errno == EPERM || errno == ENOSYS);
}

/* Only children of this process are in the new pid namespace, so one of them tries. */
static bool procfs_works(void)
{
    static const char *const no_options[] = { NULL };
    pid_t pid = fork();

    if (pid == 0)
        _exit(mount_new("proc", no_options, 0) >= 0 ? 0 : 1); /* lint-ok: _exit: the answer */
    return answered_yes(pid);
}

bool namespaces_work(void)
{
    static const long needed[] = { SYS_pivot_root, SYS_open_tree, SYS_mount_setattr,
                                   SYS_move_mount };
    pid_t pid = fork();

    if (pid == 0) {
        bool works = unshare(CLONE_NEWUSER) == 0 && unshare(CLONE_NEWNS | CLONE_NEWPID) == 0;

        for (size_t i = 0; works && i < ARRAY_LEN(needed); i++)
            works = !is_filtered(needed[i]);
        _exit(works && procfs_works() ? 0 : 1); /* lint-ok: _exit: the answer */
    }
    return answered_yes(pid);
}

/* A container runtime covers revealing files of procfs or binds them read-only; the kernel may then
 * refuse a new procfs, which would show them.  Each covered path is the root of a mount. */
static bool is_proc_covered(void)
{
    static const char *const often[] = {
        "/proc/sys",  "/proc/bus",  "/proc/fs",         "/proc/irq",           "/proc/acpi",
        "/proc/scsi", "/proc/keys", "/proc/timer_list", "/proc/sysrq-trigger", "/proc/kcore",
    };
    uint64_t attributes[32]; /* struct statx, which musl lacks; [1] has the attributes */

    for (size_t i = 0; i < ARRAY_LEN(often); i++)
        if (syscall(SYS_statx, AT_FDCWD, often[i], AT_SYMLINK_NOFOLLOW, 0, attributes) == 0 &&
            attributes[1] & ATTRIBUTE_MOUNT_ROOT)
            return true;
    return false;
}

/* An AppArmor profile, which docker gives to every container. */
static bool has_profile(void)
{
    char text[128];

    return fd_read_small(AT_FDCWD, "/proc/self/attr/current", text, sizeof(text)) > 0 &&
           strncmp(text, "unconfined", strlen("unconfined")) != 0 && strchr(text, '(');
}

/* Ubuntu lets every user make a user namespace, but one without any capability unless
 * a profile allows it. */
static bool is_restricted(void)
{
    return geteuid() != 0 &&
           sysctl_is("/proc/sys/kernel/apparmor_restrict_unprivileged_userns", "1\n");
}

static bool is_under_filter(void)
{
    return prctl(PR_GET_SECCOMP, 0, 0, 0, 0) == SECCOMP_MODE_FILTER;
}

/* A refusal by a chroot and the like shows only when the run tries it, and job/stages.c
 * then falls back.  In the cases here a refusal would come too late for that, so
 * find_barrier() tries before. */
static enum userns_barrier suspect(void)
{
    if (is_proc_covered())
        return BARRIER_COVERED_PROC;
    if (is_restricted())
        return BARRIER_APPARMOR;
    return is_under_filter() || has_profile() ? BARRIER_REFUSED : BARRIER_NONE;
}

static enum userns_barrier find_barrier(void)
{
    enum userns_barrier suspected;

    if (sysctl_is("/proc/sys/user/max_user_namespaces", "0\n"))
        return BARRIER_MAX_SYSCTL;
    if (geteuid() != 0 && sysctl_is("/proc/sys/kernel/unprivileged_userns_clone", "0\n"))
        return BARRIER_CLONE_SYSCTL;
    suspected = suspect();
    return suspected == BARRIER_NONE || namespaces_work() ? BARRIER_NONE : suspected;
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

/* The supervisor maps the ids from outside; until then this process has no mapped uid. */
static int await_mapping(struct inside *in, struct init_message *message, sbr_error *err)
{
    ssize_t n = fd_receive(in->control_fd, message, sizeof(*message), in->trees, &in->n_trees);

    if (n == (ssize_t)sizeof(*message) && message->order == ORDER_MAPPED)
        return 0;
    return err_set(err, SBR_E_SYSTEM, "namespaces", "the supervisor went away during set-up");
}

static int become(uint32_t uid, uint32_t gid, sbr_error *err)
{
    /* The kernel refuses this in a namespace that an ordinary user made. */
    if (setgroups(0, NULL) < 0 && errno != EPERM)
        return err_set_errno(err, "namespaces", "cannot drop supplementary groups");
    if (setresgid(gid, gid, gid) < 0)
        return err_set_errno(err, "namespaces", "cannot become group %u", gid);
    if (setresuid(uid, uid, uid) < 0)
        return err_set_errno(err, "namespaces", "cannot become user %u", uid);
    return 0;
}

/* Becomes the user of the user namespace or, without one, the host's user of this run. */
static int become_user(const struct plan *plan, const struct init_message *message, sbr_error *err)
{
    if (plan->namespaces & CLONE_NEWUSER)
        return become(plan->inside_uid, plan->inside_gid, err);
    return plan->run_dir ? become(message->uid, message->gid, err) : 0;
}

/* Counters that the kernel charges through all user namespaces up to the maker of the outermost:
 * what the program takes, the caller lacks.  Few programs have more than one inotify queue, and
 * most hosts give a user 128. */
static const struct own_most {
    const char *name, *most;
} own_most[] = {
    /* The filter refuses these too; this also holds for a system call that the filter misses. */
    { "max_user_namespaces", "0" },
    { "max_inotify_instances", INOTIFY_QUEUES_MOST },
    { "max_inotify_watches", INOTIFY_WATCHES_MOST },
};

/* These files are of the writer's own user namespace, whichever procfs they are reached through.  A
 * kernel without inotify lacks the last two. */
static int write_counters(int dir_fd)
{
    for (size_t i = 0; i < ARRAY_LEN(own_most); i++)
        if (fd_write_small(dir_fd, own_most[i].name, own_most[i].most) < 0 &&
            (i == 0 || errno != ENOENT))
            return -1;
    return 0;
}

static int bound_counters(sbr_error *err)
{
    static const char *const no_options[] = { NULL };
    scoped_fd int host = open("/proc/sys/user", O_PATH | O_DIRECTORY | O_CLOEXEC), proc = -1,
                  own = -1;

    if (host >= 0 && write_counters(host) == 0)
        return 0;
    /* In a container the host's procfs may be read-only; a new one is not. */
    proc = mount_new("proc", no_options, 0);
    own = proc < 0 ? -1 : openat(proc, "sys/user", O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (own < 0 || write_counters(own) < 0)
        return err_set_errno(err, "namespaces", "cannot forbid new user namespaces");
    return 0;
}

/* Filters of some containers refuse only this call. */
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
        return bound_counters(err);
    return 0;
}

/* A factory keeps its right to make user namespaces: it makes one for each sandbox. */
static int factory_apply(struct inside *in, sbr_error *err)
{
    struct init_message message = { 0 };

    if (await_mapping(in, &message, err) < 0)
        return err->code;
    return become(message.uid, message.gid, err);
}

/* In a cold run pid 2 is the network helper and pid 3 the program; this gives the program the same
 * pid here.  A worker of a zygote gets its pid through another process anyhow. */
static void skip_helper(const struct inside *in)
{
    if (in->plan->standby != STANDBY_ZYGOTE)
        (void)fd_write_small(AT_FDCWD, "/proc/sys/kernel/ns_last_pid", "2");
}

/* The factory has mapped the ids by now. */
static int shell_apply(struct inside *in, sbr_error *err)
{
    skip_helper(in);
    if (become(in->plan->inside_uid, in->plan->inside_gid, err) < 0 || name_host(in, err) < 0)
        return err->code;
    return plan_leaves_out(in->plan, "no-user-namespaces") ? 0 : bound_counters(err);
}

const struct confiner factory_namespaces_confiner = { "namespaces", NULL, factory_apply };
const struct confiner shell_namespaces_confiner = { "namespaces", NULL, shell_apply };
const struct confiner namespaces_confiner = { "namespaces", namespaces_probe, namespaces_apply };
