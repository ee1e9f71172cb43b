/* One thread without a C library; see session_copy.h. */
#include <errno.h>
#include <linux/futex.h>
#include <sched.h>
#include <sys/syscall.h>

#include "live/session_copy.h"

#if defined(__x86_64__)
#define FLAGS                                                                                      \
    (CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD | CLONE_SYSVSEM |            \
     CLONE_CHILD_CLEARTID)

/* (flags, stack, alive): the new thread takes its function and its argument from the stack. */
long session_thread_clone(long flags, void *stack, uint32_t *alive);
__asm__(".pushsection .text\n"
        ".hidden session_thread_clone\n"
        ".globl session_thread_clone\n"
        ".type session_thread_clone, @function\n"
        "session_thread_clone:\n"
        "  movq %rdx, %r10\n"
        "  xorl %edx, %edx\n"
        "  xorl %r8d, %r8d\n"
        "  movl $56, %eax\n" /* clone */
        "  syscall\n"
        "  testq %rax, %rax\n"
        "  jnz 1f\n"
        "  xorl %ebp, %ebp\n"
        "  popq %rax\n"
        "  popq %rdi\n"
        "  call *%rax\n"
        "  xorl %edi, %edi\n"
        "  movl $60, %eax\n" /* exit */
        "  syscall\n"
        "1: ret\n"
        ".popsection\n");

long session_thread_start(char *stack, void (*run)(void *), void *context, uint32_t *alive)
{
    uint64_t *top = (uint64_t *)(stack + COPY_STACK_SIZE) - 2; /* aligned as before a call */
    long r;

    top[0] = (uint64_t)(uintptr_t)run;
    top[1] = (uint64_t)(uintptr_t)context;
    *alive = 1;
    r = session_thread_clone(FLAGS, top, alive);
    if (r < 0)
        *alive = 0;
    return r;
}

/* The kernel writes the 0 when the thread runs no code any more. */
void session_thread_wait(uint32_t *alive)
{
    while (*(volatile uint32_t *)alive)
        copy_call(SYS_futex, (long)alive, FUTEX_WAIT, 1, 0, 0, 0);
}
#endif
