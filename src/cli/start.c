#include "cli/start.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/scope.h"
#include "changes/textdiff.h"
#include "cli/present.h"
#include "cli/terminal.h"
#include "lib/runner.h"

#define DIFF_MAX_FILE (1u << 20)
#define DIFF_MAX_BYTES (4u << 20)
#define DIFF_MAX_LINES 200 /* of a file; `changes diff` shows all */

/* One run as the command line sees it. */
struct front {
    struct options *o;
    sbr_runtime *runtime;
    struct runner *runner;
    struct runner_options options;
    struct terminal_filter out_filter, err_filter;
    int signal; /* the first that asked us to end; 0: none */
    bool decorated, progress;
    struct diff_options diff;
};

static int next_signal(int signal_fd)
{
    struct signalfd_siginfo info = { 0 };

    return read(signal_fd, &info, sizeof(info)) == (ssize_t)sizeof(info) ? (int)info.ssi_signo : 0;
}

static void signal_came(void *context)
{
    struct front *front = context;
    int number = next_signal(front->options.events.fd);

    if (!number)
        return;
    if (!front->signal)
        front->signal = number;
    runner_cancel(front->runner);
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
    front->options.events.fd = signalfd(-1, &wanted, SFD_CLOEXEC | SFD_NONBLOCK);
    if (front->options.events.fd < 0)
        return err_set_errno(err, "signals", "cannot watch for signals");
    return 0;
}

/* A terminal gets no control sequences that do more than colour and move. */
static struct runner_stream open_stream(const struct options *o, int fd,
                                        struct terminal_filter *filter)
{
    struct runner_stream stream = { .fd = o->json ? -1 : fd };

    if (!o->json && !o->raw && isatty(fd)) {
        stream.filter = terminal_clean;
        stream.filter_state = filter;
    }
    return stream;
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
    /* The status of a failed stage stands for the program, which did not run. */
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
        present_denials(&result->denials, o); /* a log of the run needs them too */
    if (!whole && result->lost)
        present_explanation(result, o);
    if (!o->quiet)
        present_changes(result, o);
    return 0;
}

/* Stages before the program's own may take long: a line on a terminal names the stage. */
static void stage_begins(void *context, enum stage stage)
{
    static const char *const doings[N_STAGES] = {
        [STAGE_PREPARE] = "making the language ready, once",
        [STAGE_INSTALL] = "installing packages",
        [STAGE_COMPILE] = "compiling",
        [STAGE_CHECK] = "checking",
    };
    const struct front *front = context;

    if (front->progress)
        present_stage(doings[stage]);
}

/* Without overlayfs a project is copied, which may take a while: a signal must end it. */
static void tree_copied(void *context, uint64_t files, uint64_t bytes)
{
    struct front *front = context;
    char text[80];

    signal_came(front);
    snprintf(text, sizeof(text), "copying the project: %llu files, %llu MB",
             (unsigned long long)files, (unsigned long long)(bytes >> 20));
    if (front->progress)
        present_stage(text);
}

static void engine_queues(void *context, unsigned int before)
{
    const struct front *front = context;
    char text[80];

    snprintf(text, sizeof(text), "waiting for the engine, %u before this one", before);
    if (front->progress)
        present_stage(before ? text : "waiting for the engine");
}

static int run(struct front *front, sbr_result **ret, sbr_error *err)
{
    const struct options *o = front->o;
    struct runner_options *options = &front->options;
    int r;

    if (watch_signals(front, err) < 0 ||
        runner_open(RUNNER_ONCE, o->cold, &front->runtime, err) < 0)
        return err->code;
    options->keep_output = o->json;
    options->out = open_stream(o, STDOUT_FILENO, &front->out_filter);
    options->err = open_stream(o, STDERR_FILENO, &front->err_filter);
    options->events.context = front;
    options->events.stage = stage_begins;
    options->events.copied = tree_copied;
    options->events.queued = engine_queues;
    options->events.readable = signal_came;
    front->diff = (struct diff_options){ .color = present_uses_color(STDERR_FILENO, o),
                                         .max_file = DIFF_MAX_FILE,
                                         .max_bytes = DIFF_MAX_BYTES,
                                         .max_lines = DIFF_MAX_LINES };
    options->diff = o->json || o->quiet ? NULL : &front->diff;
    if (runner_start(front->runtime, o->request, options, &front->runner, err) < 0)
        return err->code;
    r = runner_finish(front->runner, ret, err);
    present_stage(NULL);
    return r < 0 || *ret ? r : err_set(err, SBR_E_BUG, "run", "there is no result");
}

int start_request(struct options *o, const char *title, bool stdin_is_program)
{
    struct front front = { .o = o, .options = { .started_us = clock_now_us() } };
    scoped_fd int stdin_fd = -1;
    sbr_result *result = NULL;
    sbr_error err;
    int status;

    front.decorated = !o->json && !o->quiet && (o->text || isatty(STDOUT_FILENO));
    front.progress = !o->json && !o->quiet && isatty(STDERR_FILENO);
    if (open_stdin(o, stdin_is_program, &stdin_fd, &err) < 0)
        return cli_fail(o, &err);
    front.options.stdin_fd = stdin_fd;
    if (front.decorated)
        present_header(title, o);
    if (run(&front, &result, &err) < 0 || !result || present(&front, result, &err) < 0)
        status = cli_fail(o, &err);
    else
        status = exit_status(&front, result);
    runner_leave(front.runner);
    return status;
}
