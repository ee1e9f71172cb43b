/* The network namespace: empty, with a loopback that is down.
 *
 * Making one takes the kernel as long as the rest of the set-up together, so a second task of init
 * makes it while the first one builds the root; that one then enters it.  The two steps of the
 * table are the two ends of this. */
#include <errno.h>
#include <linux/sched.h>
#include <linux/sockios.h>
#include <sched.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/arch.h"
#include "base/scope.h"
#include "sandbox/confiner.h"

/* Shared with the second task, which uses direct system calls only: errno is the first one's. */
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

    if (!(in->plan->namespaces & CLONE_NEWNET))
        return 0;
    pid = arch_clone3(&args, maker_main, &maker);
    if (pid < 0) {
        errno = (int)-pid;
        return err_set_errno(err, "network", "cannot start a helper");
    }
    maker.pid = (pid_t)pid;
    return 0;
}

static int network_enter(struct inside *in, sbr_error *err)
{
    scoped_fd int fd = -1;
    pid_t r;

    if (!(in->plan->namespaces & CLONE_NEWNET))
        return 0;
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

const struct confiner network_start_confiner = { "network-start", NULL, network_start };
const struct confiner network_confiner = { "network", NULL, network_enter };
