/* The library in a zygote: it makes workers.
 *
 * A zygote is a language's own runtime that our driver warmed up and that waits in
 * sbr_worker_next().  For each order it forks itself into a standby, confined like the program that
 * the worker will become.  It never runs a user's program.
 *
 *   zygote ── guide (enters the sandbox's namespaces) ── forker (in its pid namespace) ── worker
 *
 * The kernel gives an orphan to the first process of its parent's pid namespace.  Hence the two
 * processes between: the forker is in the sandbox's pid namespace, so its orphan, the worker, goes
 * to the sandbox's init.  Both share the zygote's memory, and the zygote is suspended until they
 * have ended (CLONE_VFORK).  Only the worker is a copy.  A zygote with one thread is copied by the
 * C library's own fork(), so that the fork handlers of libraries run; one with several threads as
 * threads.c describes.  The driver repairs what the language's own modules need after a fork. */
#include "worker/worker.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/arch.h"
#include "base/fd.h"
#include "wire/zygote.h"

#define STACK_SIZE (64u << 10) /* fork() runs unknown handlers of libraries */

/* One order, and the state that guide, forker and zygote share while they carry it out. */
struct forking {
    struct zygote_order order;
    int fds[FD_MAX_PASSED];
    size_t n_fds;
    const struct plan *plan;
    char *const *command;   /* that workers execute; NULL: they are the copy */
    volatile int is_worker; /* 1 only in the worker's copy */
    jmp_buf home;
};

static struct forking forking;
static _Alignas(16) char guide_stack[STACK_SIZE], forker_stack[STACK_SIZE];

static void __attribute__((noreturn)) leave(bool failed)
{
    for (;;)
        arch_syscall(SYS_exit_group, failed, 0, 0);
}

/* With `group` the child starts in that cgroup. */
static long clone_and_wait(char *stack, void (*main)(void *), int group)
{
    struct clone_args args = { .flags = CLONE_VM | CLONE_VFORK,
                               .stack = (uint64_t)(uintptr_t)stack,
                               .stack_size = STACK_SIZE,
                               .exit_signal = SIGCHLD };
    long pid;

    if (group >= 0) {
        args.flags |= CLONE_INTO_CGROUP;
        args.cgroup = (uint64_t)group;
    }
    pid = arch_clone3(&args, main, NULL);
    if (pid > 0)
        while (arch_syscall5(SYS_wait4, pid, 0, 0, 0, 0) == -EINTR)
            continue;
    return pid;
}

static bool enter_groups(void)
{
    for (uint32_t i = 0; i < forking.order.n_tasks; i++)
        if (fd_write_all(forking.fds[ZYGOTE_ORDER_FDS + i], "0", 1) < 0)
            return false;
    return true;
}

/* In the sandbox's pid namespace, until the fork is done. */
static void forker_main(void *context)
{
    pid_t pid;

    (void)context;
    pid = threads_are_stopped() ? threads_fork() : fork();
    if (pid == 0) {
        forking.is_worker = 1;
        longjmp(forking.home, 1); /* to the zygote's stack, which in this copy is the worker's */
    }
    leave(pid < 0);
}

/* A worker that is forked into a cgroup gets its cgroup namespace later: the guide's own cgroup is
 * above the root of that namespace, so the kernel would refuse the fork. */
static int namespaces_to_enter(void)
{
    int wanted = CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWIPC | CLONE_NEWUTS |
                 CLONE_NEWNET | (forking.order.group ? 0 : CLONE_NEWCGROUP);

    return (int)forking.plan->namespaces & wanted;
}

static void guide_main(void *context)
{
    int group = forking.order.group ? forking.fds[ZYGOTE_ORDER_FDS] : -1;

    (void)context;
    if (setns(forking.fds[ZYGOTE_ORDER_INIT], namespaces_to_enter()) < 0 ||
        clone_and_wait(forker_stack, forker_main, group) < 0)
        leave(true);
    leave(false);
}

/* A message that is no valid order ends the zygote: its sender is not our engine. */
static bool receive_order(void)
{
    struct zygote_order *order = &forking.order;
    ssize_t n = fd_receive(ZYGOTE_ORDERS, order, sizeof(*order), forking.fds, &forking.n_fds);

    return n == (ssize_t)sizeof(*order) && order->group <= 1 && order->n_tasks < FD_MAX_PASSED &&
           forking.n_fds == ZYGOTE_ORDER_FDS + order->n_tasks + order->group &&
           !(order->n_tasks && order->group);
}

static const struct plan *read_plan(void)
{
    struct plan *plan = NULL;
    sbr_error err;
    struct stat st;
    void *data;

    if (fstat(ZYGOTE_PLAN, &st) < 0 || st.st_size == 0)
        return NULL;
    data = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, ZYGOTE_PLAN, 0);
    if (data == MAP_FAILED || plan_decode(data, (size_t)st.st_size, &plan, &err) < 0)
        return NULL;
    return plan;
}

const struct plan *worker_plan(void)
{
    if (!forking.plan)
        forking.plan = read_plan();
    return forking.plan;
}

/* Runs once, before the first worker. */
static bool prepare(void)
{
    static bool is_prepared;

    if (!is_prepared)
        is_prepared = worker_plan() && (plan_leaves_out(forking.plan, "private-memory") ||
                                        private_memory_take() == 0);
    return is_prepared;
}

/* The old way: the worker becomes a runtime of its own, with its socket. */
static void execute_command(void)
{
    if (fcntl(DRIVER_GO, F_SETFD, 0) == 0)
        execve(forking.command[0], forking.command, environ);
    _exit(127); /* lint-ok: _exit: its init sees that */
}

static bool renew_descriptors(void)
{
    return plan_leaves_out(forking.plan, "own-descriptors") || own_fds_renew() == 0;
}

/* The worker's first steps. */
static int worker_begin(void)
{
    const struct worker_confinement worker_confinement = { .plan = forking.plan,
                                                           .order_fds = forking.fds,
                                                           .group = forking.order.group != 0 };

    /* Only the worker enters the cgroups, so that only it is counted with the program. */
    bool confined = enter_groups() && renew_descriptors();

    if (confined) {
        prefault_repeat();
        if (!plan_leaves_out(forking.plan, "own-random-bytes"))
            confined = private_memory_random() == 0;
    }
    confined = confined && confine_worker(&worker_confinement) == 0;
    if (confined && forking.command)
        execute_command();
    if (!confined || (threads_are_stopped() && threads_resume() < 0))
        _exit(1); /* lint-ok: _exit: its init sees that, and the engine makes another one */
    return DRIVER_GO;
}

/* True in the worker. */
static bool make_worker(void)
{
    if (setjmp(forking.home) == 0)
        clone_and_wait(guide_stack, guide_main, -1);
    if (forking.is_worker)
        return true;
    for (size_t i = 0; i < forking.n_fds; i++)
        close(forking.fds[i]);
    return false;
}

void worker_execute(char *const *command)
{
    forking.command = command;
}

int sbr_worker_next(void)
{
    if (!prepare())
        return -1;
    while (receive_order())
        if (make_worker())
            return worker_begin();
    return -1;
}
