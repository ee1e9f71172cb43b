/* Samples of where a program's CPU time goes, for `profile --functions`.
 *
 * This file is linked into compiled programs for a profiled run (languages/drivers/native.sh,
 * rust-build.sh).  Each thread has a timer of its CPU time, so that a thread that waits is never
 * interrupted.  The signal is SIGURG: programs do not use it, and its default action does nothing,
 * also when a program resets it or executes another one.  The handler unwinds the stack by its
 * unwind tables and adds the time since the thread's last sample to the stack's line in a file
 * that is mapped: what was sampled survives every end.  A thread beside the program finds new
 * threads.  Children are not sampled.
 *
 * The file is text, followed by NUL bytes, in the order of time:
 *   o OBJECT PATH                       an executable or a library
 *   s MICROSECONDS OBJECT:ADDRESS ...   a stack, innermost first; the address is the object's own
 * A place that belongs to no object is `?`. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>
#include <unwind.h>

#include "base/arch.h"

#define VARIABLE "SANDBOX_RUN_SAMPLES="
#define FILE_SIZE (4u << 20)
#define EVERY_NS 1000000    /* the kernel rounds it up to its tick */
#define MOST_NS 25000000ull /* more since the last one: signals were blocked, so nothing counts */
#define DEEPEST 128         /* the inner frames */
#define N_STACKS 8192u      /* a power of two */
#define N_THREADS 256
#define N_RANGES 256
#define STACK_SIZE (16u << 10)
#define LOOK_MS 5
#define DIGITS 12

static char *file; /* FILE_SIZE bytes; NULL: nothing is sampled */
static size_t used;

/* Executable memory of an object. */
static struct range {
    uintptr_t from, to, bias;
    unsigned int object;
} ranges[N_RANGES];
static unsigned int n_ranges, n_objects;

static struct thread {
    int tid; /* 0: the slot is free */
    int timer;
    bool is_seen;
    uint64_t last_ns; /* 0: none yet, so the first sample has the time since the thread began */
} threads[N_THREADS];

static struct stack {
    uint64_t hash, ns;
    size_t at; /* of its digits */
} stacks[N_STACKS];
static unsigned int n_stacks;

static bool is_locked; /* protects stacks and the file */

struct walk {
    uintptr_t pcs[DEEPEST];
    size_t n;
    bool is_inside; /* behind the handler's own frames */
};

static bool add_byte(char c)
{
    if (used + 1 >= FILE_SIZE)
        return false;
    file[used++] = c;
    return true;
}

static bool add_text(const char *text)
{
    while (*text)
        if (!add_byte(*text++))
            return false;
    return true;
}

static bool add_number(uint64_t value, unsigned int base)
{
    char digits[24];
    size_t n = 0;

    do {
        digits[n++] = "0123456789abcdef"[value % base];
        value /= base;
    } while (value);
    while (n)
        if (!add_byte(digits[--n]))
            return false;
    return true;
}

static const struct range *range_of(uintptr_t pc)
{
    for (unsigned int i = 0; i < n_ranges; i++)
        if (pc >= ranges[i].from && pc < ranges[i].to)
            return &ranges[i];
    return NULL;
}

static void write_digits(const struct stack *stack)
{
    uint64_t us = stack->ns / 1000;

    for (int i = DIGITS - 1; i >= 0; i--, us /= 10)
        file[stack->at + (size_t)i] = (char)('0' + us % 10);
}

static bool add_frame(uintptr_t pc)
{
    const struct range *range = range_of(pc);

    if (!range)
        return add_text(" ?");
    return add_byte(' ') && add_number(range->object, 10) && add_byte(':') &&
           add_number(pc - range->bias, 16);
}

/* The line of a new stack; takes it back when the file is full. */
static bool add_line(struct stack *stack, const struct walk *walk)
{
    size_t before = used;
    bool done = add_text("s ");

    stack->at = used;
    for (int i = 0; done && i < DIGITS; i++)
        done = add_byte('0');
    for (size_t i = 0; done && i < walk->n; i++)
        done = add_frame(walk->pcs[i]);
    if (done && add_byte('\n'))
        return true;
    memset(file + before, 0, used - before);
    used = before;
    return false;
}

static struct stack *stack_of(const struct walk *walk)
{
    uint64_t hash = 14695981039346656037u;
    struct stack *stack;

    for (size_t i = 0; i < walk->n; i++)
        hash = (hash ^ walk->pcs[i]) * 1099511628211u;
    hash |= 1;
    for (size_t i = (hash >> 20) % N_STACKS;; i = (i + 1) % N_STACKS) {
        stack = &stacks[i];
        if (stack->hash == hash)
            return stack;
        if (!stack->hash)
            break;
    }
    if (n_stacks >= N_STACKS / 2 || !add_line(stack, walk))
        return NULL;
    n_stacks++;
    stack->hash = hash;
    return stack;
}

static uintptr_t interrupted_pc(const ucontext_t *context)
{
#if defined(__x86_64__)
    return (uintptr_t)context->uc_mcontext.gregs[REG_RIP];
#else
    return (uintptr_t)context->uc_mcontext.pc;
#endif
}

static _Unwind_Reason_Code take_frame(struct _Unwind_Context *context, void *argument)
{
    struct walk *walk = argument;
    int is_exact = 0;
    uintptr_t pc = _Unwind_GetIPInfo(context, &is_exact);

    walk->is_inside |= is_exact;
    if (!walk->is_inside)
        return _URC_NO_REASON;
    if (!pc || walk->n == DEEPEST)
        return _URC_END_OF_STACK;
    walk->pcs[walk->n++] = is_exact ? pc : pc - 1;
    return _URC_NO_REASON;
}

static uint64_t now_of(long clock)
{
    struct timespec t = { 0 };

    (void)arch_syscall(SYS_clock_gettime, clock, (long)&t, 0);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void add_sample(struct thread *thread, const ucontext_t *context)
{
    struct walk walk = { .n = 0 };
    uint64_t now = now_of(CLOCK_THREAD_CPUTIME_ID), spent = now - thread->last_ns;
    bool is_late = thread->last_ns && spent > MOST_NS;
    struct stack *stack;

    _Unwind_Backtrace(take_frame, &walk);
    if (!walk.n)
        walk.pcs[walk.n++] = interrupted_pc(context);
    stack = stack_of(&walk);
    thread->last_ns = now;
    if (!stack)
        return;
    if (!is_late)
        stack->ns += spent;
    write_digits(stack);
}

/* Another thread may be here: then the next sample has the time of this one, too. */
static void take(int number, siginfo_t *info, void *context)
{
    int saved = errno;
    unsigned int slot = (unsigned int)info->si_value.sival_int;

    (void)number;
    if (info->si_code == SI_TIMER && slot < N_THREADS &&
        !__atomic_test_and_set(&is_locked, __ATOMIC_ACQUIRE)) {
        add_sample(&threads[slot], context);
        __atomic_clear(&is_locked, __ATOMIC_RELEASE);
    }
    errno = saved;
}

/* The clock of a thread's CPU time, as the kernel numbers it. */
static long clock_of(int tid)
{
    return (long)(((~(unsigned int)tid) << 3) | 6u);
}

static void arm(int tid)
{
    const struct itimerspec every = { .it_interval.tv_nsec = EVERY_NS,
                                      .it_value.tv_nsec = EVERY_NS };
    struct sigevent event = { .sigev_notify = SIGEV_THREAD_ID, .sigev_signo = SIGURG };
    unsigned int slot = 0;

    while (slot < N_THREADS && threads[slot].tid)
        slot++;
    if (slot == N_THREADS)
        return;
    event.sigev_value.sival_int = (int)slot;
    event._sigev_un._tid = tid;
    threads[slot] = (struct thread){ .tid = tid, .is_seen = true };
    if (arch_syscall(SYS_timer_create, (int)clock_of(tid), (long)&event,
                     (long)&threads[slot].timer) < 0)
        threads[slot].tid = 0;
    else
        (void)arch_syscall5(SYS_timer_settime, threads[slot].timer, 0, (long)&every, 0, 0);
}

static void see(int tid)
{
    for (unsigned int i = 0; i < N_THREADS; i++)
        if (threads[i].tid == tid) {
            threads[i].is_seen = true;
            return;
        }
    arm(tid);
}

static void forget_the_ended(void)
{
    for (unsigned int i = 0; i < N_THREADS; i++) {
        if (threads[i].tid && !threads[i].is_seen) {
            (void)arch_syscall(SYS_timer_delete, threads[i].timer, 0, 0);
            threads[i].tid = 0;
        }
        threads[i].is_seen = false;
    }
}

/* As the kernel writes it. */
struct entry {
    uint64_t inode, offset;
    unsigned short len;
    unsigned char type;
    char name[];
};

static int number_of(const char *name)
{
    int number = 0;

    for (; *name >= '0' && *name <= '9'; name++)
        number = number * 10 + (*name - '0');
    return number;
}

/* False when it has ended before its threads. */
static bool first_thread_lives(void)
{
    char text[64] = "";
    long fd = arch_syscall(SYS_openat, AT_FDCWD, (long)"/proc/self/stat", O_RDONLY | O_CLOEXEC);
    const char *end;

    if (fd < 0)
        return true;
    (void)arch_syscall(SYS_read, fd, (long)text, sizeof(text) - 1);
    (void)arch_syscall(SYS_close, fd, 0, 0);
    end = strrchr(text, ')');
    return !end || (end[1] && end[2] != 'Z');
}

/* False when the program's own threads are over, or cannot be seen. */
static bool look(int fd, int own)
{
    static _Alignas(struct entry) char room[2048];
    unsigned int found = 0;
    long len;

    (void)arch_syscall(SYS_lseek, fd, 0, SEEK_SET);
    while ((len = arch_syscall(SYS_getdents64, fd, (long)room, sizeof(room))) > 0)
        for (long at = 0; at < len;) {
            const struct entry *entry = (const void *)(room + at);
            int tid = number_of(entry->name);

            if (tid && tid != own) {
                see(tid);
                found++;
            }
            at += entry->len;
        }
    forget_the_ended();
    return len == 0 && (found > 1 || (found && first_thread_lives()));
}

/* The thread shares the thread-local storage of the first one, so it makes system calls without
 * the C library, which would write errno. */
static void find_threads(void *nothing)
{
    const struct timespec period = { .tv_nsec = LOOK_MS * 1000000L };
    int own = (int)arch_syscall(SYS_gettid, 0, 0, 0);
    long fd = arch_syscall(SYS_openat, AT_FDCWD, (long)"/proc/self/task",
                           O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    (void)nothing;
    while (fd >= 0 && look((int)fd, own))
        (void)arch_syscall(SYS_nanosleep, (long)&period, 0, 0);
    for (;;)
        (void)arch_syscall(SYS_exit, 0, 0, 0);
}

static void start_thread(void)
{
    static _Alignas(16) char stack[STACK_SIZE];
    const long call[6] = { SYS_clone,
                           CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD |
                               CLONE_SYSVSEM,
                           (long)(stack + STACK_SIZE), 0 };
    uint64_t all = ~0ULL, before = 0;

    (void)arch_syscall5(SYS_rt_sigprocmask, SIG_SETMASK, (long)&all, (long)&before, sizeof(all), 0);
    (void)arch_clone_at(call, find_threads, NULL);
    (void)arch_syscall5(SYS_rt_sigprocmask, SIG_SETMASK, (long)&before, 0, sizeof(all), 0);
}

static bool is_known(uintptr_t from)
{
    return range_of(from) != NULL;
}

static int take_object(struct dl_phdr_info *info, size_t size, void *nothing)
{
    static char program[4096];
    const char *name = info->dlpi_name;
    bool is_new = false;

    (void)size;
    (void)nothing;
    if (!name || !*name) {
        name = program;
        if (readlink("/proc/self/exe", program, sizeof(program) - 1) < 0)
            return 0;
    }
    for (int i = 0; i < info->dlpi_phnum && n_ranges < N_RANGES; i++) {
        const ElfW(Phdr) *part = &info->dlpi_phdr[i];
        uintptr_t from = info->dlpi_addr + part->p_vaddr;

        if (part->p_type != PT_LOAD || !(part->p_flags & PF_X) || is_known(from))
            continue;
        ranges[n_ranges] = (struct range){ from, from + part->p_memsz, info->dlpi_addr, n_objects };
        __atomic_add_fetch(&n_ranges, 1, __ATOMIC_RELEASE);
        is_new = true;
    }
    if (is_new && !strchr(name, '\n'))
        (void)(add_text("o ") && add_number(n_objects, 10) && add_byte(' ') && add_text(name) &&
               add_byte('\n'));
    n_objects += is_new;
    return 0;
}

/* Its value, when it is there; the program does not see it. */
static const char *take_variable(char **env)
{
    const char *value = NULL;
    size_t n = 0;

    for (char **item = env; *item; item++) {
        if (!strncmp(*item, VARIABLE, sizeof(VARIABLE) - 1))
            value = *item + sizeof(VARIABLE) - 1;
        else
            env[n++] = *item;
    }
    env[n] = NULL;
    return value;
}

/* All of the file exists before it is mapped: a full disk must not end the program later. */
static char *map_file(const char *path)
{
    int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    char *map = MAP_FAILED;

    if (fd < 0)
        return NULL;
    if (fallocate(fd, 0, 0, FILE_SIZE) == 0)
        map = mmap(NULL, FILE_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    close(fd);
    return map == MAP_FAILED ? NULL : map;
}

static void begin(int argc, char **argv, char **env)
{
    const struct sigaction action = { .sa_sigaction = take, .sa_flags = SA_SIGINFO | SA_RESTART };
    const char *path = take_variable(env);

    (void)argc;
    (void)argv;
    file = path ? map_file(path) : NULL;
    if (!file)
        return;
    dl_iterate_phdr(take_object, NULL);
    if (sigaction(SIGURG, &action, NULL) < 0)
        return;
    arm((int)arch_syscall(SYS_gettid, 0, 0, 0));
    threads[0].last_ns = now_of(CLOCK_THREAD_CPUTIME_ID) | 1;
    start_thread();
}

/* Before the constructors of C++, which count. */
static void (*const begin_early)(int, char **, char **)
    __attribute__((used, section(".preinit_array"))) = begin;
