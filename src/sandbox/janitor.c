/* Theory.  The janitor is a process that shares memory and fds with the supervisor, like a thread,
 * but does not end with it: SIGKILL goes to one thread group.  It waits for the supervisor's death,
 * then kills init, upon which the kernel kills everything inside, waits for that, and removes the
 * leaves.
 *
 * A process with memory of its own would take five times as long to start, on every run.
 *
 *   (1) It uses direct system calls only: errno and every lock belong to the supervisor's threads.
 *   (2) It runs with all signals blocked, in a session of its own: Ctrl-C does not reach it.
 *   (3) It learns of init from the kernel: clone3 stores the pidfd where the janitor looks. */

#include <errno.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/arch.h"
#include "sandbox/spawn.h"

#define STACK_SIZE 8192

struct janitor {
    int supervisor_pidfd;
    int pidfd;                      /* its own */
    const volatile int *init_pidfd; /* in the sandbox; clone3 fills it when it makes init */
    const volatile int *control;    /* see struct janitor_reach */
    /* copies, because SIGKILL may hit the supervisor at any point */
    int parent_fd[N_CG];
    char leaf[CGROUP_NAME_MAX];
    char stack[STACK_SIZE] __attribute__((aligned(16)));
};

static void await(int pidfd)
{
    struct pollfd fd = { .fd = pidfd, .events = POLLIN };

    while (arch_syscall5(SYS_ppoll, (long)&fd, 1, 0, 0, 0) == -EINTR)
        continue;
}

/* EBUSY while the last processes exit; ten seconds are far more than that takes. */
static void remove_leaf(int parent_fd, const char *leaf)
{
    for (int attempt = 0; attempt < 10000; attempt++) {
        struct timespec millisecond = { .tv_nsec = 1000000 };

        if (arch_syscall(SYS_unlinkat, parent_fd, (long)leaf, AT_REMOVEDIR) != -EBUSY)
            return;
        arch_syscall5(SYS_ppoll, 0, 0, (long)&millisecond, 0, 0);
    }
}

static void janitor_main(void *context)
{
    struct janitor *janitor = context;
    int init;

    arch_syscall(SYS_setsid, 0, 0, 0);
    await(janitor->supervisor_pidfd);
    init = *janitor->init_pidfd;
    if (init >= 0) {
        if (janitor->control) /* fds are shared, so it stays open as long as we live */
            arch_syscall(SYS_close, *janitor->control, 0, 0);
        else
            arch_syscall5(SYS_pidfd_send_signal, init, SIGKILL, 0, 0, 0);
        await(init);
    }
    for (unsigned int i = 0; i < N_CG; i++)
        if (janitor->parent_fd[i] >= 0)
            remove_leaf(janitor->parent_fd[i], janitor->leaf);
    for (;;)
        arch_syscall(SYS_exit_group, 0, 0, 0);
}

static long janitor_clone(struct janitor *janitor)
{
    struct clone_args args = { .flags = CLONE_VM | CLONE_FILES | CLONE_PIDFD,
                               .pidfd = (uint64_t)(uintptr_t)&janitor->pidfd,
                               .stack = (uint64_t)(uintptr_t)janitor->stack,
                               .stack_size = STACK_SIZE };
    sigset_t all, before;
    long pid;

    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    pid = arch_clone3(&args, janitor_main, janitor);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return pid;
}

int janitor_start(struct janitor **ret, const struct cgroup *cg, struct janitor_reach reach,
                  sbr_error *err)
{
    struct janitor *janitor;
    long pid;

    *ret = NULL;
    if (!cg->controllers)
        return 0;
    janitor = calloc(1, sizeof(*janitor));
    if (!janitor)
        return err_set_oom(err, "janitor");
    janitor->init_pidfd = reach.init_pidfd;
    janitor->control = reach.control;
    janitor->pidfd = -1;
    memcpy(janitor->parent_fd, cg->parent_fd, sizeof(janitor->parent_fd));
    memcpy(janitor->leaf, cg->name, sizeof(janitor->leaf));
    janitor->supervisor_pidfd = (int)syscall(SYS_pidfd_open, getpid(), 0);
    pid = janitor->supervisor_pidfd < 0 ? -errno : janitor_clone(janitor);
    if (pid < 0) {
        spawn_refused(0, (int)-pid, err);
        scope_close_fd(&janitor->supervisor_pidfd);
        free(janitor);
        return err->code;
    }
    *ret = janitor;
    return 0;
}

void janitor_dismiss(struct janitor *janitor)
{
    if (janitor)
        syscall(SYS_pidfd_send_signal, janitor->pidfd, SIGKILL, NULL, 0);
}

void janitor_free(struct janitor *janitor)
{
    siginfo_t info;

    if (!janitor)
        return;
    waitid(P_PIDFD, (id_t)janitor->pidfd, &info, WEXITED | __WALL);
    close(janitor->pidfd);
    close(janitor->supervisor_pidfd);
    free(janitor);
}
