/* How the memory of one process gets into another one, in a sandbox of its own: session_save.c
 * writes it into two pipes, session_load.c reads it there, each with two threads.  Both are in one
 * library without a C library, which a kernel loads to save itself and which is executed to become
 * the copy.
 *
 * Nothing outside reads these bytes.  The kernel that writes them may be hostile, so the loader
 * trusts nothing in them for its own sake: until the pipes are closed it does not execute or
 * overlay anything that they name.  Afterwards it is the copied program, with that sandbox's
 * rights. */
#ifndef LIVE_SESSION_COPY_H
#define LIVE_SESSION_COPY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define COPY_MAGIC 0x31796e6f69737365ULL
#define COPY_SIGNALS 64
#define COPY_REGIONS 6000
#define COPY_PATHS (512UL << 10)
#define COPY_PAGE 4096UL
#define COPY_PIECE (2UL << 20)
#define COPY_STACK_SIZE (16UL << 10)
#define COPY_TOP 0x7ffffffff000UL /* of what a process has */

enum copy_kind {
    COPY_ANON,
    COPY_BROUGHT, /* the same, of a file that the copy has not got: all pages are needed */
    COPY_STACK,
    COPY_FILE,
    COPY_SHARED, /* read-only */
    COPY_VDSO    /* and what belongs to it */
};

struct copy_action { /* as rt_sigaction has it */
    uint64_t handler, flags, restorer, mask;
};

struct copy_registers {
    uint64_t rbx, rbp, r12, r13, r14, r15, sp, ip;
    uint32_t mxcsr, fpu;
};

struct copy_header {
    uint64_t magic;
    struct copy_registers at;
    uint64_t fs, rseq, rseq_size, tid; /* addresses; 0: none */
    uint64_t mask, alt_sp, alt_size;
    uint32_t alt_flags, n_regions, paths_len;
    char name[16];
    struct copy_action actions[COPY_SIGNALS];
};

struct copy_region {
    uint64_t start, end, offset;
    uint64_t size, mtime; /* of the file */
    uint32_t path;        /* offset among the paths */
    uint16_t prot, kind;
    uint16_t filled; /* pages of it come through the pipes */
};

/* Bytes of memory follow each; `len` 0: the last one of the pipe.  Either pipe can have any. */
struct copy_run {
    uint64_t start, len;
};

/* Of the interpreter, around a fork, and of the C library. */
struct copy_calls {
    void (*before)(void), (*in_parent)(void), (*in_child)(void);
    int (*fork)(void);
    uint64_t *heap_end;
};

#if defined(__clang_analyzer__) /* which takes the assembler for a call that writes no memory */
long copy_call(long number, long a, long b, long c, long d, long e, long f);
#elif defined(__x86_64__) /* elsewhere a session is copied by a replay */
static inline long copy_call(long number, long a, long b, long c, long d, long e, long f)
{
    register long r10 __asm__("r10") = d, r8 __asm__("r8") = e, r9 __asm__("r9") = f;
    long r;

    __asm__ volatile("syscall"
                     : "=a"(r)
                     : "0"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
                     : "rcx", "r11", "memory");
    return r;
}
#endif

/* Starts a thread on its own stack; *alive is 0 again when it has ended.  Negative: it cannot. */
long session_thread_start(char *stack, void (*run)(void *), void *context, uint32_t *alive);
void session_thread_wait(uint32_t *alive);

static inline bool copy_equal(const char *a, const char *b, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (a[i] != b[i])
            return false;
    return true;
}

#endif
