/* sandbox-run-init: pid 1 of a sandbox.
 *
 * Reads its plan from a sealed descriptor, confines itself step by step (confine/confine.c), starts
 * the program, reaps whatever is orphaned, and reports how the program ended.  When it exits, by
 * its own will or because the supervisor is gone, the kernel ends everything else inside.
 *
 *   Privilege:   all capabilities of its own user namespace until the identity step, none after it.
 *   Descriptors: enum init_fd, plus what struct inside lists; all are closed by the program's exec.
 *   (1) The program is started only after every step succeeded.
 *   (2) After confinement only read, poll, wait and kill are used, and, once nobody else is alive, what reads files
 *       (collect.c): the strictest policy has them.
 *   (3) Undumpable, so the program can read neither its memory nor its descriptors. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "confine/confine.h"
#include "confine/run_dir.h"
#include "init/collect_trees.h"
#include "init/factory_loop.h"
#include "init/process_tree.h"
#include "init/program_start.h"
#include "init/standby.h"
#include "wire/control.h"

/* There in a coverage build only. */
extern void __gcov_dump(void) __attribute__((weak));

/* The only way out. */
static void __attribute__((noreturn)) init_exit(int status)
{
    if (__gcov_dump)
        __gcov_dump();
    _exit(status);
}

static void __attribute__((noreturn)) fail(const struct init *init, const sbr_error *err)
{
    if (init->in.plan && init->in.plan->place)
        run_dir_remove(init->in.plan->place);
    init->report->error = *err;
    init->report->state = REPORT_FAILED;
    init_exit(1);
}

/* A nursery's zygote reads it again. */
static const struct plan *read_plan(const struct init *init)
{
    struct plan *plan = NULL;
    sbr_error err;
    struct stat st;
    void *data;

    if (fstat(INIT_PLAN, &st) < 0 || st.st_size == 0)
        init_exit(1);
    data = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, INIT_PLAN, 0);
    if (data == MAP_FAILED) {
        err_set_errno(&err, "plan", "cannot map the plan");
        fail(init, &err);
    }
    if (plan_decode(data, (size_t)st.st_size, &plan, &err) < 0)
        fail(init, &err);
    if (!plan->park)
        close(INIT_PLAN);
    return plan;
}

/* What we were started with must not reach the program: ignored signals would.  Asked of the kernel
 * directly, because the C library keeps a few real-time signals for itself. */
static void reset_signals(void)
{
    static const unsigned long by_default[4]; /* handler, flags, restorer, mask */

    for (int number = 1; number <= 64; number++)
        syscall(SYS_rt_sigaction, number, by_default, NULL, sizeof(unsigned long));
}

/* Should the host run out of memory, what is inside ends before anything of the host's, also for memory of the kernel's
 * that no control group is charged for: its owners give it back when they die.  Everything inside inherits it, and
 * nothing there can take it back: procfs is read-only, or closed by Landlock.  Before the ids change, after which our own
 * files in procfs are no longer ours.  Where init is not pid 1, it goes last (program.c). */
static void offer_to_oom_killer(struct init *init)
{
    static const char path[] = "/proc/self/oom_score_adj";
    const struct plan *plan = init->in.plan;
    const char *score = plan->place ? "999" : "1000";
    char now[16];

    if (plan_leaves_out(plan, "oom-score") || fd_write_small(AT_FDCWD, path, score) == 0)
        return;
    /* In a sandbox of ours it is so already, and cannot be written. */
    init->in.keeps_oom_score = fd_read_small(AT_FDCWD, path, now, sizeof(now)) <= 0 ||
                               strncmp(now, "1000", strlen("1000")) != 0;
}

static void watch_children(struct init *init)
{
    sigset_t child;
    sbr_error err;

    sigemptyset(&child);
    sigaddset(&child, SIGCHLD);
    sigprocmask(SIG_BLOCK, &child, NULL);
    init->child_fd = signalfd(-1, &child, SFD_CLOEXEC | SFD_NONBLOCK);
    if (init->child_fd < 0) {
        err_set_errno(&err, "init", "cannot watch for the program's end");
        fail(init, &err);
    }
    prctl(PR_SET_DUMPABLE, plan_leaves_out(init->in.plan, "undumpable"), 0, 0, 0);
}

static void start_program(struct init *init)
{
    struct init_report *report = init->report;
    sbr_error err;

    supervise_init(&init->supervise, &init->in);
    init->before = report_usage(&init->in);
    report->ready_us = clock_now_us();
    if (program_start(&init->in, -1, &init->program, &err) < 0)
        fail(init, &err);
    init->supervise.program = init->program;
    report->state = REPORT_RUNNING;
}

/* Made ahead: the rest of the plan comes when it is known. */
static void await_program(struct init *init)
{
    sbr_error err;
    int r = standby_start(init, &err);

    if (r == 0)
        r = standby_wait(init, &err);
    if (r > 0)
        init_exit(1); /* nobody wants it any more */
    if (r < 0)
        fail(init, &err);
    if (init->program == 0)
        start_program(init);
}

/* Collects every dead child; true when the program itself is among them. */
static bool reap(struct init *init)
{
    struct signalfd_siginfo ignored[8];
    bool ended = false;
    int status;
    pid_t pid;

    while (read(init->child_fd, ignored, sizeof(ignored)) > 0)
        continue;
    while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
        if (pid == init->program) {
            init->report->wait_status = status;
            ended = true;
        }
    }
    return ended;
}

/* To everything in this pid namespace but ourselves.  Without a namespace of our own -1 would mean the
 * whole host, so there it is our descendants (and in a test build the program's session alone). */
static void signal_all(const struct init *init, int number)
{
    if (init->in.plan->place)
        process_tree_signal(init->in.proc_fd, number);
    else
        kill(getpid() == 1 ? -1 : -init->program, number);
}

/* Ends what is left inside and waits for it, so that its use is counted. */
static void end_rest(const struct init *init)
{
    if (init->in.plan->place) {
        process_tree_end(init->in.proc_fd);
        return;
    }
    signal_all(init, SIGKILL);
    while (waitpid(-1, NULL, 0) > 0 || errno == EINTR)
        continue;
}

/* The supervisor is gone: what the kernel does not take with us, we take ourselves. */
static void __attribute__((noreturn)) end_alone(const struct init *init)
{
    if (init->in.plan->place) {
        process_tree_end(init->in.proc_fd);
        run_dir_remove(init->in.plan->place);
    }
    init_exit(1);
}

/* False when the supervisor is gone. */
static bool obey(const struct init *init, uint32_t *ret_order)
{
    struct init_message message;
    ssize_t n = read(INIT_CONTROL, &message, sizeof(message));

    *ret_order = 0;
    if (n < 0)
        return errno == EINTR || errno == EAGAIN;
    if (n == (ssize_t)sizeof(message))
        *ret_order = message.order;
    if (*ret_order == ORDER_TERMINATE)
        signal_all(init, SIGTERM);
    return n > 0;
}

/* The command line itself, in the place of a driver that could not do the same.  Who listens to refused calls listens to
 * the driver's filter: those of this one are refused in silence. */
static void start_instead(struct init *init)
{
    static struct plan plan; /* it stays the plan */
    sbr_error err;

    plan = *init->in.plan;
    plan.report = false;
    init->in.plan = &plan;
    if (rlimits_confiner.apply(&init->in, &err) < 0 ||
        program_start(&init->in, -1, &init->program, &err) < 0)
        fail(init, &err);
}

static enum report_state supervise(struct init *init)
{
    struct pollfd fds[] = { { .fd = init->child_fd, .events = POLLIN },
                            { .fd = INIT_CONTROL, .events = POLLIN } };
    uint32_t order = 0;

    for (;;) {
        int n = poll(fds, ARRAY_LEN(fds), supervise_interval(&init->supervise));

        if (n < 0 && errno != EINTR)
            init_exit(1);
        /* By the clock, not only when nothing happens: a flood of dying orphans never lets it time
         * out. */
        if (supervise_is_due(&init->supervise) &&
            (init->report->limit = supervise_look(&init->supervise)) != 0)
            return REPORT_LIMIT;
        if (n > 0 && fds[1].revents && !obey(init, &order))
            end_alone(init);
        if (order == ORDER_KILL)
            return REPORT_KILLED;
        if (n > 0 && fds[0].revents && reap(init)) {
            if (!standby_refused(init))
                return REPORT_EXITED;
            start_instead(init);
        }
    }
}

/* Whatever the end was: what the program left until then may be wanted all the more. */
static void hand_out(struct init *init, enum report_state state)
{
    init->report->end = state;
    if (!init->in.plan->n_collects || init->report->dropped)
        return;
    init->report->state = REPORT_COLLECTING;
    collect_run(&init->in, state == REPORT_EXITED && init->report->wait_status == 0);
}

/* Returns in a shell. */
static void be_factory(struct init *init)
{
    sbr_error err;
    int r;

    init->in.role = ROLE_FACTORY;
    r = confine_self(&init->in, &err);
    if (r == 0)
        r = factory_run(&init->in, INIT_PLAN, &err);
    if (r > 0)
        init_exit(0);
    if (r < 0 && init->in.role == ROLE_FACTORY)
        fail(init, &err);
    munmap(init->report, REPORT_SIZE);
    init->report = report_open();
    if (!init->report)
        init_exit(1);
    init->in.report = init->report;
    if (r < 0)
        fail(init, &err);
    setsid();
    reset_signals();
}

/* Everything is dead and reported.  Our own end takes longer: the kernel takes the mounts apart.  Nobody has to wait for
 * that where somebody else reaps us. */
static void let_go(const struct init *init)
{
    if (init->in.role == ROLE_SHELL)
        syscall(SYS_close_range, INIT_STDIN, INIT_LINK, 0);
}

int main(void)
{
    struct init init = {
        .in = { .control_fd = INIT_CONTROL, .root_fd = -1, .io_fd = -1, .proc_fd = -1 },
        .report = report_open(),
        .go_fd = -1,
    };
    enum report_state state;
    sbr_error err;

    if (!init.report)
        init_exit(1);
    init.in.plan = read_plan(&init);
    init.in.report = init.report;
    offer_to_oom_killer(&init);
    setsid();
    reset_signals();
    if (init.in.plan->place)
        prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
    if (init.in.plan->park)
        be_factory(&init);
    init.report->keeps_oom_score = init.in.keeps_oom_score;
    if (confine_self(&init.in, &err) < 0)
        fail(&init, &err);
    watch_children(&init);
    if (init.in.plan->park)
        await_program(&init);
    else
        start_program(&init);
    state = supervise(&init);
    init.report->ended_us = clock_now_us();
    supervise_last(&init.supervise, state == REPORT_EXITED);
    end_rest(&init);
    report_end(init.report, &init.in, init.before);
    supervise_report(&init.supervise, init.report);
    hand_out(&init, state);
    if (init.in.plan->place)
        run_dir_remove(init.in.plan->place);
    init.report->state = state;
    let_go(&init);
    init_exit(0);
}
