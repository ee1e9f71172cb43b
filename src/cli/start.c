#include "cli/start.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/scope.h"
#include "changes/textdiff.h"
#include "cli/present.h"
#include "cli/terminal.h"
#include "job/job.h"
#include "sandbox/probe.h"

#define DIFF_MAX_FILE (1u << 20)
#define DIFF_MAX_BYTES (4u << 20)
#define DIFF_MAX_LINES 200 /* of a file; `changes diff` shows all */

/* One run as the command line sees it. */
struct front {
    struct options *o;
    sbr_runtime runtime;
    sbr_job *job;
    struct forward out, err;
    struct terminal_filter out_filter, err_filter;
    int signal_fd;
    struct loop_watch signal_watch;
    int signal; /* the first that asked us to end; 0: none */
    bool decorated;
    struct diff_options diff;
};

static int next_signal(int signal_fd)
{
    struct signalfd_siginfo info = { 0 };

    return read(signal_fd, &info, sizeof(info)) == (ssize_t)sizeof(info) ? (int)info.ssi_signo : 0;
}

static void signal_came(void *context, uint32_t events)
{
    struct front *front = context;
    int number = next_signal(front->signal_fd);

    (void)events;
    if (!number)
        return;
    if (!front->signal)
        front->signal = number;
    job_cancel(front->job);
}

/* Signals become events: no handler ever runs. */
static int watch_signals(struct front *front, sbr_error *err)
{
    sigset_t wanted;

    sigemptyset(&wanted);
    sigaddset(&wanted, SIGINT);
    sigaddset(&wanted, SIGTERM);
    sigaddset(&wanted, SIGHUP);
    sigaddset(&wanted, SIGQUIT);
    sigprocmask(SIG_BLOCK, &wanted, NULL);
    front->signal_fd = signalfd(-1, &wanted, SFD_CLOEXEC | SFD_NONBLOCK);
    if (front->signal_fd < 0)
        return err_set_errno(err, "signals", "cannot watch for signals");
    return 0;
}

static void open_sink(struct forward *forward, int fd, struct terminal_filter *filter,
                      const struct front *front)
{
    const struct options *o = front->o;

    forward_init(forward, fd, o->request->limits.value[SBR_OUTPUT_BYTES]);
    if (!o->raw && isatty(fd)) {
        forward->filter = terminal_clean;
        forward->filter_state = filter;
    }
}

/* The program's stdin: a named file, ours, or nothing. */
static int open_stdin(const struct options *o, bool stdin_is_program, int *ret, sbr_error *err)
{
    const sbr_request *req = o->request;

    *ret = -1;
    if (o->stdin_path && strcmp(o->stdin_path, "-") != 0) {
        *ret = open(o->stdin_path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
        return *ret < 0 ? err_set_errno(err, "stdin", "cannot open '%.200s'", o->stdin_path) : 0;
    }
    if (stdin_is_program && o->stdin_path)
        return err_set(
            err, SBR_E_INVALID, "stdin",
            "stdin cannot be both the program and its input; give one of them as a file");
    if (!stdin_is_program && !req->stdin_data)
        *ret = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3);
    return 0;
}

static int exit_status(const struct front *front, const sbr_result *r)
{
    /* A stage that failed speaks for the program that did not run. */
    if (r->verdict == SBR_COMPILE_FAILED && r->n_before &&
        r->before[r->n_before - 1]->verdict != SBR_COMPILE_FAILED)
        return exit_status(front, r->before[r->n_before - 1]);
    switch (r->verdict) {
    case SBR_TIMEOUT:
    case SBR_CPU_LIMIT:
        return EXIT_TIMEOUT;
    case SBR_DENIED:
        return EXIT_DENIED;
    case SBR_CANCELLED:
        return EXIT_SIGNAL + (front->signal ? front->signal : SIGTERM);
    case SBR_INTERNAL_ERROR:
        return EXIT_OURS;
    case SBR_OUTPUT_LIMIT:
    case SBR_MEMORY_LIMIT:
        return EXIT_SIGNAL + SIGKILL;
    case SBR_EXITED:
    case SBR_SIGNALED:
    case SBR_DISK_LIMIT:
    case SBR_PROCESS_LIMIT:
    case SBR_COMPILE_FAILED:
        break;
    }
    return r->signal ? EXIT_SIGNAL + r->signal : r->exit_code;
}

/* Part of the output that is missing must not look like all of it. */
static int check_sink(const struct forward *forward, const char *name, sbr_error *err)
{
    errno = forward->sys_errno;
    return errno ? err_set_errno(err, "output", "cannot write the program's %s", name) : 0;
}

static int print_json(const sbr_result *result, sbr_error *err)
{
    scoped_free char *json = result_to_json(result);

    if (!json)
        return err_set_oom(err, "result");
    if (fputs(json, stdout) < 0 || fputc('\n', stdout) < 0 || fflush(stdout) != 0)
        return err_set_errno(err, "result", "cannot write the result");
    return 0;
}

static int present(const struct front *front, const sbr_result *result, sbr_error *err)
{
    const struct options *o = front->o;
    bool whole = !o->quiet && (front->decorated || isatty(STDERR_FILENO));

    if (o->json)
        return print_json(result, err);
    present_stages(result, o);
    if (whole)
        present_result(result, o, front->decorated);
    else if (!o->quiet && !result_success(result))
        present_denials(&result->denials, o); /* whoever reads a log of it wants to know too */
    if (!whole && result->lost)
        present_explanation(result, o);
    if (!o->quiet)
        present_changes(result, o);
    return 0;
}

static void forget_readers(void *context, uint32_t events)
{
    struct front *front = context;

    (void)events;
    forward_done(&front->out);
    forward_done(&front->err);
}

static int run_to_end(struct front *front, sbr_result **ret, sbr_error *err)
{
    sbr_job *const job = front->job;
    uint64_t grace_us = front->o->request->limits.value[SBR_GRACE_MS] * 1000 + 1;
    bool waiting = false;
    int r;

    if (!job)
        return err_set(err, SBR_E_BUG, "run", "there is no job to wait for");
    do {
        r = job_turn(job, true, err);
        /* Told to end, only readers are waited for: as long as the program would have had. */
        if (r == 0 && job->now.watching && job->now.monitor.state == DONE && front->signal &&
            !waiting) {
            waiting = true;
            loop_set_timer(&job->loop, 0, clock_now_us() + grace_us, forget_readers, front);
        }
    } while (r == 0);
    present_stage(NULL);
    return r < 0 ? r : job_take_result(job, ret, err);
}

/* Stages before the program's own may take long: a line on a terminal says which. */
static void stage_begins(void *context, enum stage stage)
{
    static const char *const doings[N_STAGES] = {
        [STAGE_PREPARE] = "making the language ready, once",
        [STAGE_INSTALL] = "installing packages",
        [STAGE_COMPILE] = "compiling",
        [STAGE_CHECK] = "checking",
    };
    const struct front *front = context;

    if (!front->o->quiet && !front->o->json && isatty(STDERR_FILENO))
        present_stage(doings[stage]);
}

/* Where there is no overlayfs a project is copied, which may take a while. */
static void copy_goes_on(void *context, uint64_t files, uint64_t bytes)
{
    struct front *front = context;
    char text[80];

    signal_came(front, 0);
    if (front->o->quiet || front->o->json || !isatty(STDERR_FILENO))
        return;
    snprintf(text, sizeof(text), "copying the project: %llu files, %llu MB",
             (unsigned long long)files, (unsigned long long)(bytes >> 20));
    present_stage(text);
}

/* The engine has as much to do as it takes at once. */
static void engine_queues(void *context, unsigned int position)
{
    const struct front *front = context;
    char text[80];

    if (front->o->quiet || front->o->json || !isatty(STDERR_FILENO))
        return;
    snprintf(text, sizeof(text), "waiting for the engine, %u before this one", position);
    present_stage(position ? text : "waiting for the engine");
}

static int start_front(struct front *front, struct monitor_options *options, sbr_error *err)
{
    const struct options *o = front->o;

    if (watch_signals(front, err) < 0)
        return err->code;
    front->runtime.cold = o->cold;
    probe_features(&front->runtime.features);
    /* A failure is logged; the plan then says what is missing. */
    (void)cgroup_prepare(&front->runtime.features.cgroup, err);
    options->keep_output = o->json;
    if (!o->json) {
        open_sink(&front->out, STDOUT_FILENO, &front->out_filter, front);
        open_sink(&front->err, STDERR_FILENO, &front->err_filter, front);
        options->forward_out = &front->out;
        options->forward_err = &front->err;
    }
    if (o->request->stdin_data && options->stdin_fd < 0) {
        options->stdin_data = o->request->stdin_data;
        options->stdin_len = o->request->stdin_len;
    }
    if (job_new(&front->runtime, o->request, options, &front->job, err) < 0)
        return err->code;
    front->signal_watch = loop_watch_of(front->signal_fd, signal_came, front);
    if (loop_add(&front->job->loop, &front->signal_watch, EPOLLIN) < 0)
        return err_set_errno(err, "signals", "cannot watch for signals");
    front->job->on_stage = stage_begins;
    front->job->on_stage_context = front;
    front->job->on_copy = copy_goes_on;
    front->job->on_queue = engine_queues;
    front->diff = (struct diff_options){ .color = present_uses_color(STDERR_FILENO, o),
                                         .max_file = DIFF_MAX_FILE,
                                         .max_bytes = DIFF_MAX_BYTES,
                                         .max_lines = DIFF_MAX_LINES };
    front->job->render = o->json || o->quiet ? NULL : &front->diff;
    return job_begin(front->job, err);
}

int start_request(struct options *o, const char *title, bool stdin_is_program)
{
    struct front front = { .o = o, .signal_fd = -1, .out = { .fd = -1 }, .err = { .fd = -1 } };
    struct monitor_options options = { .started_us = clock_now_us() };
    scoped_fd int stdin_fd = -1;
    sbr_result *result = NULL;
    sbr_error err;
    int status;

    front.decorated = !o->json && !o->quiet && (o->text || isatty(STDOUT_FILENO));
    if (open_stdin(o, stdin_is_program, &stdin_fd, &err) < 0)
        return cli_fail(o, &err);
    options.stdin_fd = stdin_fd;
    if (front.decorated)
        present_header(title, o);
    if (start_front(&front, &options, &err) < 0 || run_to_end(&front, &result, &err) < 0 ||
        check_sink(&front.out, "stdout", &err) < 0 || check_sink(&front.err, "stderr", &err) < 0 ||
        present(&front, result, &err) < 0)
        status = cli_fail(o, &err);
    else
        status = exit_status(&front, result);
    job_leave(front.job);
    return status;
}
