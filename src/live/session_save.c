/* A kernel forks, and the child writes all of its memory into two pipes.  See session_copy.h.
 *
 * The table goes ahead of the fork, so that the loader lays the memory out meanwhile, and the child
 * runs nothing but this: every page that an interpreter touches there would be copied first. */
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>

#include "live/session_maps.h"

#if defined(__x86_64__)
#define MAPS_SIZE (1UL << 20)
#define ENTRIES (COPY_PIECE / COPY_PAGE) /* of the page map, at a time */
#define TOTAL_MAX (64UL << 30)
#define PATH_SIZE 4096
#define FULL_NS 200000L
#define FULL_DOUBLED 7
#define SPLICE_F_NONBLOCK 2
#define PRESENT (3ULL << 62) /* or swapped out */
#define IS_FILES (1ULL << 61)
#define TID_REACH 0x900 /* of what the C library keeps for a thread */
/* The system knows no heap of a copy, so the C library must not ask for more of that one. */
#define NO_HEAP (-16UL)
#define HIDDEN_MAX (16UL << 30) /* of memory that cannot be read, and may have pages all the same */

struct saver {
    struct copy_header header;
    struct copy_region regions[COPY_REGIONS];
    char paths[COPY_PATHS];
    char maps[MAPS_SIZE], maps_again[MAPS_SIZE];
    long maps_len;
    char path[PATH_SIZE];
    int pagemap;
    uint64_t hidden;
    uint32_t alive;
    uint64_t next; /* address from which on no thread has taken a piece */
    struct part {
        struct saver *saver;
        int pipe;
        unsigned int waits; /* without any progress */
        uint64_t entries[ENTRIES];
    } parts[2];
    __attribute__((aligned(16))) char stack[COPY_STACK_SIZE];
};

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

static bool is_named(const struct map_line *line, const char *name, size_t len)
{
    return line->path_len >= len && copy_equal(line->path, name, len);
}

/* Where the path of the region before is, when it is the same; otherwise where a new one goes. */
static uint32_t find_path(const struct saver *s, size_t len)
{
    uint32_t n = s->header.paths_len;

    return n >= len && copy_equal(&s->paths[n - len], s->path, len) ? n - (uint32_t)len : n;
}

/* The file of a mapping, as the copy shall find it again. */
static long add_file(struct saver *s, const struct map_line *line, struct copy_region *region)
{
    struct statfs fs;
    struct stat st;

    if (line->path_len >= PATH_SIZE || s->header.paths_len + line->path_len + 1 > COPY_PATHS ||
        line->path[0] != '/')
        return -ENOTSUP;
    for (size_t i = 0; i < line->path_len; i++)
        s->path[i] = line->path[i];
    s->path[line->path_len] = '\0';
    if (copy_call(SYS_newfstatat, AT_FDCWD, (long)s->path, (long)&st, 0, 0, 0) < 0 ||
        copy_call(SYS_statfs, (long)s->path, (long)&fs, 0, 0, 0, 0) < 0)
        return line->shared ? -ENOTSUP : 1; /* it is gone; the bytes are here */
    if (!line->shared && fs.f_type == TMPFS_MAGIC)
        return 1; /* each sandbox has its own */
    region->kind = line->shared ? COPY_SHARED : COPY_FILE;
    region->offset = line->offset;
    region->size = (uint64_t)st.st_size;
    region->mtime = (uint64_t)st.st_mtim.tv_sec * 1000000000U + (uint64_t)st.st_mtim.tv_nsec;
    region->path = find_path(s, line->path_len + 1);
    if (region->path < s->header.paths_len)
        return 0;
    for (size_t i = 0; i <= line->path_len; i++)
        s->paths[s->header.paths_len++] = s->path[i];
    return 0;
}

/* By its address: in a copy it has no name. */
static bool is_our_stack(const struct map_line *line)
{
    uint64_t here = (uint64_t)(uintptr_t)__builtin_frame_address(0);

    return line->start <= here && here < line->end;
}

/* Whether the copy would not have this page without us. */
static bool is_own(const struct copy_region *region, uint64_t entry)
{
    if (region->kind == COPY_FILE)
        return (entry & PRESENT) && !(entry & IS_FILES);
    return region->kind == COPY_BROUGHT || (entry & PRESENT);
}

/* The entries of the pages from `at` on; how many, or an error. */
static long read_entries(struct part *p, uint64_t at, uint64_t end)
{
    uint64_t n = (end - at) / COPY_PAGE;

    if (n > ENTRIES)
        n = ENTRIES;
    if (copy_call(SYS_pread64, p->saver->pagemap, (long)p->entries, (long)(n * 8),
                  (long)(at / COPY_PAGE * 8), 0, 0) != (long)(n * 8))
        return -EIO;
    return (long)n;
}

/* A program can forbid itself memory that it has written, and permit it again later. */
static long find_hidden(struct saver *s, struct copy_region *region)
{
    struct part *p = &s->parts[0];
    long n = 0;

    s->hidden += region->end - region->start;
    if (s->hidden > HIDDEN_MAX)
        return -ENOTSUP; /* to look at all of it would take too long */
    for (uint64_t at = region->start; n >= 0 && at < region->end; at += (uint64_t)n * COPY_PAGE) {
        n = read_entries(p, at, region->end);
        for (long i = 0; i < n && !region->filled; i++)
            region->filled = is_own(region, p->entries[i]);
    }
    return n < 0 ? n : 0;
}

/* The child ends after the copy, so it may permit itself what it likes. */
static long show_hidden(const struct saver *s)
{
    long r = 0;

    for (uint32_t i = 0; r >= 0 && i < s->header.n_regions; i++) {
        const struct copy_region *region = &s->regions[i];

        if (region->filled && !(region->prot & PROT_READ))
            r = copy_call(SYS_mprotect, (long)region->start, (long)(region->end - region->start),
                          PROT_READ, 0, 0, 0);
    }
    return r;
}

static long add_region(struct saver *s, const struct map_line *line)
{
    struct copy_region *region = &s->regions[s->header.n_regions];
    long r = 0;

    if (line->start == (uint64_t)(uintptr_t)s || is_named(line, "[vsyscall]", 10))
        return 0;
    if (s->header.n_regions == COPY_REGIONS || (line->shared && line->writable))
        return -ENOTSUP;
    *region = (struct copy_region){
        .start = line->start,
        .end = line->end,
        .prot = (uint16_t)((line->readable ? PROT_READ : 0) | (line->writable ? PROT_WRITE : 0) |
                           (line->executable ? PROT_EXEC : 0)),
        .kind = COPY_ANON,
    };
    if (is_our_stack(line))
        region->kind = COPY_STACK;
    else if (is_named(line, "[vdso]", 6) || is_named(line, "[vvar", 5))
        region->kind = COPY_VDSO;
    else if (line->path_len && line->path[0] != '[')
        r = add_file(s, line, region);
    else if (line->shared)
        r = -ENOTSUP;
    if (r == 1)
        region->kind = COPY_BROUGHT;
    region->filled = line->readable && region->kind < COPY_SHARED;
    if (r >= 0 && !line->readable && region->kind < COPY_SHARED)
        r = find_hidden(s, region);
    s->header.n_regions += r >= 0;
    return r < 0 ? r : 0;
}

static long read_regions(struct saver *s)
{
    long len = session_maps_read("/proc/self/maps", s->maps, MAPS_SIZE), r = 0;
    const char *at = s->maps, *end = s->maps + (len > 0 ? len : 0);
    struct map_line line;
    uint64_t total = 0;

    if (len <= 0)
        return -ENOTSUP;
    s->maps_len = len;
    while (r == 0 && at < end && (at = session_maps_line(at, end, &line)) != NULL) {
        r = add_region(s, &line);
        total += line.readable ? line.end - line.start : 0;
    }
    return r < 0 ? r : total > TOTAL_MAX ? -ENOTSUP : 0;
}

static bool is_same(const struct map_line *a, const struct map_line *b)
{
    return (a->start == b->start || (is_our_stack(a) && is_our_stack(b))) && a->end == b->end &&
           a->offset == b->offset && a->readable == b->readable && a->writable == b->writable &&
           a->executable == b->executable && a->shared == b->shared;
}

/* In the child: whether the table that was given is its own.  A thread that runs beside the
 * interpreter, or what a library does at a fork, can have changed it. */
static bool is_as_given(struct saver *s)
{
    long len = session_maps_read("/proc/self/maps", s->maps_again, MAPS_SIZE);
    const char *was = s->maps, *was_end = was + s->maps_len;
    const char *now = s->maps_again, *now_end = now + (len > 0 ? len : 0);
    struct map_line before, after;

    while (was < was_end && now < now_end) {
        was = session_maps_line(was, was_end, &before);
        now = session_maps_line(now, now_end, &after);
        if (!was || !now || !is_same(&before, &after))
            return false;
    }
    return was == was_end && now == now_end;
}

/* The C library has the number of a thread in its memory, and compares it with those of locks. */
static uint64_t find_tid(uint64_t fs)
{
    uint32_t tid = (uint32_t)copy_call(SYS_gettid, 0, 0, 0, 0, 0, 0);
    uint64_t found = 0;

    for (uint64_t at = fs; at < fs + TID_REACH; at += sizeof(tid)) {
        if (*(const uint32_t *)at != tid)
            continue;
        if (found)
            return 0;
        found = at;
    }
    return found;
}

static void save_process(struct copy_header *h)
{
    struct {
        uint64_t sp;
        uint32_t flags, pad;
        uint64_t size;
    } alt = { 0 };

    h->tid = find_tid(h->fs);
    copy_call(SYS_rt_sigprocmask, 0, 0, (long)&h->mask, 8, 0, 0);
    copy_call(SYS_sigaltstack, 0, (long)&alt, 0, 0, 0, 0);
    h->alt_sp = alt.sp;
    h->alt_size = alt.size;
    h->alt_flags = alt.flags;
    copy_call(SYS_prctl, PR_GET_NAME, (long)h->name, 0, 0, 0, 0);
    for (long i = 0; i < COPY_SIGNALS; i++)
        copy_call(SYS_rt_sigaction, i + 1, 0, (long)&h->actions[i], 8, 0, 0);
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
    long r = 0, n = read_entries(p, at, end);

    if (n < 0)
        return n;
    for (long i = 0; r >= 0 && i < n; i++, at += COPY_PAGE) {
        bool own = is_own(region, p->entries[i]);

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
    r = read_regions(s);
    copy_call(SYS_close, s->pagemap, 0, 0, 0, 0, 0); /* the child needs its own */
    s->header.magic = COPY_MAGIC;
    save_process(&s->header);
    return r < 0 ? r : give_table(s);
}

static long save(struct saver *s)
{
    long r;

    if (open_pagemap(s) < 0 || !is_as_given(s) || show_hidden(s) < 0)
        return -ENOTSUP;
    r = session_thread_start(s->stack, give_part, &s->parts[1], &s->alive);
    give_part(&s->parts[0]);
    if (r < 0)
        give_part(&s->parts[1]);
    session_thread_wait(&s->alive);
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
