/* The factory's loop.
 *
 *   (1) It never runs a user's program: it executes only a language's own runtime
 *       with a driver of ours.
 *   (2) It is pid 1 of its own pid namespace: when it ends, the kernel ends all that it made.
 *   (3) This file has a shell's first steps, until it has its own file descriptors; the rest
 *       is as for every init.
 *   (4) It never reuses a namespace for a second sandbox.  Each shell makes its own network
 *       namespace: counters, flow labels and the like live as long as their namespace, even after
 *       all its processes are dead. */
#include "init/state.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "init/program_start.h"
#include "wire/zygote.h"

#define ABOVE 64 /* above all numbers that the file descriptors will get */

/* Puts fds[i] at first + i and closes all above. */
static int arrange(const int *fds, int n, int first)
{
    int copies[N_INIT_FDS + FD_MAX_PASSED];

    for (int i = 0; i < n; i++)
        if ((copies[i] = fcntl(fds[i], F_DUPFD, ABOVE)) < 0)
            return -1;
    for (int i = 0; i < n; i++)
        if (dup2(copies[i], first + i) < 0)
            return -1;
    return (int)syscall(SYS_close_range, first + n, ~0U, 0);
}

static void __attribute__((noreturn)) be_zygote(const struct inside *in, int plan_fd, int warm_fd)
{
    const int fds[N_ZYGOTE_FDS - ZYGOTE_ORDERS] = { FACTORY_ZYGOTE, plan_fd, FACTORY_LIBRARY,
                                                    warm_fd };

    /* The zygote ends with the factory, even where that has no pid namespace of its own. */
    prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
    if (arrange(fds, N_ZYGOTE_FDS - ZYGOTE_ORDERS, ZYGOTE_ORDERS) == 0)
        program_execute(in->plan);
    _exit(127); /* lint-ok: _exit: the child of a fork */
}

/* False: the runtime has ended, or the engine has, whose end the factory must not outlive. */
static bool await_zygote(const struct inside *in, int warm_fd)
{
    struct pollfd fds[] = { { .fd = warm_fd, .events = POLLIN },
                            { .fd = in->control_fd, .events = 0 } };
    char byte;

    while (poll(fds, ARRAY_LEN(fds), -1) < 0)
        if (errno != EINTR)
            return false;
    return !fds[1].revents && read(warm_fd, &byte, 1) == 1;
}

/* Starts the runtime that workers are forked from.  Returns when it is warm:
 * its pidfd, or negative. */
static int start_zygote(const struct inside *in, int plan_fd, sbr_error *err)
{
    int warm[2], pidfd;
    pid_t pid;

    if (pipe2(warm, O_CLOEXEC) < 0)
        return err_set_errno(err, "zygote", "cannot make a pipe");
    pid = fork();
    if (pid == 0)
        be_zygote(in, plan_fd, warm[1]);
    close(warm[1]);
    pidfd = pid > 0 ? (int)syscall(SYS_pidfd_open, pid, 0) : -1;
    if (pidfd < 0 || !await_zygote(in, warm[0])) {
        close(warm[0]);
        scope_close_fd(&pidfd);
        return err_set(err, SBR_E_SYSTEM, "zygote", "'%.200s' could not be made ready",
                       in->plan->argv[0]);
    }
    close(warm[0]);
    close(FACTORY_ZYGOTE);
    return pidfd;
}

static int map_ids(const struct inside *in, const struct fork_order *order, pid_t pid)
{
    char path[40], text[64];

    snprintf(path, sizeof(path), "%d/uid_map", (int)pid);
    snprintf(text, sizeof(text), "%u %u 1\n", in->plan->inside_uid, order->uid);
    if (fd_write_small(in->proc_fd, path, text) < 0)
        return -1;
    snprintf(path, sizeof(path), "%d/gid_map", (int)pid);
    snprintf(text, sizeof(text), "%u %u 1\n", in->plan->inside_gid, order->gid);
    return fd_write_small(in->proc_fd, path, text);
}

struct forking {
    struct fork_order order;
    int fds[FD_MAX_PASSED];
    size_t n_fds;
    int release[2]; /* the child waits here until its ids are mapped */
    int pidfd;
};

/* How many of the file descriptors belong to enum init_fd. */
static size_t n_given(const struct forking *forking)
{
    return (size_t)__builtin_popcount(forking->order.given);
}

static bool is_sound(const struct forking *forking)
{
    const struct fork_order *order = &forking->order;

    return order->order == ORDER_MAKE && order->given < 1u << N_INIT_FDS && order->group <= 1 &&
           order->n_tasks <= FD_MAX_PASSED && order->n_trees <= FD_MAX_PASSED &&
           n_given(forking) + order->n_trees + order->n_tasks + order->group == forking->n_fds;
}

/* In the child: enters its cgroups and takes its file descriptors. */
static int settle(struct inside *in, const struct forking *forking, sbr_error *err)
{
    int fds[N_INIT_FDS + FD_MAX_PASSED], given = 0, n = 0;
    const int n_trees = (int)forking->order.n_trees;
    const int *trees = forking->fds + n_given(forking), *tasks = trees + n_trees;
    char byte;

    close(forking->release[1]);
    if (read(forking->release[0], &byte, 1) != 1)
        return err_set(err, SBR_E_SYSTEM, "factory", "the ids were not mapped");
    for (uint32_t i = 0; i < forking->order.n_tasks; i++)
        if (fd_write_all(tasks[i], "0", 1) < 0)
            return err_set_errno(err, "cgroup", "cannot enter the cgroup");
    for (; n < N_INIT_FDS; n++) /* every number has to be taken */
        fds[n] = forking->order.given & 1u << n ? forking->fds[given++] : forking->fds[0];
    for (int i = 0; i < n_trees; i++)
        fds[n + i] = trees[i];
    if (arrange(fds, n + n_trees, 0) < 0)
        return err_set_errno(err, "factory", "cannot arrange descriptors");
    in->role = ROLE_SHELL;
    in->root_fd = in->io_fd = in->proc_fd = -1;
    in->n_trees = forking->order.n_trees;
    in->next_tree = 0;
    for (int i = 0; i < n_trees; i++)
        in->trees[i] = n + i;
    return 0;
}

/* A fork into new namespaces; it copies memory, of which there is little. */
static pid_t fork_into(const struct inside *in, struct forking *forking)
{
    const uint64_t own = CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWIPC | CLONE_NEWUTS;
    struct clone_args args = { .flags = CLONE_PIDFD | (in->plan->namespaces & own),
                               .pidfd = (uint64_t)(uintptr_t)&forking->pidfd,
                               .exit_signal = SIGCHLD };

    if (forking->order.group) {
        args.flags |= CLONE_INTO_CGROUP;
        args.cgroup = (uint64_t)forking->fds[forking->n_fds - 1];
    }
    return (pid_t)syscall(SYS_clone3, &args, sizeof(args));
}

static void tell_made(const struct inside *in, const int *pidfd)
{
    const struct init_news news = { NEWS_MADE };

    (void)fd_send(in->control_fd, &news, sizeof(news), pidfd, *pidfd >= 0 ? 1 : 0);
}

static void forking_done(struct forking *forking)
{
    while (forking->n_fds > 0)
        close(forking->fds[--forking->n_fds]);
    scope_close_fd(&forking->release[0]);
    scope_close_fd(&forking->release[1]);
    scope_close_fd(&forking->pidfd);
}

/* 1: in the child; 0: in the factory.  NEWS_MADE without a pidfd reports a
 * failure to the engine. */
static int fork_standby(const struct inside *in, struct forking *forking)
{
    pid_t pid = -1;

    if (is_sound(forking) && pipe2(forking->release, O_CLOEXEC) == 0)
        pid = fork_into(in, forking);
    if (pid == 0)
        return 1;
    if (pid < 0)
        forking->pidfd = -1;
    else if (map_ids(in, &forking->order, pid) == 0)
        (void)fd_write_all(forking->release[1], "", 1); /* a dead child shows in its pidfd */
    tell_made(in, &forking->pidfd);
    forking_done(forking);
    return 0;
}

/* Carries out one order.  1: in the child; 0: done; -1: the engine is gone. */
static int obey(const struct inside *in, struct forking *forking)
{
    ssize_t n;

    *forking = (struct forking){ .release = { -1, -1 }, .pidfd = -1 };
    n = fd_receive(in->control_fd, &forking->order, sizeof(forking->order), forking->fds,
                   &forking->n_fds);
    if (n == (ssize_t)sizeof(forking->order))
        return fork_standby(in, forking);
    forking_done(forking);
    return n < 0 && errno == EINTR ? 0 : -1;
}

/* The factory does not wait for shells: the engine has their pidfds. */
static void ignore_children(void)
{
    struct sigaction action = { .sa_handler = SIG_IGN, .sa_flags = SA_NOCLDWAIT };

    (void)sigaction(SIGCHLD, &action, NULL);
}

static int make_ready(const struct inside *in, int plan_fd, int *ret_zygote, sbr_error *err)
{
    const struct init_news news = { NEWS_READY };

    prctl(PR_SET_DUMPABLE, 1, 0, 0, 0); /* required to write the id maps of children */
    if (in->plan->namespaces & CLONE_NEWNET && unshare(CLONE_NEWNET) < 0)
        return err_set_errno(err, "network", "cannot make a network namespace");
    if (in->plan->standby == STANDBY_ZYGOTE && (*ret_zygote = start_zygote(in, plan_fd, err)) < 0)
        return err->code;
    ignore_children();
    if (fd_send(in->control_fd, &news, sizeof(news), NULL, 0) < 0)
        return err_set_errno(err, "factory", "cannot report that it is ready");
    return 0;
}

int factory_run(struct inside *in, int plan_fd, sbr_error *err)
{
    static struct forking forking;
    int zygote = -1, r;

    if (make_ready(in, plan_fd, &zygote, err) < 0)
        return err->code;
    for (;;) {
        struct pollfd fds[] = { { .fd = in->control_fd, .events = POLLIN },
                                { .fd = zygote, .events = POLLIN } };

        if (poll(fds, ARRAY_LEN(fds), -1) < 0 && errno != EINTR)
            return err_set_errno(err, "factory", "cannot wait for orders");
        if (fds[1].revents)
            return err_set(err, SBR_E_SYSTEM, "zygote", "the zygote ended");
        r = fds[0].revents ? obey(in, &forking) : 0;
        if (r > 0)
            return settle(in, &forking, err);
        if (r < 0)
            return 1;
    }
}
