/* What both kinds of live output share: a measure of how many lines come, and a thread
 * beside the program.
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
