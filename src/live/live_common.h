/* What both kinds of live output share: a measure of how many lines come, a thread beside the
 * program, and what is done when the program crashes.  Each kind defines the functions that are
 * only declared here.
 *
 * The thread shares the thread-local storage of the one that started it.  So what it calls makes
 * system calls without the C library, which would write errno. */
#ifndef LIVE_LIVE_COMMON_H
#define LIVE_LIVE_COMMON_H

#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/arch.h"

#define BURST 200       /* lines that are written one by one in any case */
#define PER_SECOND 1000 /* and so many after them */
#define PERIOD_MS 10    /* a byte is written in its second period at the latest */
#define QUIET 20        /* periods with few bytes each, after which the thread ends */
#define FEW 128
#define STACK_SIZE (8u << 10)

static int64_t now_ms(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC_COARSE, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static int64_t room = BURST * 1000, last_ms; /* in thousandths of a line */

/* True while lines are few enough to be written one by one. */
static bool has_room(void)
{
    int64_t now = now_ms();

    room += (now - last_ms) * PER_SECOND;
    if (room > BURST * 1000)
        room = BURST * 1000;
    last_ms = now;
    room -= 1000;
    return room >= 0;
}

/* The next thread uses the other one, because the last may still be about to exit. */
static _Alignas(16) char stacks[2][STACK_SIZE];
static unsigned int n_threads;

/* Once refused, it is not tried again: the result of a run with a limit counts each refusal.
 *
 * Not by pthread_create: the C library would take locks for every character from then on.  All
 * signals are blocked, so that the program's handlers run in the program's own threads. */
static bool start_thread(void (*main)(void *))
{
    const long clone_call[6] = { SYS_clone,
                                 CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD |
                                     CLONE_SYSVSEM,
                                 (long)(stacks[n_threads++ % 2] + STACK_SIZE), 0 };
    static bool is_refused;
    uint64_t all = ~0ULL, before = 0;

    if (is_refused)
        return false;
    arch_syscall5(SYS_rt_sigprocmask, SIG_SETMASK, (long)&all, (long)&before, sizeof(all), 0);
    is_refused = arch_clone_at(clone_call, main, NULL) <= 0;
    arch_syscall5(SYS_rt_sigprocmask, SIG_SETMASK, (long)&before, 0, sizeof(all), 0);
    return !is_refused;
}

static void take_lock(void);
static bool try_lock(void);
static void drop_lock(void);
/* After each period: writes what has waited long enough.  False: the thread is of no use now. */
static bool look_after(void);
/* Writes all that waits. */
static void write_rest(void);

static bool is_thread; /* the lock protects it */

static void flush_often(void *nothing)
{
    const struct timespec period = { .tv_nsec = PERIOD_MS * 1000000L };
    bool goes_on = true;

    (void)nothing;
    while (goes_on) {
        arch_syscall(SYS_nanosleep, (long)&period, 0, 0);
        take_lock();
        goes_on = look_after();
        is_thread = goes_on;
        drop_lock();
    }
    for (;;)
        arch_syscall(SYS_exit, 0, 0, 0);
}

static long signal_self(int number)
{
    return arch_syscall(SYS_tgkill, getpid(), arch_syscall(SYS_gettid, 0, 0, 0), number);
}

/* The last lines before a crash are those that explain it.  The action is the kernel's again when
 * this begins, and the signal ends the program when this returns.  The crash may have happened with
 * the lock taken, so that is not waited for. */
static void before_crash(int number)
{
    if (try_lock()) {
        write_rest();
        drop_lock();
    }
    (void)signal_self(number);
}

static void watch_crashes(void)
{
    static const int numbers[] = { SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGTRAP, SIGSYS };
    const struct sigaction action = { .sa_handler = before_crash,
                                      .sa_flags = SA_RESETHAND | SA_ONSTACK };
    struct sigaction theirs;

    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
        if (sigaction(numbers[i], NULL, &theirs) == 0 && theirs.sa_handler == SIG_DFL)
            (void)sigaction(numbers[i], &action, NULL);
}

/* Lines are many from now on.  True when they may be collected. */
static bool begin_bulk(void)
{
    room = BURST * 1000;
    if (is_thread)
        return true;
    is_thread = start_thread(flush_often);
    if (is_thread)
        watch_crashes();
    return is_thread;
}

static bool is_pipe(int fd)
{
    struct stat st;

    return fstat(fd, &st) == 0 && (S_ISFIFO(st.st_mode) || S_ISSOCK(st.st_mode));
}

/* The program does not see that there is such an object, and its children do not get it. */
static inline void hide_preload(char **env)
{
    size_t n = 0;

    for (char **item = env; *item; item++)
        if (strncmp(*item, "LD_PRELOAD=", 11) != 0)
            env[n++] = *item;
    env[n] = NULL;
}

#endif
