/* Continues in a function further down the stack, as if its callee had returned 0. */
#ifndef WORKER_RESUME_H
#define WORKER_RESUME_H

#include <stdbool.h>
#include <stdint.h>

/* Registers that a call leaves unchanged, by their DWARF numbers. */
#if defined(__x86_64__)
#define N_KEPT 6
static const int kept_registers[N_KEPT] = { 3, 6, 12, 13, 14, 15 }; /* rbx, rbp, r12 to r15 */
#elif defined(__aarch64__)
#define N_KEPT 11
static const int kept_registers[N_KEPT] = { 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29 };
#else
#error "sandbox-run knows x86_64 and aarch64"
#endif

struct resume_point {
    uintptr_t address;
    uintptr_t stack;
    uintptr_t kept[N_KEPT];
};

/* False where the CPU keeps a second stack of return addresses. */
static inline bool resume_works(void)
{
#if defined(__x86_64__)
    uint64_t shadow = 0;

    __asm__ volatile("rdsspq %0" : "+r"(shadow)); /* does nothing without one */
    return shadow == 0;
#else
    return true;
#endif
}

static inline void __attribute__((noreturn)) resume_at(const struct resume_point *point)
{
#if defined(__x86_64__)
    __asm__ volatile("mov 16(%0), %%rbx\n\t"
                     "mov 24(%0), %%rbp\n\t"
                     "mov 32(%0), %%r12\n\t"
                     "mov 40(%0), %%r13\n\t"
                     "mov 48(%0), %%r14\n\t"
                     "mov 56(%0), %%r15\n\t"
                     "mov 8(%0), %%rsp\n\t"
                     "xor %%eax, %%eax\n\t"
                     "jmp *(%0)"
                     :
                     : "c"(point)
                     : "memory");
#else
    __asm__ volatile("ldp x19, x20, [%0, #16]\n\t"
                     "ldp x21, x22, [%0, #32]\n\t"
                     "ldp x23, x24, [%0, #48]\n\t"
                     "ldp x25, x26, [%0, #64]\n\t"
                     "ldp x27, x28, [%0, #80]\n\t"
                     "ldr x29, [%0, #96]\n\t"
                     "ldp x16, x17, [%0]\n\t"
                     "mov sp, x17\n\t"
                     "mov x0, #0\n\t"
                     "br x16"
                     :
                     : "r"(point)
                     : "x16", "x17", "memory");
#endif
    __builtin_unreachable();
}

#endif
