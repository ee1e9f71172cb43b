/* A fork copies the memory of all threads, but only one thread.  A runtime whose threads are
 * missing waits for them for ever.  So each thread of the zygote is stopped by a signal while it
 * waits for work; its registers are then in its own memory, in the frame of that signal.  A copy of
 * the process has these frames too.  There, a new thread for each frame takes the old one's stack
 * and thread-local memory and returns from the signal.
 *
 * The C library's fork() would give the stacks of those threads away, so the copy is made without
 * it.  No handler of a library runs: they repair what belonged to lost threads.  No lock is held:
 * all threads were in a system call that waits. */
#include "worker/worker.h"

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#include "base/arch.h"
#include "base/clock.h"
#include "base/fd.h"

#define MAX_THREADS 64
#define MAX_WAIT_US 3000000ULL
#define LOOK_EVERY_NS 300000L
#define MAX_LOOKS 3   /* in a row at which a thread sleeps */
#define STACK_GAP 256 /* below a frame that is still in use */
#define RSEQ_SIZE 32
#define RSEQ_FAILED (-2)

/* The C library never blocks this one, in no thread: it would end a thread that is cancelled. */
#define STOP_SIGNAL 32

#if defined(__x86_64__)
#define RSEQ_MARK 0x53053053
#define READ_STACK_POINTER "mov %%rsp, %0"
#else
#define RSEQ_MARK 0xd428bc00
#define READ_STACK_POINTER "mov %0, sp"
#endif

struct thread {
    int tid;
    int *tid_place;    /* where the C library keeps it; the kernel clears it at the end */
    void *robust_list; /* of locks */
    char *tls;
    char *stack;
    bool waits; /* in a system call */
    jmp_buf home;
    atomic_int stopped;
};

/* The kernel's own form. */
struct kernel_action {
    void (*handler)(int, siginfo_t *, void *);
    unsigned long flags;
    void (*restorer)(void);
    uint64_t mask;
};

static struct thread threads[MAX_THREADS], main_thread;
static size_t n_threads;
static bool are_stopped;
static struct kernel_action action_before;
static ptrdiff_t rseq_offset; /* from the thread's own memory; 0: the C library uses none */

#if defined(__x86_64__)
void worker_threads_restore(void);
__asm__(".text\n"
        ".hidden worker_threads_restore\n"
        ".globl worker_threads_restore\n"
        ".type worker_threads_restore, @function\n"
        "worker_threads_restore:\n"
        "    mov $15, %eax\n" /* rt_sigreturn */
        "    syscall\n");
#define RESTORER worker_threads_restore
#define SA_WITH_RESTORER 0x04000000ul
#else
#define RESTORER NULL
#define SA_WITH_RESTORER 0ul
#endif

/* True when the interrupted instruction is a system call, or the one before it is, which then had
 * been interrupted. */
static bool is_in_call(const ucontext_t *context)
{
#if defined(__x86_64__)
    const uint8_t *at = (const uint8_t *)context->uc_mcontext.gregs[REG_RIP]; /* NOLINT: a number */
    static const uint8_t call[] = { 0x0f, 0x05 };
#else
    const uint8_t *at = (const uint8_t *)context->uc_mcontext.pc; /* NOLINT: a number */
    static const uint8_t call[] = { 0x01, 0x00, 0x00, 0xd4 };
#endif

    return memcmp(at, call, sizeof(call)) == 0 ||
           memcmp(at - sizeof(call), call, sizeof(call)) == 0;
}

/* What only the kernel knows about the calling thread. */
static void note_self(struct thread *self)
{
    size_t size = 0;

    self->tls = __builtin_thread_pointer();
    if (arch_syscall5(SYS_prctl, PR_GET_TID_ADDRESS, (long)&self->tid_place, 0, 0, 0) < 0)
        self->tid_place = NULL;
    if (arch_syscall(SYS_get_robust_list, 0, (long)&self->robust_list, (long)&size) < 0)
        self->robust_list = NULL;
}

static struct thread *find_self(void)
{
    const int tid = (int)arch_syscall(SYS_gettid, 0, 0, 0);

    for (size_t i = 0; i < n_threads; i++)
        if (threads[i].tid == tid)
            return &threads[i];
    return NULL;
}

/* Stays here for ever in the zygote, and returns in each copy. */
static void __attribute__((noinline)) stay(struct thread *self)
{
    __asm__ volatile(READ_STACK_POINTER : "=r"(self->stack));
    if (setjmp(self->home) != 0)
        return;
    atomic_store(&self->stopped, 1);
    for (;;)
        arch_syscall5(SYS_ppoll, 0, 0, 0, 0, 0);
}

static void stop_here(int signal_number, siginfo_t *info, void *context)
{
    struct thread *self = find_self();

    (void)signal_number;
    (void)info;
    if (!self)
        return;
    note_self(self);
    self->waits = is_in_call(context);
    stay(self);
}

static int set_action(const struct kernel_action *action, struct kernel_action *ret_before)
{
    return (int)arch_syscall5(SYS_rt_sigaction, STOP_SIGNAL, (long)action, (long)ret_before,
                              sizeof(action->mask), 0);
}

/* In a copy: the kernel knows nothing yet of what the C library had told it in the zygote. */
static void tell_kernel(const struct thread *self)
{
    char *const rseq = self->tls + rseq_offset;
    long r;

    arch_syscall(SYS_set_robust_list, (long)self->robust_list, 3 * sizeof(long), 0);
    if (!rseq_offset)
        return;
    r = arch_syscall5(SYS_rseq, (long)rseq, RSEQ_SIZE, 0, RSEQ_MARK, 0);
    if (r < 0 && r != -EBUSY) /* otherwise the number of the CPU would be wrong for ever */
        *(volatile int *)(rseq + sizeof(int)) = RSEQ_FAILED;
}

static void find_rseq(void)
{
    const ptrdiff_t *offset = dlsym(RTLD_DEFAULT, "__rseq_offset");
    const unsigned int *size = dlsym(RTLD_DEFAULT, "__rseq_size");

    rseq_offset = offset && size && *size ? *offset : 0;
}

static bool sleeps(int tid)
{
    char path[40], text[1024];
    const char *state;

    snprintf(path, sizeof(path), "/proc/self/task/%d/stat", tid);
    if (fd_read_small(AT_FDCWD, path, text, sizeof(text)) < 0)
        return false;
    state = strrchr(text, ')');
    return state && state[1] == ' ' && state[2] == 'S';
}

static int list_threads(void)
{
    scoped_dir DIR *tasks = opendir("/proc/self/task");
    const struct dirent *entry;
    const int own = (int)arch_syscall(SYS_gettid, 0, 0, 0);

    n_threads = 0;
    while (tasks && (entry = readdir(tasks))) {
        const int tid = (int)strtol(entry->d_name, NULL, 10);

        if (tid <= 0 || tid == own)
            continue;
        if (n_threads == MAX_THREADS)
            return -1;
        threads[n_threads++] = (struct thread){ .tid = tid };
    }
    return tasks ? 0 : -1;
}

static bool all_sleep(void)
{
    for (size_t i = 0; i < n_threads; i++)
        if (!sleeps(threads[i].tid))
            return false;
    return true;
}

static bool all_stopped(void)
{
    for (size_t i = 0; i < n_threads; i++)
        if (!atomic_load(&threads[i].stopped))
            return false;
    return true;
}

/* Looks until the answer was true so many times in a row. */
static int await(bool (*is_true)(void), int times)
{
    const struct timespec pause = { .tv_nsec = LOOK_EVERY_NS };
    const uint64_t end = clock_now_us() + MAX_WAIT_US;

    for (int seen = 0; seen < times;) {
        seen = is_true() ? seen + 1 : 0;
        if (clock_now_us() > end)
            return -1;
        if (seen < times)
            nanosleep(&pause, NULL);
    }
    return 0;
}

static int signal_all(void)
{
    for (size_t i = 0; i < n_threads; i++)
        if (arch_syscall(SYS_tgkill, getpid(), threads[i].tid, STOP_SIGNAL) < 0)
            return -1;
    return await(all_stopped, 1);
}

static bool can_be_made_again(const struct thread *thread)
{
    return thread->tid_place && *thread->tid_place == thread->tid;
}

int threads_stop(void)
{
    const struct kernel_action action = { .handler = stop_here,
                                          .flags = SA_SIGINFO | SA_RESTART | SA_WITH_RESTORER,
                                          .restorer = RESTORER,
                                          .mask = ~0ull };

    if (!resume_works() || list_threads() < 0 || await(all_sleep, MAX_LOOKS) < 0)
        return -1;
    find_rseq();
    main_thread.tid = (int)arch_syscall(SYS_gettid, 0, 0, 0);
    note_self(&main_thread);
    if (set_action(&action, &action_before) < 0 || signal_all() < 0)
        return -1;
    for (size_t i = 0; i < n_threads; i++)
        if (!threads[i].waits || !can_be_made_again(&threads[i]))
            return -1;
    are_stopped = can_be_made_again(&main_thread);
    return are_stopped ? 0 : -1;
}

bool threads_are_stopped(void)
{
    return are_stopped;
}

pid_t threads_fork(void)
{
    return (pid_t)arch_fork(main_thread.tid_place);
}

static void continue_thread(void *context)
{
    struct thread *self = context;

    tell_kernel(self);
    longjmp(self->home, 1);
}

int threads_resume(void)
{
    sigset_t all, before;
    int r = 0;

    tell_kernel(&main_thread);
    if (set_action(&action_before, NULL) < 0)
        return -1;
    /* A thread gets its own mask when it returns from the signal. */
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, &before);
    for (size_t i = 0; i < n_threads && r >= 0; i++) {
        struct thread *thread = &threads[i];
        const uintptr_t stack = ((uintptr_t)thread->stack - STACK_GAP) & ~(uintptr_t)15;

        r = (int)arch_clone_thread((void *)stack, thread->tid_place, thread->tls, continue_thread,
                                   thread);
    }
    sigprocmask(SIG_SETMASK, &before, NULL);
    return r < 0 ? -1 : 0;
}
