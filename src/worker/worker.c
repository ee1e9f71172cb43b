/* The library in a zygote: it makes workers.
 *
 * A zygote is a language's own runtime that was warmed up by our driver and waits in worker_next().  For each order it
 * makes one process more of itself that lives in a sandbox which stands ready, confined like the program that it will
 * become.  It never runs anything of a user's.
 *
 *   zygote ── guide (enters the sandbox's namespaces) ── midwife (in its pid namespace, in its group) ── worker
 *
 * Whoever is orphaned goes to the first process of its parent's pid namespace.  That is why there are two between: the
 * midwife's is the sandbox's, so the worker is left to the sandbox's init.  Both share the zygote's memory, and the zygote
 * stands still until they have ended (CLONE_VFORK).  Only the worker is a copy, made by the C library's own fork(), so
 * that libraries which want to know of a fork hear of it.  What the language's own modules want to know is the driver's
 * business: a zygote has one thread, so that most of it has nothing to mend. */
#include "worker/worker.h"

#include <errno.h>
#include <linux/sched.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/arch.h"
#include "base/fd.h"
#include "plan/plan.h"
#include "wire/zygote.h"
#include "worker/confine_worker.h"
#include "worker/prefault.h"
#include "worker/private_memory.h"

#define STACK_SIZE (64u << 10) /* fork() calls handlers of libraries that we do not know */

/* One order, and all that those who carry it out share. */
struct birth {
    struct zygote_order order;
    int fds[FD_MAX_PASSED];
    size_t n_fds;
    const struct plan *plan;
    volatile bool failed;
    volatile int is_worker; /* 1 in the worker's copy, nowhere else */
    jmp_buf home;
};

static struct birth birth;
static _Alignas(16) char guide_stack[STACK_SIZE], forker_stack[STACK_SIZE];

static void __attribute__((noreturn)) leave(bool failed)
{
    if (failed)
        birth.failed = true;
    for (;;)
        arch_syscall(SYS_exit_group, failed, 0, 0);
}

/* With `group` the child is born in it. */
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
    for (uint32_t i = 0; i < birth.order.n_tasks; i++)
        if (fd_write_all(birth.fds[ZYGOTE_ORDER_FDS + i], "0", 1) < 0)
            return false;
    return true;
}

/* In the sandbox's pid namespace, for as long as a fork takes. */
static void forker_main(void *context)
{
    pid_t pid;

    (void)context;
    pid = fork();
    if (pid == 0) {
        birth.is_worker = 1;
        longjmp(birth.home, 1); /* to the stack of the zygote, which in this copy is the worker's */
    }
    leave(pid < 0);
}

/* The namespace of control groups has to wait where birth in one is still to come: it would look upwards from the
 * group to be born in. */
static int namespaces_to_enter(void)
{
    int wanted = CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWIPC | CLONE_NEWUTS |
                 CLONE_NEWNET | (birth.order.group ? 0 : CLONE_NEWCGROUP);

    return (int)birth.plan->namespaces & wanted;
}

static void guide_main(void *context)
{
    int group = birth.order.group ? birth.fds[ZYGOTE_ORDER_FDS] : -1;

    (void)context;
    if (setns(birth.fds[ZYGOTE_ORDER_INIT], namespaces_to_enter()) < 0 ||
        clone_and_wait(forker_stack, forker_main, group) < 0)
        leave(true);
    leave(false);
}

/* What does not look like an order ends the zygote: whoever sends such a thing is not ours. */
static bool receive_order(void)
{
    struct zygote_order *order = &birth.order;
    ssize_t n = fd_receive(ZYGOTE_ORDERS, order, sizeof(*order), birth.fds, &birth.n_fds);

    return n == (ssize_t)sizeof(*order) && order->group <= 1 && order->n_tasks < FD_MAX_PASSED &&
           birth.n_fds == ZYGOTE_ORDER_FDS + order->n_tasks + order->group &&
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

/* Before the first worker. */
static bool prepare(void)
{
    birth.plan = read_plan();
    return birth.plan &&
           (plan_leaves_out(birth.plan, "private-memory") || private_memory_take() == 0);
}

/* The worker's first steps. */
static int worker_begin(void)
{
    const struct worker_confinement worker_confinement = { .plan = birth.plan,
                                                           .order_fds = birth.fds,
                                                           .group = birth.order.group != 0 };

    /* By itself: nobody else is to be counted with the program. */
    bool settled = enter_groups();

    if (settled) {
        prefault_repeat();
        if (!plan_leaves_out(birth.plan, "own-random-bytes"))
            settled = private_memory_random() == 0;
    }
    settled = settled && confine_worker(&worker_confinement) == 0;
    if (!settled)
        _exit(1); /* lint-ok: _exit: its init sees that, and the engine makes another one */
    return DRIVER_GO;
}

/* True in the worker. */
static bool make_worker(void)
{
    if (setjmp(birth.home) == 0)
        clone_and_wait(guide_stack, guide_main, -1);
    if (birth.is_worker)
        return true;
    for (size_t i = 0; i < birth.n_fds; i++)
        close(birth.fds[i]);
    return false;
}

int sbr_worker_next(void)
{
    if (!birth.plan && !prepare())
        return -1;
    while (receive_order())
        if (make_worker())
            return worker_begin();
    return -1;
}
