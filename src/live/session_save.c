/* A kernel forks, and the child writes all of its memory into two pipes.  See session_copy.h.
 *
 * The table goes ahead of the fork, so that the loader lays the memory out meanwhile, and the child
 * runs nothing but this: every page that an interpreter touches there would be copied first. */
#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>

#include "live/session_saver.h"

#if defined(__x86_64__)
#define FULL_NS 200000L
#define FULL_DOUBLED 7
#define LAST_NS 5000000L /* the end of a large process uses a CPU that the copy needs just then */
#define SPLICE_F_NONBLOCK 2
/* The system knows no heap of a copy, so the C library must not ask for more of that one. */
#define NO_HEAP (-16UL)

/* Returns 0, and a second time, in the copy, what the loader has left: its address. */
uint64_t session_save_registers(struct copy_registers *at) __attribute__((returns_twice));
__asm__(".pushsection .text\n"
        ".hidden session_save_registers\n"
        ".globl session_save_registers\n"
        ".type session_save_registers, @function\n"
        "session_save_registers:\n"
        "  movq %rbx, (%rdi)\n"
        "  movq %rbp, 8(%rdi)\n"
        "  movq %r12, 16(%rdi)\n"
        "  movq %r13, 24(%rdi)\n"
        "  movq %r14, 32(%rdi)\n"
        "  movq %r15, 40(%rdi)\n"
        "  leaq 8(%rsp), %rax\n"
        "  movq %rax, 48(%rdi)\n"
        "  movq (%rsp), %rax\n"
        "  movq %rax, 56(%rdi)\n"
        "  stmxcsr 64(%rdi)\n"
        "  fnstcw 68(%rdi)\n"
        "  xorl %eax, %eax\n"
        "  ret\n"
        ".popsection\n");

/* After `n`, which a call on the pipe returned: how much was taken, or an error.
 *
 * A writer that waits in a full pipe is woken for every page that is taken out, and takes the CPU
 * from the reader for it.  So it sleeps until the reader has taken more: a full pipe lasts longer
 * than that.  A reader that stands still is asked less and less often. */
static long await_room(struct part *p, long n)
{
    struct timespec pause = { .tv_nsec = FULL_NS << p->waits };

    if (n > 0)
        p->waits = 0;
    if (n != -EAGAIN)
        return n == -EINTR ? 0 : n ? n : -EIO;
    copy_call(SYS_nanosleep, (long)&pause, 0, 0, 0, 0, 0);
    p->waits += p->waits < FULL_DOUBLED;
    return 0;
}

static long write_all(struct part *p, const void *data, size_t len)
{
    const char *at = data;

    while (len > 0) {
        long n = await_room(p, copy_call(SYS_write, p->pipe, (long)at, (long)len, 0, 0, 0));

        if (n < 0)
            return n;
        at += n;
        len -= (size_t)n;
    }
    return 0;
}

/* The pages themselves go into the pipe: the only copy is made by the reader. */
static long give_pages(struct part *p, uint64_t start, uint64_t len)
{
    while (len > 0) {
        struct iovec pages = { (void *)start, len };
        long n = await_room(p, copy_call(SYS_vmsplice, p->pipe, (long)&pages, 1, SPLICE_F_NONBLOCK,
                                         0, 0));

        if (n < 0)
            return n;
        start += (uint64_t)n;
        len -= (uint64_t)n;
    }
    return 0;
}

static long give_run(struct part *p, const struct copy_region *region, uint64_t start, uint64_t end)
{
    const struct copy_run run = { start, end - start };
    long r = write_all(p, &run, sizeof(run));

    if (r < 0)
        return r;
    /* What changes while we are at work is written, the rest is given. */
    return region->kind == COPY_STACK ? write_all(p, (const void *)start, run.len)
                                      : give_pages(p, start, run.len);
}

static long give_piece(struct part *p, const struct copy_region *region, uint64_t at, uint64_t end)
{
    uint64_t run = 0;
    long r = 0, n = session_table_entries(p, at, end);

    if (n < 0)
        return n;
    for (long i = 0; r >= 0 && i < n; i++, at += COPY_PAGE) {
        bool own = session_table_is_own(region, p->entries[i]);

        if (own && !run)
            run = at;
        if (!own && run) {
            r = give_run(p, region, run, at);
            run = 0;
        }
    }
    return r >= 0 && run ? give_run(p, region, run, end) : r;
}

/* The next piece that no thread has taken, of a region from `*i` on; *i is N_REGIONS after the
 * last.  Its end is at a multiple of the size, because page tables have one lock for so much. */
static bool take_piece(struct saver *s, uint32_t *i, uint64_t *ret_start, uint64_t *ret_end)
{
    uint64_t next = __atomic_load_n(&s->next, __ATOMIC_RELAXED);

    while (*i < s->header.n_regions) {
        const struct copy_region *region = &s->regions[*i];
        uint64_t start = next > region->start ? next : region->start;
        uint64_t end = (start / COPY_PIECE + 1) * COPY_PIECE;

        if (!region->filled || start >= region->end) {
            (*i)++;
            continue;
        }
        if (end > region->end)
            end = region->end;
        if (__atomic_compare_exchange_n(&s->next, &next, end, false, __ATOMIC_RELAXED,
                                        __ATOMIC_RELAXED)) {
            *ret_start = start;
            *ret_end = end;
            return true;
        }
    }
    return false;
}

/* A reader that misses the last run knows that this has failed. */
static void give_part(void *context)
{
    static const struct copy_run last = { 0, 0 };
    struct part *p = context;
    uint64_t start, end;
    uint32_t i = 0;
    long r = 0;

    while (r >= 0 && take_piece(p->saver, &i, &start, &end))
        r = give_piece(p, &p->saver->regions[i], start, end);
    if (r >= 0)
        (void)write_all(p, &last, sizeof(last));
}

static long give_table(struct saver *s)
{
    struct part *p = &s->parts[0];
    long r = write_all(p, &s->header, sizeof(s->header));

    if (r >= 0)
        r = write_all(p, s->regions, s->header.n_regions * sizeof(s->regions[0]));
    return r < 0 ? r : write_all(p, s->paths, s->header.paths_len);
}

static long open_pagemap(struct saver *s)
{
    s->pagemap = (int)copy_call(SYS_openat, AT_FDCWD, (long)"/proc/self/pagemap",
                                O_RDONLY | O_CLOEXEC, 0, 0, 0);
    return s->pagemap;
}

static long prepare(struct saver *s, int first, int second)
{
    long r;

    s->parts[0].pipe = first;
    s->parts[1].pipe = second;
    s->parts[0].saver = s->parts[1].saver = s;
    for (size_t i = 0; i < 2; i++)
        copy_call(SYS_fcntl, s->parts[i].pipe, F_SETFL, O_NONBLOCK, 0, 0, 0);
    r = open_pagemap(s);
    if (r < 0)
        return r;
    r = session_table_read(s);
    copy_call(SYS_close, s->pagemap, 0, 0, 0, 0, 0); /* the child needs its own */
    return r < 0 ? r : give_table(s);
}

static long save(struct saver *s)
{
    const struct timespec until_read = { .tv_nsec = LAST_NS };
    long r;

    if (open_pagemap(s) < 0 || !session_table_is_as_given(s) || session_table_show_hidden(s) < 0)
        return -ENOTSUP;
    r = session_thread_start(s->stack, give_part, &s->parts[1], &s->alive);
    give_part(&s->parts[0]);
    if (r < 0)
        give_part(&s->parts[1]);
    session_thread_wait(&s->alive);
    copy_call(SYS_nanosleep, (long)&until_read, 0, 0, 0, 0, 0);
    return 0;
}

static struct saver *make_saver(long rseq, uint64_t rseq_size)
{
    long made = copy_call(SYS_mmap, 0, sizeof(struct saver), PROT_READ | PROT_WRITE,
                          MAP_SHARED | MAP_ANONYMOUS, -1, 0); /* not joined with others */
    struct saver *s = (struct saver *)made;

    if (made < 0 && made > -4096)
        return NULL;
    __asm__("movq %%fs:16, %0" : "=r"(s->header.fs));
    s->header.rseq = rseq_size ? s->header.fs + (uint64_t)rseq : 0;
    s->header.rseq_size = rseq_size;
    return s;
}

/* As fork: the number of the child that writes, and 0 in the copy.  Negative: an error number, and
 * there is no copy.  The child ends here, because it must not change pages that are in a pipe.
 * What an interpreter has to do after a fork it does in the copy.  `rseq` is where the C library
 * has registered such an area, from the thread's own pointer on; `rseq_size` 0: it has none. */
__attribute__((visibility("default"))) long session_copy_fork(const struct copy_calls *calls,
                                                              int first, int second, long rseq,
                                                              uint64_t rseq_size)
{
    struct saver *s = make_saver(rseq, rseq_size);
    uint64_t left;
    long r;

    if (!s)
        return -ENOMEM;
    calls->before();
    left = session_save_registers(&s->header.at);
    if (left) {
        copy_call(SYS_munmap, (long)left, *(const long *)left, 0, 0, 0, 0);
        *calls->heap_end = NO_HEAP;
        calls->in_child();
        return 0;
    }
    r = prepare(s, first, second);
    if (r >= 0 && (r = calls->fork()) < 0)
        r = -EAGAIN;
    if (r == 0)
        copy_call(SYS_exit_group, save(s) < 0, 0, 0, 0, 0, 0);
    copy_call(SYS_munmap, (long)s, sizeof(*s), 0, 0, 0, 0);
    calls->in_parent();
    return r;
}
#endif
