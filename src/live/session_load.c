/* Becomes the copy of a kernel: the program of a sandbox that has run nothing else yet.  It reads
 * the memory from a pipe, which comes with a frame on the kernel's channel.  See session_copy.h. */
#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "live/session_saver.h"

#if defined(__x86_64__)
#include <asm/prctl.h>

#define CHANNEL 3
#define MAPS_SIZE (256UL << 10)
#define STACK_SIZE (64UL << 10)
#define CODE_SIZE (64UL << 10)
#define VDSO_SIZE (256UL << 10)
#define VDSO_PARTS 8
#define STACK_REACH (64UL << 20) /* that a stack may grow downwards */
#define LOWEST 0x10000UL
#define FILL_STEP (256UL << 10)
#define RSEQ_SIGNATURE 0x53053053
#define RSEQ_FAILED ((uint32_t)-2)

extern const char __ehdr_start[] __attribute__((visibility("hidden")));
extern const char _end[] __attribute__((visibility("hidden")));

struct vdso_part {
    uint64_t start, len;
};

/* Lies where the copy has nothing, and is all that is left of the loader in the end. */
struct loader {
    uint64_t size; /* the copy unmaps it by this */
    int pipes[2];
    uint32_t alive; /* the second thread */
    struct vdso_part vdso[VDSO_PARTS];
    size_t n_vdso;
    struct copy_header header;
    struct copy_region regions[COPY_REGIONS];
    char paths[COPY_PATHS];
    char maps[MAPS_SIZE];
    __attribute__((aligned(4096))) char code[CODE_SIZE];
    __attribute__((aligned(4096))) char vdso_room[VDSO_SIZE];
    __attribute__((aligned(4096))) char stack[STACK_SIZE];
    __attribute__((aligned(4096))) char second_stack[COPY_STACK_SIZE];
};

__attribute__((noreturn)) static void end(const char *why, size_t len)
{
    char text[160] = "failed 0 - 00\n";
    size_t n = 14;

    text[11] = (char)('0' + len / 10);
    text[12] = (char)('0' + len % 10);
    for (size_t i = 0; i < len && n < sizeof(text); i++)
        text[n++] = why[i];
    copy_call(SYS_write, CHANNEL, (long)text, (long)n, 0, 0, 0);
    copy_call(SYS_exit_group, 1, 0, 0, 0, 0, 0);
    __builtin_unreachable();
}
#define END(why) end(why, sizeof(why) - 1)

static bool is_bad(long r)
{
    return r < 0 && r > -4096;
}

static void read_all(int fd, uint64_t to, uint64_t len)
{
    while (len > 0) {
        long n = copy_call(SYS_read, fd, (long)to, (long)len, 0, 0, 0);

        if (n == -EINTR)
            continue;
        if (n <= 0)
            END("the copy of the memory is not complete");
        to += (uint64_t)n;
        len -= (uint64_t)n;
    }
}

/* The frame has the pipes with it. */
static void take_pipes(struct loader *l)
{
    char frame[128], extra[64] __attribute__((aligned(8)));
    struct iovec to = { frame, sizeof(frame) };
    struct msghdr message = {
        .msg_iov = &to, .msg_iovlen = 1, .msg_control = extra, .msg_controllen = sizeof(extra)
    };
    const struct cmsghdr *with = (const struct cmsghdr *)extra;
    static const char ready[] = "ready 0 - 2\n{}";
    long n;

    copy_call(SYS_write, CHANNEL, (long)ready, sizeof(ready) - 1, 0, 0, 0);
    do
        n = copy_call(SYS_recvmsg, CHANNEL, (long)&message, MSG_CMSG_CLOEXEC, 0, 0, 0);
    while (n == -EINTR);
    if (n < 5 || !copy_equal(frame, "load ", 5) ||
        message.msg_controllen < CMSG_LEN(sizeof(l->pipes)) || with->cmsg_type != SCM_RIGHTS)
        copy_call(SYS_exit_group, 1, 0, 0, 0, 0, 0); /* the session has ended */
    l->pipes[0] = ((const int *)CMSG_DATA(with))[0];
    l->pipes[1] = ((const int *)CMSG_DATA(with))[1];
}

/* In order, apart from each other, and where a process can have them. */
static bool is_sound(const struct loader *l)
{
    uint64_t at = LOWEST;

    for (uint32_t i = 0; i < l->header.n_regions; i++) {
        const struct copy_region *r = &l->regions[i];

        if (r->start < at || r->end <= r->start || r->end > COPY_TOP ||
            (r->start | r->end) % COPY_PAGE || r->kind > COPY_VDSO ||
            r->path >= (l->header.paths_len ? l->header.paths_len : 1) ||
            (r->prot & ~(PROT_READ | PROT_WRITE | PROT_EXEC)))
            return false;
        at = r->end;
    }
    return !l->header.paths_len || l->paths[l->header.paths_len - 1] == '\0';
}

static bool is_free(const struct loader *l, uint64_t start, uint64_t stop)
{
    for (uint32_t i = 0; i < l->header.n_regions; i++) {
        const struct copy_region *r = &l->regions[i];
        uint64_t room = r->kind == COPY_STACK && r->start > STACK_REACH ? STACK_REACH : 0;

        if (start < r->end && stop > r->start - room)
            return false;
    }
    return true;
}

static struct loader *make_room(const struct loader *from)
{
    const uint64_t size = sizeof(struct loader), step = 1UL << 34;

    for (uint64_t at = step; at < COPY_TOP - step; at += step) {
        long r;

        if (!is_free(from, at - COPY_PAGE, at + size + COPY_PAGE))
            continue;
        r = copy_call(SYS_mmap, (long)at, (long)size, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
        if (r == (long)at)
            return (struct loader *)at;
        if (!is_bad(r))
            copy_call(SYS_munmap, r, (long)size, 0, 0, 0, 0);
    }
    END("there is no room beside the copy");
}

/* Where this process has them: the copy wants them at other addresses. */
static void find_vdso(struct loader *l)
{
    long len = session_maps_read("/proc/self/maps", l->maps, MAPS_SIZE);
    const char *at = l->maps, *stop = l->maps + (len > 0 ? len : 0);
    struct map_line line;
    uint64_t sum = 0;
    size_t n = 0;

    while (at < stop && (at = session_maps_line(at, stop, &line)) != NULL) {
        if (line.path_len < 5 ||
            (!copy_equal(line.path, "[vdso", 5) && !copy_equal(line.path, "[vvar", 5)))
            continue;
        if (l->n_vdso == VDSO_PARTS)
            END("the vdso has too many parts");
        l->vdso[l->n_vdso++] = (struct vdso_part){ line.start, line.end - line.start };
        sum += line.end - line.start;
    }
    for (uint32_t i = 0; i < l->header.n_regions; i++)
        if (l->regions[i].kind == COPY_VDSO) {
            if (n == l->n_vdso || l->regions[i].end - l->regions[i].start != l->vdso[n].len)
                END("the vdso has another size");
            n++;
        }
    if (n != l->n_vdso || sum > VDSO_SIZE)
        END("the vdso has another size");
}

static void move_vdso(uint64_t from, uint64_t len, uint64_t to)
{
    if (from != to && copy_call(SYS_mremap, (long)from, (long)len, (long)len,
                                MREMAP_MAYMOVE | MREMAP_FIXED, (long)to, 0) != (long)to)
        END("the vdso cannot be moved");
}

static void place_vdso(struct loader *l)
{
    uint64_t room = (uint64_t)(uintptr_t)l->vdso_room;
    size_t n = 0;

    for (size_t i = 0; i < l->n_vdso; i++) {
        move_vdso(l->vdso[i].start, l->vdso[i].len, room);
        l->vdso[i].start = room;
        room += l->vdso[i].len;
    }
    copy_call(SYS_munmap, LOWEST, (long)((uint64_t)(uintptr_t)l - LOWEST), 0, 0, 0, 0);
    room = (uint64_t)(uintptr_t)l + l->size;
    copy_call(SYS_munmap, (long)room, (long)(COPY_TOP - room), 0, 0, 0, 0);
    for (uint32_t i = 0; i < l->header.n_regions; i++)
        if (l->regions[i].kind == COPY_VDSO) {
            move_vdso(l->vdso[n].start, l->vdso[n].len, l->regions[i].start);
            n++;
        }
}

static void close_file(int fd)
{
    if (fd >= 0)
        copy_call(SYS_close, fd, 0, 0, 0, 0, 0);
}

static int open_file(const struct loader *l, const struct copy_region *region)
{
    long fd = copy_call(SYS_openat, AT_FDCWD, (long)&l->paths[region->path],
                        O_RDONLY | O_CLOEXEC | O_NONBLOCK, 0, 0, 0);
    struct stat st;

    if (fd < 0 || copy_call(SYS_fstat, fd, (long)&st, 0, 0, 0, 0) < 0 || !S_ISREG(st.st_mode) ||
        (uint64_t)st.st_size != region->size ||
        (uint64_t)st.st_mtim.tv_sec * 1000000000U + (uint64_t)st.st_mtim.tv_nsec != region->mtime)
        END("a file that the kernel has mapped is another one here");
    return (int)fd;
}

/* Parts of one file follow each other: `fd` is open as long as they do. */
static void map_region(const struct copy_region *region, int fd)
{
    long flags = MAP_FIXED_NOREPLACE | (region->kind == COPY_SHARED ? MAP_SHARED : MAP_PRIVATE);
    bool is_file = region->kind == COPY_FILE || region->kind == COPY_SHARED;
    long prot = region->kind == COPY_SHARED ? PROT_READ : region->prot;

    if (!is_file)
        flags |= MAP_ANONYMOUS | (region->kind == COPY_STACK ? MAP_GROWSDOWN : 0);
    if (region->kind < COPY_SHARED && region->filled)
        prot = PROT_READ | PROT_WRITE;
    if (copy_call(SYS_mmap, (long)region->start, (long)(region->end - region->start), prot, flags,
                  is_file ? fd : -1, is_file ? (long)region->offset : 0) != (long)region->start)
        END("the memory of the copy cannot be laid out");
}

static void map_all(const struct loader *l)
{
    const struct copy_region *open = NULL;
    int fd = -1;

    for (uint32_t i = 0; i < l->header.n_regions; i++) {
        const struct copy_region *r = &l->regions[i];

        if (r->kind == COPY_FILE || r->kind == COPY_SHARED) {
            if (!open || open->path != r->path || open->mtime != r->mtime ||
                open->size != r->size) {
                close_file(fd);
                fd = open_file(l, r);
            }
            open = r;
        }
        if (r->kind != COPY_VDSO)
            map_region(r, fd);
    }
    close_file(fd);
}

static void read_run(const struct loader *l, int pipe, const struct copy_run *run)
{
    uint64_t self = (uint64_t)(uintptr_t)l, stop = run->start + run->len;

    if (run->start < LOWEST || run->len > COPY_TOP || stop > COPY_TOP ||
        (run->start < self + l->size && stop > self))
        END("the copy of the memory is not sound");
    /* All at once is cheaper than page by page, but what was made must still be in the cache when
     * it is filled.  Not with huge pages: in a virtual machine they are often memory that the host
     * has taken back, which takes three times as long (docs/decisions/0066). */
    for (uint64_t at = run->start; at < stop;) {
        uint64_t len = stop - at < FILL_STEP ? stop - at : FILL_STEP;

        copy_call(SYS_madvise, (long)at, (long)len, MADV_POPULATE_WRITE, 0, 0, 0);
        read_all(pipe, at, len);
        at += len;
    }
}

/* Until the pipe's last run; nothing is left of the pipe then. */
static void read_pipe(const struct loader *l, int pipe)
{
    struct copy_run run;

    for (;;) {
        read_all(pipe, (uint64_t)(uintptr_t)&run, sizeof(run));
        if (!run.len)
            break;
        read_run(l, pipe, &run);
    }
    copy_call(SYS_close, pipe, 0, 0, 0, 0, 0);
}

static void read_second(void *context)
{
    const struct loader *l = context;

    read_pipe(l, l->pipes[1]);
}

static void fill(struct loader *l)
{
    long r;

    map_all(l);
    r = session_thread_start(l->second_stack, read_second, l, &l->alive);
    read_pipe(l, l->pipes[0]);
    if (r < 0)
        read_second(l);
    session_thread_wait(&l->alive);
    for (uint32_t i = 0; i < l->header.n_regions; i++) {
        const struct copy_region *r = &l->regions[i];

        if (r->kind < COPY_SHARED && r->filled && r->prot != (PROT_READ | PROT_WRITE) &&
            copy_call(SYS_mprotect, (long)r->start, (long)(r->end - r->start), r->prot, 0, 0, 0))
            END("the memory of the copy cannot be protected");
    }
}

static void restore_process(const struct copy_header *h)
{
    const struct {
        uint64_t sp;
        uint32_t flags, pad;
        uint64_t size;
    } alt = { h->alt_sp, h->alt_flags, 0, h->alt_size };

    for (long i = 0; i < COPY_SIGNALS; i++)
        copy_call(SYS_rt_sigaction, i + 1, (long)&h->actions[i], 0, 8, 0, 0);
    if (h->alt_size)
        copy_call(SYS_sigaltstack, (long)&alt, 0, 0, 0, 0, 0);
    copy_call(SYS_prctl, PR_SET_NAME, (long)h->name, 0, 0, 0, 0);
    copy_call(SYS_arch_prctl, ARCH_SET_FS, (long)h->fs, 0, 0, 0, 0);
    if (h->tid)
        *(uint32_t *)h->tid = (uint32_t)copy_call(SYS_gettid, 0, 0, 0, 0, 0, 0);
    if (h->rseq &&
        copy_call(SYS_rseq, (long)h->rseq, (long)h->rseq_size, 0, RSEQ_SIGNATURE, 0, 0) < 0)
        *(uint32_t *)(h->rseq + 4) = RSEQ_FAILED;
    copy_call(SYS_rt_sigprocmask, 2, (long)&h->mask, 0, 8, 0, 0);
}

__attribute__((noreturn)) static void go_on(const struct loader *l)
{
    __asm__ volatile("ldmxcsr 64(%0)\n"
                     "fldcw 68(%0)\n"
                     "movq (%0), %%rbx\n"
                     "movq 8(%0), %%rbp\n"
                     "movq 16(%0), %%r12\n"
                     "movq 24(%0), %%r13\n"
                     "movq 32(%0), %%r14\n"
                     "movq 40(%0), %%r15\n"
                     "movq 48(%0), %%rsp\n"
                     "jmp *56(%0)\n"
                     :
                     : "D"(&l->header.at), "a"(l)
                     : "memory");
    __builtin_unreachable();
}

/* Runs in the room beside the copy. */
static void become(struct loader *l)
{
    place_vdso(l);
    fill(l);
    restore_process(&l->header);
    go_on(l);
}

static void read_table(struct loader *l)
{
    read_all(l->pipes[0], (uint64_t)(uintptr_t)&l->header, sizeof(l->header));
    if (l->header.magic != COPY_MAGIC || l->header.n_regions > COPY_REGIONS ||
        l->header.paths_len > COPY_PATHS)
        END("the copy of the memory is not sound");
    read_all(l->pipes[0], (uint64_t)(uintptr_t)l->regions,
             l->header.n_regions * sizeof(l->regions[0]));
    read_all(l->pipes[0], (uint64_t)(uintptr_t)l->paths, l->header.paths_len);
    if (!is_sound(l))
        END("the copy of the memory is not sound");
}

static void copy_bytes(void *to, const void *from, size_t len)
{
    __asm__ volatile("rep movsb" : "+D"(to), "+S"(from), "+c"(len) : : "memory");
}

/* Takes a table at any place, then moves with it to one that the copy does not need. */
__attribute__((used, visibility("hidden"))) void session_load_main(void)
{
    long made = copy_call(SYS_mmap, 0, sizeof(struct loader), PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    struct loader *first = (struct loader *)made, *l;
    size_t len = (size_t)(_end - __ehdr_start);

    if (is_bad(made) || len > CODE_SIZE)
        END("there is no memory for a copy");
    take_pipes(first);
    first->size = sizeof(struct loader);
    read_table(first);
    find_vdso(first);
    l = make_room(first);
    copy_bytes(l, first, offsetof(struct loader, maps));
    copy_bytes(l->code, __ehdr_start, len);
    if (copy_call(SYS_mprotect, (long)l->code, CODE_SIZE, PROT_READ | PROT_EXEC, 0, 0, 0) < 0)
        END("there is no room beside the copy");
    __asm__ volatile("movq %0, %%rsp\n"
                     "call *%1\n"
                     :
                     : "r"(l->stack + STACK_SIZE - 64),
                       "r"(l->code + ((const char *)become - __ehdr_start)), "D"(l)
                     : "memory");
    __builtin_unreachable();
}

__asm__(".pushsection .text\n"
        ".globl session_load_start\n"
        ".hidden session_load_start\n"
        "session_load_start:\n"
        "  xorl %ebp, %ebp\n"
        "  andq $-16, %rsp\n"
        "  call session_load_main\n"
        "  hlt\n"
        ".popsection\n");
#endif
