/* clone3 and exec.
 *
 * The child shares the parent's memory until it executes the image (CLONE_VM): copying even a small
 * address space would cost more than all namespaces together, except the network's.  Unlike after
 * vfork, the parent continues at once, so that it maps ids and makes cgroups during the exec.
 * Hence the child (1) has a stack of its own, (2) uses direct system calls only, because errno and
 * every lock belong to the parent's threads, (3) writes to no other memory than `sys_errno`, and
 * (4) blocks all signals, so that no handler of the caller runs in it.
 *
 * The image is a sealed memory file: the program can neither find it on a path nor overwrite it
 * through /proc/PID/exe (runc's CVE-2019-5736). */
#include "sandbox/spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/sched.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "base/arch.h"
#include "base/fd.h"
#include "wire/egress.h"
#include "wire/secrets.h"

#ifndef MFD_EXEC
#define MFD_EXEC 0x0010U
#endif

/* The images of the helpers, embedded by the build. */
extern const unsigned char init_image_start[], init_image_end[];
extern const unsigned char egress_image_start[], egress_image_end[];
extern const unsigned char publish_image_start[], publish_image_end[];
extern const unsigned char secrets_image_start[], secrets_image_end[];

static const struct {
    const char *name;
    const unsigned char *start, *end;
} helpers[N_HELPERS] = {
    [HELPER_INIT] = { INIT_NAME, init_image_start, init_image_end },
    [HELPER_EGRESS] = { EGRESS_NAME, egress_image_start, egress_image_end },
    [HELPER_PUBLISH] = { PUBLISH_NAME, publish_image_start, publish_image_end },
    [HELPER_SECRETS] = { SECRETS_NAME, secrets_image_start, secrets_image_end },
};

/* Opened on first use and kept for the life of the process: fd + 1, or 0.  A failure is not kept,
 * because the next attempt may find a free descriptor. */
static atomic_int images[N_HELPERS];

static int open_image(enum helper helper)
{
    const unsigned char *start = helpers[helper].start;
    size_t len = (size_t)(helpers[helper].end - start);
    int fd = fd_sealed_memory(helpers[helper].name, start, len, MFD_EXEC), none = 0;

    if (fd < 0 && errno == EINVAL) /* before Linux 6.3 every memory file is executable */
        fd = fd_sealed_memory(helpers[helper].name, start, len, 0);
    if (fd < 0 || atomic_compare_exchange_strong(&images[helper], &none, fd + 1))
        return fd;
    close(fd); /* another thread was quicker */
    return none - 1;
}

/* -1 with errno. */
static int image_fd(enum helper helper)
{
    int kept = atomic_load(&images[helper]);

    return kept ? kept - 1 : open_image(helper);
}

void spawn_forget_helpers(void)
{
    for (size_t i = 0; i < N_HELPERS; i++)
        atomic_store(&images[i], 0);
}

/* Capabilities of the new user namespace survive the exec only if they are ambient.  The last two
 * are kept only on request. */
static const int setup_capabilities[] = {
    CAP_SYS_ADMIN, CAP_SETUID,           CAP_SETGID,       CAP_SETPCAP,      CAP_NET_ADMIN,
    CAP_NET_RAW,   CAP_NET_BIND_SERVICE, CAP_SYS_RESOURCE, CAP_DAC_OVERRIDE, CAP_SYS_PTRACE,
};

static bool is_wanted(const struct spawn *spawn, int capability)
{
    return (capability != CAP_DAC_OVERRIDE || spawn->override_modes) &&
           (capability != CAP_SYS_PTRACE || spawn->factory);
}

static long keep_setup_capabilities(const struct spawn *spawn)
{
    struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
    struct __user_cap_data_struct sets[2] = { { 0 } };
    unsigned int n = ARRAY_LEN(setup_capabilities);
    long r = arch_syscall(SYS_capget, (long)&header, (long)sets, 0);

    for (unsigned int i = 0; i < n; i++)
        if (is_wanted(spawn, setup_capabilities[i]))
            sets[setup_capabilities[i] / 32].inheritable |= 1u << (setup_capabilities[i] % 32);
    if (r == 0)
        r = arch_syscall(SYS_capset, (long)&header, (long)sets, 0);
    for (unsigned int i = 0; r == 0 && i < n; i++)
        if (is_wanted(spawn, setup_capabilities[i]))
            r = arch_syscall5(SYS_prctl, PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE,
                              setup_capabilities[i], 0, 0);
    return r;
}

/* Puts the fds at 0, 1, 2, ..., the image after them, and closes the rest.  First copies the
 * sources above the targets, so that no dup3 overwrites one that is still needed. */
static long arrange_descriptors(const struct spawn *spawn)
{
    long copies[SPAWN_MAX_FDS + 1], r;
    int n = spawn->n_fds;

    for (int i = 0; i <= n; i++) {
        int source = i < n ? spawn->fds[i] : spawn->image_fd;

        copies[i] = arch_syscall(SYS_fcntl, source, F_DUPFD, n + 1);
        if (copies[i] < 0)
            return copies[i];
    }
    for (int i = 0; i <= n; i++) {
        r = arch_syscall(SYS_dup3, copies[i], i, i < n ? 0 : O_CLOEXEC);
        if (r < 0)
            return r;
    }
    return arch_syscall(SYS_close_range, n + 1, ~0U, 0);
}

static void child_main(void *context)
{
    static const char *const no_environment[] = { NULL };
    static const uint64_t no_signals = 0;
    struct spawn *spawn = context;
    const char *const argv[] = { helpers[spawn->helper].name, NULL };
    long r = spawn->keep_capabilities ? keep_setup_capabilities(spawn) : 0;

    if (r >= 0)
        r = arrange_descriptors(spawn);
    if (r >= 0)
        r = arch_syscall5(SYS_rt_sigprocmask, SIG_SETMASK, (long)&no_signals, 0, sizeof(no_signals),
                          0);
    if (r >= 0)
        r = arch_syscall5(SYS_execveat, spawn->n_fds, (long)"", (long)argv, (long)no_environment,
                          AT_EMPTY_PATH);
    spawn->sys_errno = (int)-r;
    for (;;)
        arch_syscall(SYS_exit_group, 127, 0, 0);
}

int spawn_refused(uint64_t namespaces, int sys_errno, sbr_error *err)
{
    errno = sys_errno;
    if (!namespaces || sys_errno == EAGAIN || sys_errno == EMFILE || sys_errno == ENFILE ||
        sys_errno == ENOMEM)
        return err_set_no_process(err, "spawn", "a helper process");
    err_set_errno(
        err, "namespaces",
        "this machine refuses new namespaces; `sandbox-run doctor` says why and what helps");
    if (sys_errno == EPERM || sys_errno == ENOSPC || sys_errno == EINVAL || sys_errno == ENOSYS)
        err_set_retry(err, ERR_WITHOUT_USER_NAMESPACES);
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

    spawn->image_fd = image_fd(spawn->helper);
    if (spawn->image_fd < 0)
        return err_set_errno(err, "spawn", "cannot prepare the helper");
    if (spawn->cgroup_fd >= 0) {
        args.flags |= CLONE_INTO_CGROUP;
        args.cgroup = (uint64_t)spawn->cgroup_fd;
    }
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    pid = arch_clone3(&args, child_main, spawn);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (pid < 0)
        return spawn_refused(spawn->namespaces, (int)-pid, err);
    ret->pid = (pid_t)pid;
    return 0;
}
