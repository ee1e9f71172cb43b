
#include <fcntl.h>
#include <linux/sched.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "confine/confiner.h"
#include "wire/zygote.h"
#include "worker/worker.h"

/* The control socket is here until the listener of the filter has been sent. */
#define CONTROL (DRIVER_GO + 1)

/* Copies go above the targets first, so that no fd is overwritten that is still needed. */
static int arrange_descriptors(const int *from)
{
    static const int sources[] = { ZYGOTE_ORDER_STDIN, ZYGOTE_ORDER_STDOUT, ZYGOTE_ORDER_STDERR,
                                   ZYGOTE_ORDER_GO, ZYGOTE_ORDER_CONTROL };
    int copies[ARRAY_LEN(sources)];

    for (size_t i = 0; i < ARRAY_LEN(sources); i++)
        if ((copies[i] = fcntl(from[sources[i]], F_DUPFD, CONTROL + 1)) < 0)
            return -1;
    for (size_t i = 0; i < ARRAY_LEN(sources); i++)
        if (dup3(copies[i], (int)i, i > STDERR_FILENO ? O_CLOEXEC : 0) < 0)
            return -1;
    return own_fds_close_others(CONTROL + 1);
}

/* Cannot drop supplementary groups where init could not either; the factory has none.  The C
 * library's own functions would wait for threads that are only made again afterwards. */
static int become_user(const struct plan *plan)
{
    if (syscall(SYS_setresgid, plan->inside_gid, plan->inside_gid, plan->inside_gid) < 0)
        return -1;
    return (int)syscall(SYS_setresuid, plan->inside_uid, plan->inside_uid, plan->inside_uid);
}

/* The last steps of init's own table, in its order.  Init sets resource limits with the program. */
static int confine(const struct plan *plan)
{
    static const struct confiner *const steps[] = { &identity_confiner, &no_new_privs_confiner,
                                                    &landlock_confiner, &seccomp_confiner };
    struct inside in = {
        .plan = plan, .control_fd = CONTROL, .root_fd = -1, .io_fd = -1, .proc_fd = -1, .tty_fd = -1
    };
    sbr_error err;

    for (size_t i = 0; i < ARRAY_LEN(steps); i++)
        if (!plan_leaves_out(plan, steps[i]->name) && steps[i]->apply(&in, &err) < 0)
            return -1;
    return 0;
}

int confine_worker(const struct worker_confinement *worker_confinement)
{
    const struct plan *plan = worker_confinement->plan;
    sigset_t none;
    uint32_t pid = (uint32_t)getpid();

    /* Forked into its cgroup, so a new cgroup namespace has the same root as init's, which only a
     * process that may inspect init can enter. */
    if (worker_confinement->group && plan->namespaces & CLONE_NEWCGROUP &&
        unshare(CLONE_NEWCGROUP) < 0)
        return -1;
    if (arrange_descriptors(worker_confinement->order_fds) < 0 || become_user(plan) < 0 ||
        chdir("/work") < 0)
        return -1;
    if (!plan_leaves_out(plan, "own-session"))
        setsid();
    umask(022);
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    if (confine(plan) < 0)
        return -1;
    close(CONTROL);
    /* As after an exec: the process owns its files in /proc. */
    prctl(PR_SET_DUMPABLE, 1, 0, 0, 0);
    return fd_write_all(DRIVER_GO, &pid, sizeof(pid));
}
