/* clone3 and exec, with nothing but direct system calls between them.
 *
 * The child borrows the parent's memory (CLONE_VM | CLONE_VFORK): copying even a small address
 * space would cost more than all namespaces but the network's together.  So, until it executes the
 * image, the child (1) writes to no memory but its own stack frame and `failure`, (2) takes no
 * lock, and (3) runs with all signals blocked, so that no handler of the caller can run in it.
 *
 * What is executed is a sealed memory file: the program can neither find it on a path nor overwrite
 * it through /proc/PID/exe (runc's CVE-2019-5736). */
#include "sandbox/spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/close_range.h>
#include <linux/sched.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/arch.h"
#include "base/fd.h"
#include "sandbox/protocol.h"

#ifndef MFD_EXEC
#define MFD_EXEC 0x0010U
#endif

/* The bytes of sandbox-run-init, put here by the build. */
extern const unsigned char init_image_start[], init_image_end[];

static int image_fd = -1;
static int image_errno;
static pthread_once_t image_once = PTHREAD_ONCE_INIT;

static void open_image(void)
{
    size_t len = (size_t)(init_image_end - init_image_start);

    image_fd = fd_sealed_memory(INIT_NAME, init_image_start, len, MFD_EXEC);
    if (image_fd < 0 && errno == EINVAL) /* before Linux 6.3 every memory file is executable */
        image_fd = fd_sealed_memory(INIT_NAME, init_image_start, len, 0);
    image_errno = errno;
}

int spawn_image(void)
{
    pthread_once(&image_once, open_image);
    if (image_fd < 0)
        errno = image_errno;
    return image_fd;
}

/* What the child reports through the shared memory when it cannot execute. */
struct failure {
    int sys_errno;
    const char *what;
};

/* Capabilities of the new user namespace survive the exec only if they are ambient. */
static const int setup_capabilities[] = {
    CAP_SYS_ADMIN,    CAP_SETUID,     CAP_SETGID,    CAP_SETPCAP,
    CAP_SYS_RESOURCE, CAP_SYS_CHROOT, CAP_NET_ADMIN, CAP_DAC_OVERRIDE,
};

static int keep_setup_capabilities(void)
{
    struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
    struct __user_cap_data_struct sets[2];

    if (syscall(SYS_capget, &header, sets) < 0)
        return -1;
    for (unsigned int i = 0; i < ARRAY_LEN(setup_capabilities); i++)
        sets[setup_capabilities[i] / 32].inheritable |= 1u << (setup_capabilities[i] % 32);
    if (syscall(SYS_capset, &header, sets) < 0)
        return -1;
    for (unsigned int i = 0; i < ARRAY_LEN(setup_capabilities); i++)
        if (prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, setup_capabilities[i], 0, 0) < 0)
            return -1;
    return 0;
}

/* Puts the descriptors at 0, 1, 2, ... and closes the rest.  Sources are first copied above the
 * targets, so that no order of numbers can overwrite one that is still needed. */
static int arrange_descriptors(const struct spawn *spawn, int image)
{
    int copies[SPAWN_MAX_FDS];
    int last = (int)spawn->n_fds;

    image = fcntl(image, F_DUPFD, last + 1);
    if (image < 0)
        return -1;
    for (unsigned int i = 0; i < spawn->n_fds; i++) {
        copies[i] = spawn->fds[i] < 0 ? -1 : fcntl(spawn->fds[i], F_DUPFD, last + 1);
        if (spawn->fds[i] >= 0 && copies[i] < 0)
            return -1;
    }
    for (int i = 0; i < last; i++)
        if (copies[i] < 0)
            close(i);
        else if (dup2(copies[i], i) < 0)
            return -1;
    if (dup2(image, last) < 0 || fcntl(last, F_SETFD, FD_CLOEXEC) < 0)
        return -1;
    return (int)syscall(SYS_close_range, last + 1, ~0U, 0);
}

static void __attribute__((noreturn)) child_fail(struct failure *failure, const char *what)
{
    failure->sys_errno = errno;
    failure->what = what;
    _exit(127);
}

static void __attribute__((noreturn))
child_main(const struct spawn *spawn, int image, struct failure *failure)
{
    static char *const no_environment[] = { NULL };
    sigset_t none;

    if (spawn->keep_capabilities && keep_setup_capabilities() < 0)
        child_fail(failure, "cannot keep the capabilities that set-up needs");
    if (arrange_descriptors(spawn, image) < 0)
        child_fail(failure, "cannot arrange descriptors");
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    syscall(SYS_execveat, spawn->n_fds, "", spawn->argv, no_environment, AT_EMPTY_PATH);
    child_fail(failure, "cannot execute the helper");
}

/* Not inlined: its frame must hold nothing that the child, running on the same stack, could upset.
 */
static long __attribute__((noinline))
clone_and_run(struct clone_args *args, const struct spawn *spawn, int image,
              struct failure *failure)
{
    long pid = arch_clone3(args);

    if (pid == 0)
        child_main(spawn, image, failure);
    return pid;
}

/* A refused clone names the kernel's rule, since "Operation not permitted" helps nobody. */
static int clone_error(const struct spawn *spawn, int sys_errno, sbr_error *err)
{
    errno = sys_errno;
    if (!spawn->namespaces)
        return err_set_errno(err, "spawn", "cannot start a helper process");
    err_set_errno(
        err, "namespaces",
        "this machine refuses new namespaces; `sandbox-run doctor` says why and what helps");
    if (sys_errno == EPERM || sys_errno == ENOSPC || sys_errno == EINVAL)
        err->code = SBR_E_UNSUPPORTED;
    return err->code;
}

int spawn_start(const struct spawn *spawn, struct process *ret, sbr_error *err)
{
    int image = spawn_image();
    struct failure failure = { 0 };
    struct clone_args args = { .flags = CLONE_VM | CLONE_VFORK | CLONE_PIDFD | spawn->namespaces,
                               .pidfd = (uint64_t)(uintptr_t)&ret->pidfd,
                               .exit_signal = SIGCHLD };
    sigset_t all, before;
    long pid;

    if (image < 0)
        return err_set_errno(err, "spawn", "cannot prepare the helper");
    if (spawn->cgroup_fd >= 0) {
        args.flags |= CLONE_INTO_CGROUP;
        args.cgroup = (uint64_t)spawn->cgroup_fd;
    }
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    pid = clone_and_run(&args, spawn, image, &failure);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (pid < 0)
        return clone_error(spawn, (int)-pid, err);
    if (failure.what) {
        waitpid((pid_t)pid, NULL, 0);
        close(ret->pidfd);
        ret->pidfd = -1;
        errno = failure.sys_errno;
        return err_set_errno(err, "spawn", "%s", failure.what);
    }
    ret->pid = (pid_t)pid;
    return 0;
}
