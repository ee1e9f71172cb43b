/* sandbox-run-init: pid 1 of a sandbox.
 *
 * Reads its plan from a sealed file descriptor, confines itself step by step (confine/confine.c),
 * starts the program, reaps orphans, and reports how the program ended.  When it exits, by itself
 * or because the supervisor is gone, the kernel ends everything else inside.
 *
 *   Privilege:   all capabilities of its own user namespace until the identity step, then none.
 *   Descriptors: enum init_fd, plus those in struct inside; the program's exec closes all of them.
 *   (1) The program is started only after every step succeeded.
 *   (2) After confinement init uses only read, poll, wait and kill and, once no other process is
 *       alive, the calls that read files (collect_trees.c): the strictest policy allows them.  In a
 *       session it also receives and starts kernels (kernels.c), if the policy allows that.
 *   (3) It is undumpable, so the program can read neither its memory nor its file descriptors. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
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
#include "init/collect_files.h"
#include "init/program_start.h"
#include "init/state.h"
#include "init/supervise.h"
#include "plan/filter.h"
#include "wire/control.h"

/* Init exits only here. */
static void __attribute__((noreturn)) init_exit(int status)
{
    _exit(status);
}

static void __attribute__((noreturn)) fail(const struct init *init, const sbr_error *err)
{
    if (init->in.plan && init->in.plan->run_dir)
        run_dir_remove(init->in.plan->run_dir);
    init->report->error = *err;
    init->report->state = REPORT_FAILED;
    init_exit(1);
}

/* Keeps the plan's file descriptor open in a factory, whose zygote reads it again. */
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
    if (!plan->standby)
        close(INIT_PLAN);
    return plan;
}

/* Ignored signals of init's parent must not reach the program.  Asks the kernel directly, because
 * the C library keeps a few real-time signals for itself. */
static void reset_signals(void)
{
    static const unsigned long by_default[4]; /* handler, flags, restorer, mask */

    for (int number = 1; number <= 64; number++)
        syscall(SYS_rt_sigaction, number, by_default, NULL, sizeof(unsigned long));
}

/* When the host runs out of memory, the kernel ends the processes inside before those of the host.
 * This also frees kernel memory that no cgroup is charged for, once its owners die.  All processes
 * inside inherit the score and cannot change it: procfs is read-only, or closed by Landlock.  Must
 * come before the ids change, after which init may not write its own files in procfs.  Where init
 * is not pid 1, it dies last (program_start.c). */
static void offer_to_oom_killer(struct init *init)
{
    static const char path[] = "/proc/self/oom_score_adj";
    const struct plan *plan = init->in.plan;
    const char *score = plan->run_dir ? "999" : "1000";
    char now[16];

    if (plan_leaves_out(plan, "oom-score") || fd_write_small(AT_FDCWD, path, score) == 0)
        return;
    /* Inside a sandbox of ours the score is 1000 already, and cannot be written. */
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

    supervise_init(&init->supervise, &init->in, init->report);
    init->before = report_usage(&init->in);
    report_begin(report, init->before);
    report->ready_us = clock_now_us();
    if (program_start(&init->in, -1, &init->program, &err) < 0)
        fail(init, &err);
    init->supervise.program = init->program;
    report->kernels[0] = (uint32_t)init->program;
    report->state = REPORT_RUNNING;
}

/* For a sandbox that is made ahead: the rest of the plan comes with the program. */
static void await_program(struct init *init)
{
    sbr_error err;
    int r = standby_start(init, &err);

    if (r == 0)
        r = standby_wait(init, &err);
    if (r > 0)
        init_exit(1); /* the sandbox is not wanted any more */
    if (r < 0)
        fail(init, &err);
    if (init->program == 0)
        start_program(init);
}

/* Reaps every dead child; true when the program is among them. */
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
        kernels_forget(init, pid);
    }
    return ended;
}

/* Signals every process of this pid namespace but init.  Without a pid namespace -1 would
 * mean the whole host, so there it signals init's descendants (and in a test build the
 * program's session alone). */
static void signal_all(const struct init *init, int number)
{
    if (init->in.plan->run_dir && number == SIGSTOP)
        process_tree_stop(init->in.proc_fd);
    else if (init->in.plan->run_dir)
        process_tree_signal(init->in.proc_fd, number);
    else
        kill(getpid() == 1 ? -1 : -init->program, number);
    if (number == SIGSTOP && !init->in.plan->run_dir)
        process_tree_await_stop();
}

/* To a group of its own, as a terminal would. */
static void signal_program(const struct init *init, const struct init_message *message)
{
    pid_t program = message->kernel ? kernels_pid(init, message->kernel) : init->program;
    int number = (int)message->number;

    if (program > 0 && number > 0 && number <= 64 && kill(-program, number) < 0)
        kill(program, number); /* it leads no group */
}

/* Every orphan of a pid namespace is its init's child. */
static bool is_alone(void)
{
    siginfo_t ignored;

    return getpid() == 1 && waitid(P_ALL, 0, &ignored, WEXITED | WNOHANG | WNOWAIT) < 0 &&
           errno == ECHILD;
}

/* Ends the remaining processes inside and waits for them, so that their usage is counted.  To look
 * for them first is cheaper: to kill all, the kernel goes through all processes of the host. */
static void end_rest(const struct init *init)
{
    if (init->in.plan->run_dir) {
        process_tree_end(init->in.proc_fd);
        return;
    }
    if (is_alone())
        return;
    signal_all(init, SIGKILL);
    while (waitpid(-1, NULL, 0) > 0 || errno == EINTR)
        continue;
}

/* The supervisor is gone: ends and removes what the kernel does not end with init. */
static void __attribute__((noreturn)) end_alone(const struct init *init)
{
    if (init->in.plan->run_dir) {
        process_tree_end(init->in.proc_fd);
        run_dir_remove(init->in.plan->run_dir);
    }
    init_exit(1);
}

/* False when the supervisor is gone. */
static bool obey(struct init *init, uint32_t *ret_order)
{
    static const struct {
        uint32_t order;
        int number;
    } signals[] = { { ORDER_TERMINATE, SIGTERM },
                    { ORDER_PAUSE, SIGSTOP },
                    { ORDER_RESUME, SIGCONT } };
    struct init_message message;
    ssize_t n = kernels_receive(init, &message);

    *ret_order = 0;
    if (n < 0)
        return errno == EINTR || errno == EAGAIN;
    if (n == (ssize_t)sizeof(message))
        *ret_order = message.order;
    if (*ret_order == ORDER_SIGNAL) {
        signal_program(init, &message);
        atomic_fetch_add(&init->report->signals, 1);
    }
    if (*ret_order == ORDER_COLLECT)
        collect_changes(&init->in);
    for (size_t i = 0; i < ARRAY_LEN(signals); i++)
        if (*ret_order == signals[i].order)
            signal_all(init, signals[i].number);
    if (*ret_order == ORDER_PAUSE)
        atomic_fetch_add(&init->report->pauses, 1);
    return n > 0;
}

/* Starts the command line itself, because the driver could not do the same.  The supervisor's
 * listener belongs to the driver's filter, so refusals of this program are not reported. */
static void start_instead(struct init *init)
{
    static struct plan plan; /* in->plan points here from now on */
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
        int n =
            poll(fds, ARRAY_LEN(fds), wall_clock_wait(init, supervise_interval(&init->supervise)));

        if (n < 0 && errno != EINTR)
            init_exit(1);
        /* By the clock, not only when poll times out: a flood of dying
         * orphans would never let it. */
        if (supervise_is_due(&init->supervise) &&
            (init->report->limit = supervise_look(&init->supervise)) != 0)
            return REPORT_LIMIT;
        if (wall_clock_is_over(init)) {
            init->report->limit = INIT_LIMIT_WALL;
            return REPORT_LIMIT;
        }
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

/* After every kind of end, because the files may be wanted even more after a failure. */
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

/* All processes are dead and reported.  Init's own end takes longer, because the kernel takes the
 * mounts apart; where another process reaps init, the client need not wait for that. */
static void let_go(const struct init *init)
{
    if (init->in.role == ROLE_SHELL)
        syscall(SYS_close_range, INIT_STDIN, INIT_PUBLISH, 0);
}

int main(int argc, char **argv)
{
    struct init init = {
        .in = { .control_fd = INIT_CONTROL,
                .root_fd = -1,
                .io_fd = -1,
                .proc_fd = -1,
                .tty_fd = -1 },
        .go_fd = -1,
    };
    enum report_state state;
    sbr_error err;

    if (argc == 2)
        guest_enter(argv[1]);
    init.report = report_open();
    if (!init.report)
        init_exit(1);
    init.in.plan = read_plan(&init);
    init.in.report = init.report;
    offer_to_oom_killer(&init);
    setsid();
    reset_signals();
    if (init.in.plan->run_dir)
        prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
    if (init.in.plan->standby)
        be_factory(&init);
    init.report->keeps_oom_score = init.in.keeps_oom_score;
    if (confine_self(&init.in, &err) < 0)
        fail(&init, &err);
    watch_children(&init);
    if (init.in.plan->standby)
        await_program(&init);
    else
        start_program(&init);
    init.refuses_fds = filter_eval_forbids_messages(init.in.plan->filters, init.in.plan->n_filters);
    state = supervise(&init);
    init.report->ended_us = clock_now_us();
    supervise_last(&init.supervise, state == REPORT_EXITED);
    end_rest(&init);
    report_end(init.report, &init.in, init.before);
    supervise_report(&init.supervise, init.report);
    hand_out(&init, state);
    if (init.in.plan->run_dir)
        run_dir_remove(init.in.plan->run_dir);
    init.report->state = state;
    let_go(&init);
    init_exit(0);
}
