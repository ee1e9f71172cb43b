/* Everything that depends on the CPU is here (and in the policy compiler's number tables). */
#ifndef BASE_ARCH_H
#define BASE_ARCH_H

#include <errno.h>
#include <linux/audit.h>
#include <linux/sched.h>
#include <stddef.h>
#include <sys/syscall.h>

#if defined(__x86_64__)
#define ARCH_NAME "x86_64"
#define ARCH_AUDIT AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define ARCH_NAME "aarch64"
#define ARCH_AUDIT AUDIT_ARCH_AARCH64
#else
#error "sandbox-run knows x86_64 and aarch64; add the three facts of this file for another"
#endif

/* System calls without the C library: they return like the kernel and touch no errno, which belongs
 * to another task when memory is shared with it. */
/* NOLINTNEXTLINE(readability-function-size): as many parameters as a system call has */
static inline long arch_syscall5(long number, long a, long b, long c, long d, long e)
{
#if defined(__x86_64__)
    register long fourth __asm__("r10") = d;
    register long fifth __asm__("r8") = e;
    long result;

    __asm__ volatile("syscall"
                     : "=a"(result)
                     : "0"(number), "D"(a), "S"(b), "d"(c), "r"(fourth), "r"(fifth)
                     : "rcx", "r11", "memory");
    return result;
#else
    register long eighth __asm__("x8") = number;
    register long result __asm__("x0") = a;
    register long second __asm__("x1") = b;
    register long third __asm__("x2") = c;
    register long fourth __asm__("x3") = d;
    register long fifth __asm__("x4") = e;

    __asm__ volatile("svc #0"
                     : "+r"(result)
                     : "r"(eighth), "r"(second), "r"(third), "r"(fourth), "r"(fifth)
                     : "memory", "cc");
    return result;
#endif
}

static inline long arch_syscall(long number, long a, long b, long c)
{
    return arch_syscall5(number, a, b, c, 0, 0);
}

/* clone or clone3 with CLONE_VM: the child starts in `main` on the new stack, in the caller's
 * memory.  `call`: the number and five arguments. */
/* NOLINTNEXTLINE(readability-function-size): a system call and where its child begins */
static inline long arch_clone_at(const long call[6], void (*main)(void *), void *context)
{
#if defined(__x86_64__)
    register void (*entry)(void *) __asm__("r12") = main;
    register void *argument __asm__("r13") = context;
    register long fourth __asm__("r10") = call[4];
    register long fifth __asm__("r8") = call[5];
    long result;

    __asm__ volatile("syscall\n\t"
                     "test %%rax, %%rax\n\t"
                     "jnz 1f\n\t"
                     "xor %%ebp, %%ebp\n\t"
                     "mov %%r13, %%rdi\n\t"
                     "call *%%r12\n\t"
                     "ud2\n"
                     "1:"
                     : "=a"(result)
                     : "0"(call[0]), "D"(call[1]), "S"(call[2]), "d"(call[3]), "r"(fourth),
                       "r"(fifth), "r"(entry), "r"(argument)
                     : "rcx", "r11", "memory", "cc");
    return result;
#else
    register long number __asm__("x8") = call[0];
    register long result __asm__("x0") = call[1];
    register long second __asm__("x1") = call[2];
    register long third __asm__("x2") = call[3];
    register long fourth __asm__("x3") = call[4];
    register long fifth __asm__("x4") = call[5];
    register void (*entry)(void *) __asm__("x19") = main;
    register void *argument __asm__("x20") = context;

    __asm__ volatile("svc #0\n\t"
                     "cbnz x0, 1f\n\t"
                     "mov x29, xzr\n\t"
                     "mov x0, x20\n\t"
                     "blr x19\n\t"
                     "brk #0\n"
                     "1:"
                     : "+r"(result)
                     : "r"(number), "r"(second), "r"(third), "r"(fourth), "r"(fifth), "r"(entry),
                       "r"(argument)
                     : "memory", "cc");
    return result;
#endif
}

/* clone3 with CLONE_VM, or clone where a container's filter hides clone3: only a start in a cgroup
 * needs the new call.  `main` must not return.  Returns like the kernel: pid or -errno. */
static inline long arch_clone3(struct clone_args *args, void (*main)(void *), void *context)
{
    const long new_call[6] = { SYS_clone3, (long)args, sizeof(*args) };
    const long old_call[6] = { SYS_clone, (long)(args->flags | args->exit_signal),
                               (long)(args->stack + args->stack_size), (long)args->pidfd };
    long result = arch_clone_at(new_call, main, context);

    return result == -ENOSYS && !(args->flags & CLONE_INTO_CGROUP)
               ? arch_clone_at(old_call, main, context)
               : result;
}

/* The last two arguments of clone stand in the order of the CPU. */
#if defined(__x86_64__)
#define ARCH_CLONE_LAST(tid, tls) (long)(tid), (long)(tls)
#else
#define ARCH_CLONE_LAST(tid, tls) (long)(tls), (long)(tid)
#endif

/* Another thread of this process, like those of the C library: `tid` is where that keeps its
 * number, `tls` its own memory.  `main` must not return. */
/* NOLINTNEXTLINE(readability-function-size): what makes a thread */
static inline long arch_clone_thread(void *stack, int *tid, void *tls, void (*main)(void *),
                                     void *context)
{
    const long flags = CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD |
                       CLONE_SYSVSEM | CLONE_SETTLS | CLONE_PARENT_SETTID | CLONE_CHILD_CLEARTID;
    const long call[6] = { SYS_clone, flags, (long)stack, (long)tid, ARCH_CLONE_LAST(tid, tls) };

    return arch_clone_at(call, main, context);
}

/* A copy of this process, made without the C library; `tid` as above. */
static inline long arch_fork(int *tid)
{
    const long flags = CLONE_CHILD_SETTID | CLONE_CHILD_CLEARTID | 17; /* SIGCHLD */
    const long last[2] = { ARCH_CLONE_LAST(tid, 0) };

    return arch_syscall5(SYS_clone, flags, 0, 0, last[0], last[1]);
}

#endif
