/* A program that runs beside the engine, such as the HTTP gateway.
 *
 *   start --> STARTS --byte on ready_fd--> SERVES
 *               '-- ends before any has served: the engine ends with an error
 *   ends later: started again after a pause, which doubles while it keeps ending soon */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "engine/engine_internal.h"

#define FIRST_PAUSE_US 100000
#define LONGEST_PAUSE_US (30 * 1000000ULL)
#define LIVED_US (60 * 1000000ULL) /* then it works, and its next end has another reason */

static void describe_end(const siginfo_t *info, char *how, size_t size)
{
    if (!info->si_pid)
        snprintf(how, size, "ended");
    else if (info->si_code == CLD_EXITED)
        snprintf(how, size, "ended with status %d", info->si_status);
    else
        snprintf(how, size, "was ended by %s", strsignal(info->si_status));
}

static void close_watches(struct engine *engine)
{
    struct attendant *a = &engine->attendant;

    loop_close(&engine->events, &a->death);
    loop_close(&engine->events, &a->ready);
    a->death.fd = a->ready.fd = -1;
    a->pid = 0;
}

static void try_again_later(struct engine *engine, const char *how)
{
    struct attendant *a = &engine->attendant;
    uint64_t now_us = clock_now_us();

    if (now_us - a->started_us >= LIVED_US)
        a->pause_us = 0;
    a->pause_us = a->pause_us ? a->pause_us * 2 : FIRST_PAUSE_US;
    if (a->pause_us > LONGEST_PAUSE_US)
        a->pause_us = LONGEST_PAUSE_US;
    a->again_us = now_us + a->pause_us;
    engine->config.attendant->report(engine->config.context, how, a->pause_us / 1000);
}

static void it_ended(void *context, uint32_t events)
{
    struct engine *engine = context;
    struct attendant *a = &engine->attendant;
    siginfo_t info = { 0 };
    char how[80];

    (void)events;
    (void)waitid(P_PID, (id_t)a->pid, &info, WEXITED); /* who ignores SIGCHLD learns nothing */
    close_watches(engine);
    describe_end(&info, how, sizeof(how));
    if (engine->draining)
        return;
    if (a->has_served) {
        try_again_later(engine, how);
        return;
    }
    err_set(&a->failure, SBR_E_SYSTEM, "engine", "%s %s before it served, so the engine ends, too",
            engine->config.attendant->name, how);
    engine->over = true;
}

static void it_serves(void *context, uint32_t events)
{
    struct engine *engine = context;
    struct attendant *a = &engine->attendant;
    char byte;

    (void)events;
    a->has_served |= read(a->ready.fd, &byte, 1) == 1; /* otherwise its end comes next */
    loop_close(&engine->events, &a->ready);
    a->ready.fd = -1;
}

static int start_it(struct engine *engine, sbr_error *err)
{
    struct attendant *a = &engine->attendant;
    scoped_fd int reading = -1, writing = -1, pidfd = -1;
    int ends[2];

    a->started_us = clock_now_us();
    if (pipe2(ends, O_CLOEXEC) < 0)
        return err_set_errno(err, "engine", "cannot make a pipe");
    reading = ends[0];
    writing = ends[1];
    a->pid = engine->config.attendant->start(engine->config.context, writing, err);
    if (a->pid < 0)
        return err->code;
    pidfd = (int)syscall(SYS_pidfd_open, a->pid, 0);
    a->death = loop_watch_of(take_fd(pidfd), it_ended, engine);
    a->ready = loop_watch_of(take_fd(reading), it_serves, engine);
    if (a->death.fd < 0 || loop_add(&engine->events, &a->ready, EPOLLIN) < 0 ||
        loop_add(&engine->events, &a->death, EPOLLIN) < 0) {
        err_set_errno(err, "engine", "cannot watch the process %d", (int)a->pid);
        attendant_end(engine);
        return err->code;
    }
    return 0;
}

int attendant_start(struct engine *engine, sbr_error *err)
{
    return engine->config.attendant ? start_it(engine, err) : 0;
}

bool attendant_is_ready(const struct engine *engine)
{
    return !engine->config.attendant || engine->attendant.has_served;
}

uint64_t attendant_run(struct engine *engine, uint64_t now_us)
{
    struct attendant *a = &engine->attendant;
    sbr_error err;

    if (!a->again_us || engine->draining)
        return NEVER;
    if (now_us < a->again_us)
        return a->again_us;
    a->again_us = 0;
    a->n_restarts++;
    if (start_it(engine, &err) < 0)
        try_again_later(engine, err.message);
    return a->again_us ? a->again_us : NEVER;
}

void attendant_stop(struct engine *engine)
{
    if (engine->attendant.pid > 0)
        (void)kill(engine->attendant.pid, SIGTERM);
}

void attendant_end(struct engine *engine)
{
    pid_t pid = engine->attendant.pid;

    attendant_stop(engine);
    close_watches(engine);
    while (pid > 0 && waitpid(pid, NULL, 0) < 0 && errno == EINTR)
        continue;
}
