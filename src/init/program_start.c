#include "init/program_start.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/close_range.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "confine/confine.h"
#include "wire/control.h"
#include "wire/zygote.h"

#define PATH_SIZE 4096

static const char *search_path(const struct plan *plan)
{
    for (const char *const *entry = (const char *const *)plan->env; *entry; entry++)
        if (!strncmp(*entry, "PATH=", 5))
            return *entry + 5;
    return "";
}

void program_execute(const struct plan *plan)
{
    const char *file = plan->argv[0];
    char *const *argv = (char *const *)plan->argv, *const *env = (char *const *)plan->env;
    int worst = ENOENT;
    char path[PATH_SIZE];

    if (strchr(file, '/')) {
        execve(file, argv, env);
        return;
    }
    for (const char *dir = search_path(plan); dir;
         dir = strchr(dir, ':') ? strchr(dir, ':') + 1 : NULL) {
        int len = (int)strcspn(dir, ":");

        if (len == 0 || snprintf(path, sizeof(path), "%.*s/%s", len, dir, file) >= PATH_SIZE)
            continue;
        execve(path, argv, env);
        if (errno != ENOENT && errno != ENOTDIR)
            worst = errno;
    }
    errno = worst;
}

static int start_error(const char *file, int sys_errno, sbr_error *err)
{
    errno = sys_errno;
    err_set_errno(err, "exec", "cannot run '%.200s' in the sandbox", file);
    if (sys_errno == ENOENT || sys_errno == ENOTDIR)
        err->code = SBR_E_NOT_FOUND;
    else if (sys_errno == EACCES || sys_errno == ENOEXEC || sys_errno == EPERM)
        err->code = SBR_E_DENIED;
    return err->code;
}

struct launch {
    struct inside *in;
    int go_fd; /* -1: none */
    sbr_error err;
    volatile int refused;   /* a step failed: `err` says which */
    volatile int sys_errno; /* why exec failed                 */
    char stack[5 * PATH_SIZE] __attribute__((aligned(16)));
};

/* Where init is not pid 1, its death would not end the other processes: if the machine runs out of
 * memory, the kernel shall choose any of them before init. */
static void tie_to_init(const struct inside *in)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
    (void)fd_write_small(in->proc_fd, "self/oom_score_adj", "1000");
}

/* Makes the terminal the session's own, so that it controls the program's jobs, and the streams. */
static void take_terminal(const struct inside *in)
{
    const struct plan_tty *tty = &in->plan->tty;

    for (int stream = STDIN_FILENO; tty->rows && stream <= STDERR_FILENO; stream++) {
        if (!(tty->streams >> stream & 1))
            continue;
        if (in->tty_fd >= 0)
            (void)dup2(in->tty_fd, stream);
        ioctl(stream, TIOCSCTTY, 0); /* of the first stream; it changes nothing for the others */
    }
}

/* The kernel of a session finds its channel, which came as stdin, at a number of its own. */
static int take_channel(const struct plan *plan)
{
    int null;

    if (!plan->kernel)
        return 0;
    null = open("/dev/null", O_RDONLY | O_CLOEXEC);
    if (null < 0 || dup2(STDIN_FILENO, PLAN_KERNEL_FD) < 0 || dup2(null, STDIN_FILENO) < 0)
        return -1;
    return 0;
}

/* Node makes its pipes non-blocking.  The others write into the same ones and would lose what does
 * not fit, so a second kernel opens them anew.  Where it cannot, it has them as they are. */
static void open_streams_anew(void)
{
    static const char *const paths[] = { "/proc/self/fd/1", "/proc/self/fd/2" };

    for (int i = 0; i < 2; i++) {
        int fd = open(paths[i], O_WRONLY | O_CLOEXEC | O_NOCTTY);

        if (fd >= 0)
            (void)dup2(fd, STDOUT_FILENO + i);
    }
}

/* Shares init's memory until its exec; init waits for that. */
static int launch_main(void *context)
{
    struct launch *launch = context;
    const struct plan *plan = launch->in->plan;
    sigset_t none;

    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    if (!plan_leaves_out(plan, "own-session"))
        setsid(); /* keeps kill(0, ...) and the terminal's signals within the program's own group */
    take_terminal(launch->in);
    if (!plan_leaves_out(plan, "close-descriptors"))
        syscall(SYS_close_range, INIT_CONTROL, ~0U, CLOSE_RANGE_CLOEXEC);
    if (plan->run_dir)
        tie_to_init(launch->in);
    launch->refused = confine_program(launch->in, &launch->err);
    if (!launch->refused) {
        /* The only file descriptor that a driver finds besides the streams. */
        if (launch->go_fd >= 0 && dup2(launch->go_fd, DRIVER_GO) < 0)
            _exit(127); /* lint-ok: _exit: the child of a vfork */
        if (launch->in->is_second)
            open_streams_anew();
        if (take_channel(plan) == 0)
            program_execute(plan);
        launch->sys_errno = errno;
    }
    _exit(127);
}

void program_owns_stdin(void)
{
    (void)dup2(INIT_STDERR, INIT_STDIN); /* the number stays taken */
}

/* clone, not clone3: the filter is in force already. */
int program_start(struct inside *in, int go_fd, pid_t *ret, sbr_error *err)
{
    static struct launch launch;
    pid_t pid;

    launch.in = in;
    launch.go_fd = go_fd;
    launch.refused = launch.sys_errno = 0; /* of an earlier one */
    pid = clone(launch_main, launch.stack + sizeof(launch.stack), CLONE_VM | CLONE_VFORK | SIGCHLD,
                &launch);
    if (pid < 0 && errno == EAGAIN)
        return err_set(err, SBR_E_BUSY, "exec",
                       "there is no process left for the program; raise `ulimit -u` or --pids");
    if (pid < 0)
        return err_set_errno(err, "exec", "cannot make a process for the program");
    if (launch.refused || launch.sys_errno) {
        waitpid(pid, NULL, 0);
        if (!launch.refused)
            return start_error(in->plan->argv[0], launch.sys_errno, err);
        *err = launch.err;
        return err->code;
    }
    program_owns_stdin();
    *ret = pid;
    return 0;
}
