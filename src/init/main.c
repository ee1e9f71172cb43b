/* sandbox-run-init: pid 1 of a sandbox.
 *
 * Reads its plan from a sealed descriptor, confines itself step by step (sandbox/confine.c), starts
 * the program, reaps whatever is orphaned, and reports how the program ended.  When it exits, by
 * its own will or because the supervisor is gone, the kernel ends everything else inside.
 *
 *   Privilege:   all capabilities of its own user namespace until the identity step, none after it.
 *   Descriptors: enum init_fd, plus what struct inside lists; all are closed by the program's exec.
 *   (1) The program is started only after every step succeeded.
 *   (2) After confinement only read, write, poll, wait and kill are used: the strictest policy has
 * them. (3) Undumpable, so the program can read neither its memory nor its descriptors. */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "init/program.h"
#include "init/report.h"
#include "init/watch.h"
#include "sandbox/confine.h"
#include "sandbox/protocol.h"

/* The only way out once the plan is read. */
static void __attribute__((noreturn)) init_exit(int status)
{
    _exit(status);
}

static void __attribute__((noreturn)) fail(const sbr_error *err)
{
    struct init_event event = { .kind = EVENT_FAILED, .error = *err };

    report_send(INIT_CONTROL, &event);
    init_exit(1);
}

static const struct plan *read_plan(void)
{
    sbr_error err;
    struct plan *plan;
    struct stat st;
    void *data;

    if (fstat(INIT_PLAN, &st) < 0 || st.st_size == 0)
        init_exit(1);
    data = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, INIT_PLAN, 0);
    if (data == MAP_FAILED) {
        err_set_errno(&err, "plan", "cannot map the plan");
        fail(&err);
    }
    if (plan_decode(data, (size_t)st.st_size, &plan, &err) < 0)
        fail(&err);
    close(INIT_PLAN);
    return plan;
}

/* What we were started with must not reach the program: ignored signals would. */
static void reset_signals(void)
{
    for (int number = 1; number < NSIG; number++)
        signal(number, SIG_DFL); /* lint-ok: signal: only resets, and never installs a handler */
}

/* Everything that happens in the loop comes through these two descriptors. */
struct events {
    int child_fd; /* SIGCHLD */
    struct watch watch;
};

static int open_events(void)
{
    sigset_t child;

    sigemptyset(&child);
    sigaddset(&child, SIGCHLD);
    sigprocmask(SIG_BLOCK, &child, NULL);
    return signalfd(-1, &child, SFD_CLOEXEC | SFD_NONBLOCK);
}

/* Collects every dead child; true when the program itself is among them. */
static bool reap(int child_fd, pid_t program, int *ret_status)
{
    struct signalfd_siginfo ignored[8];
    bool ended = false;
    int status;
    pid_t pid;

    while (read(child_fd, ignored, sizeof(ignored)) > 0)
        continue;
    while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
        if (pid == program) {
            *ret_status = status;
            ended = true;
        }
    }
    return ended;
}

/* False when the supervisor is gone. */
static bool obey(void)
{
    struct init_message message;
    ssize_t n = read(INIT_CONTROL, &message, sizeof(message));

    if (n < 0)
        return errno == EINTR || errno == EAGAIN;
    if (n == (ssize_t)sizeof(message) && message.order == ORDER_TERMINATE)
        kill(-1, SIGTERM); /* everything in this pid namespace but ourselves */
    return n > 0;
}

static int supervise(struct events *events, pid_t program)
{
    struct pollfd fds[] = { { .fd = events->child_fd, .events = POLLIN },
                            { .fd = INIT_CONTROL, .events = POLLIN } };
    int status = 0;

    for (;;) {
        int n = poll(fds, ARRAY_LEN(fds), watch_interval(&events->watch));

        if (n < 0 && errno != EINTR)
            init_exit(1);
        if (n == 0)
            watch_look(&events->watch, INIT_CONTROL);
        if (fds[1].revents && !obey())
            init_exit(1); /* the supervisor is gone: take everything with us */
        if (fds[0].revents && reap(events->child_fd, program, &status))
            return status;
    }
}

static void run(struct inside *in)
{
    struct init_event event = { .kind = EVENT_READY }, before = { 0 };
    struct events events = { .child_fd = open_events() };
    sbr_error err;
    pid_t program;

    prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
    watch_init(&events.watch, in);
    report_fill(&before, in);
    event.when_us = clock_now_us();
    if (events.child_fd < 0) {
        err_set_errno(&err, "init", "cannot watch for the program's end");
        fail(&err);
    }
    if (program_start(in->plan, &program, &err) < 0)
        fail(&err);
    report_send(INIT_CONTROL, &event);
    event = (struct init_event){ .kind = EVENT_EXITED };
    event.wait_status = supervise(&events, program);
    event.when_us = clock_now_us();
    report_fill(&event, in);
    report_subtract(&event, &before);
    watch_report(&events.watch, &event);
    report_send(INIT_CONTROL, &event);
}

int main(void)
{
    struct inside in = {
        .control_fd = INIT_CONTROL, .root_fd = -1, .scratch_fd = -1, .io_fd = -1, .proc_fd = -1
    };
    sbr_error err;

    in.plan = read_plan();
    setsid();
    reset_signals();
    if (confine_self(&in, &err) < 0)
        fail(&err);
    run(&in);
    init_exit(0);
}
