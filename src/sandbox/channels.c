#include "sandbox/channels.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/log.h"

#define PIPE_SIZE (256 * 1024)

void channels_close_far(struct far_channels *far)
{
    for (unsigned int i = 0; i < N_INIT_FDS; i++)
        scope_close_fd(&far->fds[i]);
}

void sandbox_reset(struct sandbox *box)
{
    *box = (struct sandbox){ .control = -1, .in = -1, .out = -1, .err = -1 };
    box->terminal = box->collected = -1;
    box->init.pidfd = box->ids.lock_fd = box->listener = box->report_fd = -1;
    for (int i = 0; i <= INIT_CONTROL; i++)
        box->far[i] = -1;
    for (unsigned int i = 0; i < N_CG; i++)
        box->cgroup.parent_fd[i] = box->cgroup.leaf_fd[i] = -1;
    box->cgroup.oom_fd = -1;
    egress_reset(&box->egress);
    publish_process_reset(&box->publish);
}

/* The near end must not block; the far end is the program's and must block. */
static int make_stream(int *near, int *far, bool program_reads)
{
    int ends[2];

    if (pipe2(ends, O_CLOEXEC) < 0)
        return -1;
    *near = ends[program_reads ? 1 : 0];
    *far = ends[program_reads ? 0 : 1];
    if (!program_reads)
        (void)fcntl(*near, F_SETPIPE_SZ, PIPE_SIZE); /* fewer wake-ups; refused above a quota */
    return fcntl(*near, F_SETFL, O_NONBLOCK);
}

int channels_make_kernel(int *near, int *far)
{
    int pair[2];

    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0)
        return -1;
    *near = pair[0];
    *far = pair[1];
    return fcntl(*near, F_SETFL, O_NONBLOCK);
}

static int make_stdin(struct sandbox *box, const struct plan *plan, struct far_channels *far)
{
    return plan->kernel ? channels_make_kernel(&box->in, &far->fds[INIT_STDIN])
                        : make_stream(&box->in, &far->fds[INIT_STDIN], true);
}

/* Opening /dev/stdout and similar by name takes the owner's rights.  Where chown is refused, the
 * streams themselves still work. */
static void own_streams(const struct sandbox *box, const struct far_channels *far)
{
    if (geteuid() != 0)
        return;
    for (int i = INIT_STDIN; i <= INIT_STDERR; i++)
        if (fchown(far->fds[i], box->ids.host_uid, box->ids.host_gid) < 0)
            return;
}

int channels_make_control(int *near, struct far_channels *far, sbr_error *err)
{
    int pair[2];

    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
        return err_set_errno(err, "streams", "cannot make a socket pair");
    *near = pair[0];
    far->fds[INIT_CONTROL] = pair[1];
    return 0;
}

/* Streams that are the terminal, where no devpts of the sandbox's own can have it.  A machine
 * without terminals leaves the pipes. */
static void make_terminal(struct sandbox *box, const struct plan_tty *tty, struct far_channels *far)
{
    const struct winsize size = { .ws_row = (unsigned short)tty->rows,
                                  .ws_col = (unsigned short)tty->columns };
    scoped_fd int master = open("/dev/ptmx", O_RDWR | O_NOCTTY | O_NONBLOCK | O_CLOEXEC);
    scoped_fd int slave = -1;
    int unlocked = 0;

    if (master >= 0 && ioctl(master, TIOCSPTLCK, &unlocked) == 0 &&
        ioctl(master, TIOCSWINSZ, &size) == 0)
        slave = ioctl(master, TIOCGPTPEER, O_RDWR | O_NOCTTY | O_CLOEXEC);
    if (slave < 0) {
        log_info("streams", "this machine gives no terminal: %s", strerror(errno));
        return;
    }
    for (int i = INIT_STDIN; i <= INIT_STDERR; i++)
        if (tty->streams >> i & 1)
            (void)dup3(slave, far->fds[i], O_CLOEXEC);
    box->terminal = take_fd(master);
}

int channels_make_streams(struct sandbox *box, const struct plan *plan, struct far_channels *far,
                          sbr_error *err)
{
    bool collects = plan->n_collects > 0;

    if (make_stdin(box, plan, far) < 0 ||
        make_stream(&box->out, &far->fds[INIT_STDOUT], false) < 0 ||
        make_stream(&box->err, &far->fds[INIT_STDERR], false) < 0 ||
        (collects && make_stream(&box->collected, &far->fds[INIT_COLLECT], false) < 0))
        return err_set_errno(err, "streams", "cannot make a pipe");
    if (plan->tty.rows && plan->run_dir)
        make_terminal(box, &plan->tty, far);
    own_streams(box, far);
    return channels_make_control(&box->control, far, err);
}

int channels_store_plan(const struct plan *plan, struct far_channels *far, sbr_error *err)
{
    struct buf bytes;
    int r;

    buf_init(&bytes, 2 * REQUEST_MAX_BYTES);
    r = plan_encode(plan, &bytes, err);
    if (r == 0) {
        far->fds[INIT_PLAN] = fd_sealed_memory("plan", bytes.data, bytes.len, 0);
        if (far->fds[INIT_PLAN] < 0)
            r = err_set_errno(err, "plan", "cannot store the plan");
    }
    buf_done(&bytes);
    return r;
}

int channels_share_report(struct init_report **ret, struct far_channels *far, sbr_error *err)
{
    void *page;

    far->fds[INIT_REPORT] = memfd_create("report", MFD_CLOEXEC);
    if (far->fds[INIT_REPORT] < 0 || ftruncate(far->fds[INIT_REPORT], REPORT_SIZE) < 0)
        return err_set_errno(err, "report", "cannot make a page for the report");
    page = mmap(NULL, REPORT_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, far->fds[INIT_REPORT], 0);
    if (page == MAP_FAILED)
        return err_set_errno(err, "report", "cannot map the report");
    *ret = page;
    return 0;
}
