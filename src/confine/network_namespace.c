/* The network namespace: empty, with a loopback that is down, unless the plan says more.
 *
 *   none       nothing
 *   localhost  loopback is up
 *   allow,     loopback is up and every address leads to it, where listeners of sandbox-run-egress
 *   full       accept all outgoing traffic; there is no other route, so the rest stays inside
 *
 * The kernel takes as long to make one as all other set-up together, so a second task of init
 * makes it while the first one builds the root and then enters it; the table has one step for
 * each end.  A sandbox that is made ahead needs no second task: no client waits for it, and
 * only CPU time counts. */
#include <errno.h>
#include <linux/sched.h>
#include <linux/sockios.h>
#include <sched.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/arch.h"
#include "confine/confiner.h"
#include "confine/mounts.h"
#include "confine/netlink.h"

/* Shared with the second task, which uses direct system calls only: errno belongs to the first. */
static struct maker {
    pid_t pid;
    volatile long fd; /* of the namespace, or -errno */
    char stack[4096] __attribute__((aligned(16)));
} maker;

static void maker_main(void *context)
{
    struct maker *self = context;
    long r = arch_syscall(SYS_unshare, CLONE_NEWNET, 0, 0);

    if (r == 0)
        r = arch_syscall(SYS_socket, AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (r >= 0) {
        long socket_fd = r;

        r = arch_syscall(SYS_ioctl, socket_fd, SIOCGSKNS, 0);
        arch_syscall(SYS_close, socket_fd, 0, 0);
    }
    self->fd = r;
    for (;;)
        arch_syscall(SYS_exit, 0, 0, 0);
}

static int network_start(struct inside *in, sbr_error *err)
{
    struct clone_args args = { .flags = CLONE_VM | CLONE_FILES,
                               .stack = (uint64_t)(uintptr_t)maker.stack,
                               .stack_size = sizeof(maker.stack) };
    long pid;

    if (!(in->plan->namespaces & CLONE_NEWNET) || in->role == ROLE_SHELL)
        return 0;
    maker.fd = -ESRCH; /* of one that is killed before it is done */
    pid = arch_clone3(&args, maker_main, &maker);
    if (pid < 0) {
        errno = (int)-pid;
        return err_set_no_process(err, "network", "a helper");
    }
    maker.pid = (pid_t)pid;
    return 0;
}

/* Sets sysctls of the namespace.  A server inside may use its usual port.  TCP buffers
 * are kernel memory, which cgroup v1 does not count: a connection that is never read from
 * may not hold megabytes. */
static void adjust_settings(void)
{
    static const char *const no_options[] = { NULL };
    static const struct {
        const char *name, *value;
    } settings[] = {
        { "sys/net/ipv4/ip_unprivileged_port_start", "0" },
        { "sys/net/ipv4/tcp_wmem", "4096 16384 524288" },
        { "sys/net/ipv4/tcp_rmem", "4096 131072 1048576" },
    };
    scoped_fd int proc = mount_new("proc", no_options, 0);

    for (size_t i = 0; proc >= 0 && i < ARRAY_LEN(settings); i++)
        (void)fd_write_small(proc, settings[i].name, settings[i].value);
}

/* Installs the best redirection to the listeners that this kernel supports. */
static enum egress_way choose_way(const struct plan *plan)
{
    if (!plan_leaves_out(plan, "tproxy") && netlink_send(NETLINK_TPROXY) == 0)
        return WAY_TPROXY;
    if (!plan_leaves_out(plan, "redirect") && netlink_send(NETLINK_REDIRECT) == 0)
        return WAY_REDIRECT;
    return WAY_PORTS;
}

static int open_ways_out(struct inside *in, sbr_error *err)
{
    struct network_sockets wanted = { .plan = in->plan };
    int r;

    if (netlink_send(NETLINK_ROUTES4) < 0)
        return err_set_errno(err, "network",
                             "cannot route every address to the sandbox's loopback");
    wanted.v6 = netlink_send(NETLINK_ROUTES6) == 0; /* a machine may have no IPv6 */
    wanted.way = choose_way(in->plan);
    r = network_send_sockets(INIT_LINK, &wanted);
    if (r < 0)
        return err_set_errno(err, "network",
                             "cannot make the sockets for egress and hand them to it");
    return 0;
}

static int set_up(struct inside *in, sbr_error *err)
{
    if (in->plan->network == NETWORK_NONE)
        return 0;
    if (netlink_send(NETLINK_LO_UP) < 0)
        return err_set_errno(err, "network", "cannot bring the loopback of the sandbox up");
    adjust_settings();
    if (in->plan->n_published && network_send_unconnected(INIT_PUBLISH) < 0)
        return err_set_errno(
            err, "publish",
            "cannot make the sockets for published ports and hand them to their process");
    return in->plan->network == NETWORK_LOCALHOST ? 0 : open_ways_out(in, err);
}

/* Enters the namespace that the second task made. */
static int enter_made(sbr_error *err)
{
    scoped_fd int fd = -1;
    pid_t r;

    do
        r = waitpid(maker.pid, NULL, __WALL);
    while (r < 0 && errno == EINTR);
    fd = (int)maker.fd;
    if (fd < 0) {
        errno = -fd;
        return err_set_errno(err, "network", "cannot make a network namespace");
    }
    if (setns(fd, CLONE_NEWNET) < 0)
        return err_set_errno(err, "network", "cannot enter the network namespace");
    return 0;
}

static int network_enter(struct inside *in, sbr_error *err)
{
    if (!(in->plan->namespaces & CLONE_NEWNET))
        return 0;
    if (in->role != ROLE_SHELL && enter_made(err) < 0)
        return err->code;
    if (in->role == ROLE_SHELL && unshare(CLONE_NEWNET) < 0)
        return err_set_errno(err, "network", "cannot make a network namespace");
    return set_up(in, err);
}

const struct confiner network_start_confiner = { "network-start", NULL, network_start };
const struct confiner network_confiner = { "network", NULL, network_enter };
