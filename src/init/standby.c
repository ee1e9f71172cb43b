#include "init/state.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "init/program_start.h"
#include "wire/zygote.h"

#define GO_MAX_BYTES (4u << 20) /* arguments and variables; execve takes less */

static int driver_error(sbr_error *err)
{
    return err_set(err, SBR_E_SYSTEM, "driver",
                   "the language's driver ended before its program came");
}

/* Reads `len` bytes.  1: the supervisor is gone; negative: the driver has ended. */
static int read_from_driver(const struct init *init, void *data, size_t len, sbr_error *err)
{
    size_t have = 0;

    while (have < len) {
        struct pollfd fds[] = { { .fd = init->go_fd, .events = POLLIN },
                                { .fd = INIT_CONTROL, .events = 0 } };
        ssize_t n;

        if (poll(fds, ARRAY_LEN(fds), -1) < 0 && errno != EINTR)
            return err_set_errno(err, "driver", "cannot wait for the driver");
        if (fds[1].revents & POLLHUP)
            return 1;
        if (!fds[0].revents)
            continue;
        n = read(init->go_fd, (char *)data + have, len - have);
        if (n <= 0)
            return driver_error(err);
        have += (size_t)n;
    }
    return 0;
}

/* From now on the driver's usage counts as its program's. */
static int await_warm(struct init *init, sbr_error *err)
{
    char byte = 0;
    int r = read_from_driver(init, &byte, 1, err);

    if (r == 0 && byte != DRIVER_READY)
        return driver_error(err);
    if (r == 0)
        init->before = report_usage_with(&init->in, init->program);
    return r;
}

int standby_start(struct init *init, sbr_error *err)
{
    int pair[2], r;

    init->go_fd = -1;
    if (init->in.plan->standby != STANDBY_DRIVER)
        return 0;
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0)
        return err_set_errno(err, "driver", "cannot make a socket pair");
    init->go_fd = pair[0];
    /* Not in the work directory: a runtime may cache which files it does not find there. */
    r = program_start(&init->in, pair[1], &init->program, err);
    close(pair[1]);
    return r == 0 ? await_warm(init, err) : r;
}

/* A worker of the zygote has entered init's namespaces and, as an orphan, become init's child. */
static int adopt(struct init *init, int go_fd, sbr_error *err)
{
    uint32_t pid;
    int r;

    if (init->go_fd >= 0 || init->in.plan->standby != STANDBY_ZYGOTE)
        return err_set(err, SBR_E_BUG, "driver", "there is no worker to adopt");
    init->go_fd = go_fd;
    r = read_from_driver(init, &pid, sizeof(pid), err);
    if (r != 0)
        return r;
    if (pid < 2 || pid > INT32_MAX)
        return driver_error(err);
    init->program = (pid_t)pid;
    program_owns_stdin();
    return await_warm(init, err);
}

/* Adds the parts of the plan that the blueprint lacks. */
static void merge(struct inside *in, const struct plan *late)
{
    static struct plan plan; /* in->plan points here from now on */

    plan = *in->plan;
    plan.standby = STANDBY_NONE;
    plan.argv = late->argv;
    plan.env = late->env;
    plan.workdir = late->workdir;
    plan.ops = late->ops;
    plan.n_ops = late->n_ops;
    plan.deadline_ms = late->deadline_ms;
    memcpy(plan.rlimits, late->rlimits, sizeof(plan.rlimits));
    plan.n_rlimits = late->n_rlimits;
    in->plan = &plan;
}

static int read_plan(struct inside *in, int fd, sbr_error *err)
{
    struct plan *late = NULL;
    struct stat st;
    void *data = MAP_FAILED;

    if (fstat(fd, &st) == 0 && st.st_size > 0)
        data = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    if (data == MAP_FAILED)
        return err_set_errno(err, "plan", "cannot map the plan");
    if (plan_decode(data, (size_t)st.st_size, &late, err) < 0)
        return err->code;
    if (late->standby || late->run_dir)
        return err_set(err, SBR_E_BUG, "plan", "the plan is not one of a run");
    merge(in, late);
    return 0;
}

static int put_files(struct inside *in, sbr_error *err)
{
    umask(0); /* the plan's modes are exact */
    if (chdir("/") < 0)
        return err_set_errno(err, "program", "cannot enter the root");
    return program_confiner.apply(in, err);
}

/* Sets the limits of a driver that runs already.  Its CPU time so far does not count. */
static int limit_driver(const struct init *init, sbr_error *err)
{
    const struct plan *plan = init->in.plan;
    struct timespec used = { 0 };

    (void)clock_gettime((clockid_t)(~(unsigned int)init->program << 3 | 2), &used);
    for (size_t i = 0; i < plan->n_rlimits; i++) {
        const struct plan_rlimit *want = &plan->rlimits[i];
        uint64_t more =
            want->resource == RLIMIT_CPU ? (uint64_t)used.tv_sec + (used.tv_nsec > 0) : 0;
        struct rlimit now, limit;

        if (plan_leaves_out(plan, "rlimits"))
            break;
        if (prlimit(init->program, (int)want->resource, NULL, &now) < 0)
            return err_set_errno(err, "rlimits", "cannot read limit %u", want->resource);
        limit.rlim_max = want->hard < RLIM_INFINITY - more ? want->hard + more : want->hard;
        limit.rlim_cur = want->soft < RLIM_INFINITY - more ? want->soft + more : want->soft;
        if (limit.rlim_max > now.rlim_max)
            limit.rlim_max = now.rlim_max;
        if (limit.rlim_cur > limit.rlim_max)
            limit.rlim_cur = limit.rlim_max;
        if (prlimit(init->program, (int)want->resource, &limit, NULL) < 0)
            return err_set_errno(err, "rlimits", "cannot set limit %u", want->resource);
    }
    return 0;
}

static void put_text(struct buf *out, const char *text)
{
    buf_add(out, text, strlen(text) + 1);
}

static void put_list(struct buf *out, const char *const *list)
{
    char number[24];
    size_t n = 0;

    while (list[n])
        n++;
    snprintf(number, sizeof(number), "%zu", n);
    put_text(out, number);
    for (size_t i = 0; i < n; i++)
        put_text(out, list[i]);
}

static int tell_driver(struct init *init, sbr_error *err)
{
    const struct plan *plan = init->in.plan;
    struct buf message;
    int r;

    buf_init(&message, GO_MAX_BYTES);
    put_text(&message, plan->workdir);
    put_list(&message, (const char *const *)plan->argv);
    put_list(&message, (const char *const *)plan->env);
    init->report->ready_us = clock_now_us();
    report_begin(init->report, init->before);
    init->report->state = REPORT_RUNNING;
    r = message.failed ? err_set_oom(err, "driver") : 0;
    /* EPIPE: the driver has ended, and its exit status is the result. */
    if (r == 0 && fd_write_all(init->go_fd, message.data, message.len) < 0 && errno != EPIPE)
        r = err_set_errno(err, "driver", "cannot tell the driver what to run");
    buf_done(&message);
    (void)shutdown(init->go_fd, SHUT_WR); /* ends the message; the driver may still answer */
    return r;
}

bool standby_refused(struct init *init)
{
    char answer = 0;
    ssize_t n = init->go_fd >= 0 ? recv(init->go_fd, &answer, 1, MSG_DONTWAIT) : -1;

    scope_close_fd(&init->go_fd);
    init->go_fd = -1;
    return n == 1 && answer == DRIVER_CANNOT;
}

static int go(struct init *init, sbr_error *err)
{
    if (put_files(&init->in, err) < 0)
        return err->code;
    supervise_init(&init->supervise, &init->in, init->report);
    if (!init->program)
        return rlimits_confiner.apply(&init->in, err);
    if (limit_driver(init, err) < 0)
        return err->code;
    return tell_driver(init, err);
}

/* RAN: the program has its order or can be started; 0: another order follows; 1: the sandbox is not
 * wanted any more; negative: an error. */
#define RAN 2

static int obey(struct init *init, const struct init_message *message, int *fds, size_t n_fds,
                sbr_error *err)
{
    struct inside *in = &init->in;

    if (message->order == ORDER_ADOPT && n_fds == 1)
        return adopt(init, fds[0], err);
    if (message->order != ORDER_GO || n_fds == 0)
        return err_set(err, SBR_E_BUG, "init", "an order that a waiting sandbox does not know");
    memcpy(in->trees, fds + 1, (n_fds - 1) * sizeof(fds[0]));
    in->n_trees = n_fds - 1;
    in->next_tree = 0;
    if (read_plan(in, fds[0], err) < 0)
        return err->code;
    close(fds[0]);
    return go(init, err) < 0 ? err->code : RAN;
}

static int report_ready(sbr_error *err)
{
    const struct init_news news = { NEWS_STANDBY };

    if (fd_send(INIT_CONTROL, &news, sizeof(news), NULL, 0) < 0)
        return err_set_errno(err, "init", "cannot report that it waits");
    return 0;
}

/* Waits for an order.  1: the sandbox is not wanted any more; negative: the driver has ended. */
static int await_order(const struct init *init, sbr_error *err)
{
    for (;;) {
        struct pollfd fds[] = { { .fd = INIT_CONTROL, .events = POLLIN },
                                { .fd = init->go_fd, .events = 0 } };

        if (poll(fds, ARRAY_LEN(fds), -1) < 0 && errno != EINTR)
            return err_set_errno(err, "init", "cannot wait for an order");
        if (fds[0].revents & POLLIN)
            return 0;
        if (fds[0].revents)
            return 1;
        if (fds[1].revents)
            return driver_error(err);
    }
}

int standby_wait(struct init *init, sbr_error *err)
{
    for (;;) {
        struct init_message message = { 0 };
        int fds[FD_MAX_PASSED], r = report_ready(err);
        size_t n_fds = 0;
        ssize_t n;

        if (r == 0)
            r = await_order(init, err);
        if (r != 0)
            return r;
        n = fd_receive(INIT_CONTROL, &message, sizeof(message), fds, &n_fds);
        if (n != (ssize_t)sizeof(message))
            return 1;
        r = obey(init, &message, fds, n_fds, err);
        if (r != 0)
            return r == RAN ? 0 : r;
    }
}
