#include "init/state.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "init/program_start.h"

/* The kernel that could not be started says why itself, as the others say their first word. */
static void report_failure(int channel, const sbr_error *err)
{
    char frame[sizeof(err->message) + 64];
    int n =
        snprintf(frame, sizeof(frame), "failed 0 - %zu\n%s", strlen(err->message), err->message);

    (void)!write(channel, frame, (size_t)n);
}

/* The plan borrows from the bytes. */
struct late_plan {
    void *data;
    size_t len;
    struct plan *plan;
};

static int read_plan(int fd, struct late_plan *ret, sbr_error *err)
{
    struct stat st;

    ret->data = MAP_FAILED;
    if (fstat(fd, &st) == 0 && st.st_size > 0)
        ret->data = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    if (ret->data == MAP_FAILED)
        return err_set_errno(err, "plan", "cannot map the plan");
    ret->len = (size_t)st.st_size;
    return plan_decode(ret->data, ret->len, &ret->plan, err);
}

static void drop_plan(struct late_plan *late)
{
    plan_free(late->plan);
    if (late->len)
        munmap(late->data, late->len);
}

/* As the first kernel, with another command line: all that confines it is init's already, the
 * filter with its listener among that. */
static int start(struct init *init, const struct plan *late, int channel, pid_t *ret,
                 sbr_error *err)
{
    struct inside in = init->in;
    struct plan plan = *init->in.plan;

    plan.argv = late->argv;
    plan.env = late->env;
    plan.workdir = late->workdir;
    plan.kernel = true;
    in.plan = &plan;
    in.is_second = true;
    if (dup2(channel, INIT_STDIN) < 0)
        return err_set_errno(err, "kernel", "cannot pass the channel on");
    return program_start(&in, -1, ret, err);
}

static void set_kernel(struct init *init, uint32_t number, pid_t pid)
{
    init->kernels[number - 1] = pid;
    init->report->kernels[number] = (uint32_t)pid;
}

static void start_kernel(struct init *init, uint32_t number, int plan_fd, int channel)
{
    struct late_plan late = { 0 };
    sbr_error err = { 0 };
    pid_t kernel;

    if (number < 1 || number > INIT_KERNELS || !init->in.plan->kernel || init->in.plan->run_dir)
        return;
    kernel = init->kernels[number - 1];
    if (kernel) /* given up by the supervisor; what is left of it is reaped as any orphan is */
        kill(-kernel, SIGKILL);
    kernel = 0;
    if (read_plan(plan_fd, &late, &err) == 0)
        (void)!start(init, late.plan, channel, &kernel, &err);
    set_kernel(init, number, kernel);
    if (err.code)
        report_failure(channel, &err);
    drop_plan(&late);
}

ssize_t kernels_receive(struct init *init, struct init_message *ret)
{
    int fds[FD_MAX_PASSED];
    size_t n_fds = 0;
    ssize_t n;

    if (!init->in.plan->kernel || init->refuses_fds)
        return read(INIT_CONTROL, ret, sizeof(*ret));
    n = fd_receive(INIT_CONTROL, ret, sizeof(*ret), fds, &n_fds);
    if (n == (ssize_t)sizeof(*ret) && ret->order == ORDER_KERNEL && n_fds == 2)
        start_kernel(init, ret->kernel, fds[0], fds[1]);
    while (n_fds > 0)
        close(fds[--n_fds]);
    return n;
}

pid_t kernels_pid(const struct init *init, uint32_t number)
{
    return number <= INIT_KERNELS ? init->kernels[number - 1] : 0;
}

/* A child that lives on may hold its channel, and the supervisor waits for the end of that. */
void kernels_forget(struct init *init, pid_t pid)
{
    for (uint32_t i = 0; i < INIT_KERNELS; i++) {
        if (init->kernels[i] != pid)
            continue;
        kill(-pid, SIGKILL);
        set_kernel(init, i + 1, 0);
    }
}
