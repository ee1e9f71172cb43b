/* Everything that depends on the processor is here (and in the policy compiler's number tables). */
#ifndef BASE_ARCH_H
#define BASE_ARCH_H

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

/* clone3 as an instruction in the caller's own frame.  A library wrapper would not do: with
 * CLONE_VM | CLONE_VFORK the child runs on the parent's stack and would overwrite the wrapper's
 * return address before the parent uses it.  Returns like the kernel: pid, 0 or -errno. */
static inline __attribute__((always_inline)) long arch_clone3(struct clone_args *args)
{
#if defined(__x86_64__)
    long result;

    __asm__ volatile("syscall"
                     : "=a"(result)
                     : "0"((long)SYS_clone3), "D"(args), "S"(sizeof(*args))
                     : "rcx", "r11", "memory");
    return result;
#else
    register long number __asm__("x8") = SYS_clone3;
    register long result __asm__("x0") = (long)args;
    register long size __asm__("x1") = sizeof(*args);

    __asm__ volatile("svc #0" : "+r"(result) : "r"(number), "r"(size) : "memory", "cc");
    return result;
#endif
}

/* Any other system call, without the C library: returns like the kernel and touches no errno, which
 * belongs to another task when memory is shared with it. */
static inline long arch_syscall(long number, long a, long b, long c, long d)
{
#if defined(__x86_64__)
    register long fourth __asm__("r10") = d;
    long result;

    __asm__ volatile("syscall"
                     : "=a"(result)
                     : "0"(number), "D"(a), "S"(b), "d"(c), "r"(fourth)
                     : "rcx", "r11", "memory");
    return result;
#else
    register long eighth __asm__("x8") = number;
    register long result __asm__("x0") = a;
    register long second __asm__("x1") = b;
    register long third __asm__("x2") = c;
    register long fourth __asm__("x3") = d;

    __asm__ volatile("svc #0"
                     : "+r"(result)
                     : "r"(eighth), "r"(second), "r"(third), "r"(fourth)
                     : "memory", "cc");
    return result;
#endif
}

#endif
