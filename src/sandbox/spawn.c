/* clone3 and exec.
 *
 * The child shares the parent's memory until it executes the image (CLONE_VM): copying even a small
 * address space would cost more than all namespaces but the network's together.  Unlike vfork the
 * parent goes on at once, so that mapping ids and making groups overlap with the exec.  Hence the
 * child (1) runs on a stack of its own, (2) uses direct system calls only, since errno and every
 * lock belong to the parent's threads, (3) writes to no other memory but `sys_errno`, and (4) has
 * all signals blocked, so that no handler of the caller can run in it.
 *
 * What is executed is a sealed memory file: the program can neither find it on a path nor overwrite
 * it through /proc/PID/exe (runc's CVE-2019-5736). */
#include "sandbox/spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/sched.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "base/arch.h"
#include "base/fd.h"

#ifndef MFD_EXEC
#define MFD_EXEC 0x0010U
#endif

/* The bytes of sandbox-run-init, put here by the build. */
extern const unsigned char init_image_start[], init_image_end[];

/* Opened on first use and kept for the life of the process. */
static int image_fd = -1;
static int image_errno;
static pthread_once_t image_once = PTHREAD_ONCE_INIT;

static void open_image(void)
{
    /* cppcheck-suppress comparePointers ; both are labels of one object */
    size_t len = (size_t)(init_image_end - init_image_start);

    image_fd = fd_sealed_memory(INIT_NAME, init_image_start, len, MFD_EXEC);
    if (image_fd < 0 && errno == EINVAL) /* before Linux 6.3 every memory file is executable */
        image_fd = fd_sealed_memory(INIT_NAME, init_image_start, len, 0);
    image_errno = errno;
}

/* Capabilities of the new user namespace survive the exec only if they are ambient. */
static const int setup_capabilities[] = {
    CAP_SYS_ADMIN, CAP_SETUID, CAP_SETGID, CAP_SETPCAP, CAP_NET_ADMIN, CAP_SYS_RESOURCE,
};

static long keep_setup_capabilities(void)
{
    struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
    struct __user_cap_data_struct sets[2] = { { 0 } };
    long r = arch_syscall(SYS_capget, (long)&header, (long)sets, 0);

    for (unsigned int i = 0; i < ARRAY_LEN(setup_capabilities); i++)
        sets[setup_capabilities[i] / 32].inheritable |= 1u << (setup_capabilities[i] % 32);
    if (r == 0)
        r = arch_syscall(SYS_capset, (long)&header, (long)sets, 0);
    for (unsigned int i = 0; r == 0 && i < ARRAY_LEN(setup_capabilities); i++)
        r = arch_syscall5(SYS_prctl, PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, setup_capabilities[i], 0,
                          0);
    return r;
}

/* Puts the descriptors at 0, 1, 2, ..., the image behind them, and closes the rest.  Sources are
 * first copied above the targets, so that no order of numbers can overwrite one that is still
 * needed. */
static long arrange_descriptors(const struct spawn *spawn)
{
    long copies[N_INIT_FDS + 1], r;

    for (int i = 0; i <= N_INIT_FDS; i++) {
        int source = i < N_INIT_FDS ? spawn->fds[i] : spawn->image_fd;

        copies[i] = arch_syscall(SYS_fcntl, source, F_DUPFD, N_INIT_FDS + 1);
        if (copies[i] < 0)
            return copies[i];
    }
    for (int i = 0; i <= N_INIT_FDS; i++) {
        r = arch_syscall(SYS_dup3, copies[i], i, i < N_INIT_FDS ? 0 : O_CLOEXEC);
        if (r < 0)
            return r;
    }
    return arch_syscall(SYS_close_range, N_INIT_FDS + 1, ~0U, 0);
}

static void child_main(void *context)
{
    static const char *const argv[] = { INIT_NAME, NULL };
    static const char *const no_environment[] = { NULL };
    static const uint64_t no_signals = 0;
    struct spawn *spawn = context;
    long r = spawn->keep_capabilities ? keep_setup_capabilities() : 0;

    if (r >= 0)
        r = arrange_descriptors(spawn);
    if (r >= 0)
        r = arch_syscall5(SYS_rt_sigprocmask, SIG_SETMASK, (long)&no_signals, 0, sizeof(no_signals),
                          0);
    if (r >= 0)
        r = arch_syscall5(SYS_execveat, N_INIT_FDS, (long)"", (long)argv, (long)no_environment,
                          AT_EMPTY_PATH);
    spawn->sys_errno = (int)-r;
    for (;;)
        arch_syscall(SYS_exit_group, 127, 0, 0);
}

/* A refused clone names the kernel's rule, since "Operation not permitted" helps nobody. */
static int clone_error(const struct spawn *spawn, int sys_errno, sbr_error *err)
{
    errno = sys_errno;
    if (sys_errno == EAGAIN)
        return err_set(err, SBR_E_BUSY, "spawn",
                       "this user has as many processes as it may have; raise `ulimit -u`, or the "
                       "process limit of its group");
    if (!spawn->namespaces)
        return err_set_errno(err, "spawn", "cannot start a helper process");
    err_set_errno(
        err, "namespaces",
        "this machine refuses new namespaces; `sandbox-run doctor` says why and what helps");
    if (sys_errno == EPERM || sys_errno == ENOSPC || sys_errno == EINVAL || sys_errno == ENOSYS)
        err->code = SBR_E_UNSUPPORTED;
    return err->code;
}

int spawn_start(struct spawn *spawn, struct process *ret, sbr_error *err)
{
    struct clone_args args = { .flags = CLONE_VM | CLONE_PIDFD | spawn->namespaces,
                               .pidfd = (uint64_t)(uintptr_t)&ret->pidfd,
                               .stack = (uint64_t)(uintptr_t)spawn->stack,
                               .stack_size = sizeof(spawn->stack),
                               .exit_signal = SIGCHLD };
    sigset_t all, before;
    long pid;

    pthread_once(&image_once, open_image);
    if (image_fd < 0) {
        errno = image_errno;
        return err_set_errno(err, "spawn", "cannot prepare the helper");
    }
    spawn->image_fd = image_fd;
    if (spawn->cgroup_fd >= 0) {
        args.flags |= CLONE_INTO_CGROUP;
        args.cgroup = (uint64_t)spawn->cgroup_fd;
    }
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    pid = arch_clone3(&args, child_main, spawn);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (pid < 0)
        return clone_error(spawn, (int)-pid, err);
    ret->pid = (pid_t)pid;
    return 0;
}
