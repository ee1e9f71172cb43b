#include "cli/changesets.h"

#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/signal_fd.h"
#include "changes/textdiff.h"
#include "cli/ask.h"
#include "cli/changes_menu.h"
#include "cli/not_inside.h"
#include "cli/preparation.h"
#include "cli/present.h"
#include "cli/pretty.h"
#include "cli/progress.h"
#include "cli/settings.h"
#include "cli/stream.h"
#include "cli/terminal.h"
#include "cli/user_tty.h"
#include "explain/ending.h"
#include "lib/runner.h"
#include "store/store.h"

#define DIFF_MAX_FILE (1u << 20)
#define DIFF_MAX_BYTES (4u << 20)
#define DIFF_MAX_LINES 200 /* of a file; `changes diff` shows all */

/* One run as the command line sees it. */
struct front {
    struct options *o;
    sbr_runtime *runtime;
    sbr_job *job;
    uint64_t started_us;
    int signal_fd, stdin_fd;    /* -1: none */
    struct save_file diff_file; /* of --diff=FILE */
    struct terminal_filter out_filter, err_filter;
    struct pretty out_pretty, err_pretty;
    struct user_tty tty;
    int event_fd; /* a signal came, or the timer of the terminal is due */
    int signal;   /* the first that asked us to end; 0: none */
    bool decorated, progress;
    size_t shown;       /* stages before the program whose output was shown */
    bool shown_earlier; /* warnings of a program from the cache, too */
    struct progress line;
    int second_fd; /* ticks while the line is shown; -1: not made yet */
    struct diff_options diff;
    struct event_stream stream; /* of --stream */
    bool cut;                   /* a signal came before its reader had all */
    bool asks;                  /* at the end, what becomes of the changes */
};

static int next_signal(int signal_fd)
{
    struct signalfd_siginfo info = { 0 };

    return read(signal_fd, &info, sizeof(info)) == (ssize_t)sizeof(info) ? (int)info.ssi_signo : 0;
}

static void end_by(struct front *front, int number)
{
    if (!front->signal)
        front->signal = number;
    if (number == SIGINT)
        runner_interrupt(front->job);
    else
        sbr_job_cancel(front->job);
}

/* What may be due: the seconds of the line, and what is held as a document. */
static void second_passed(struct front *front)
{
    uint64_t times;

    if (front->second_fd >= 0 && read(front->second_fd, &times, sizeof(times)) > 0 &&
        front->line.shown)
        progress_show(&front->line, front->line.title);
    pretty_look(&front->out_pretty);
}

static void signal_came(void *context)
{
    struct front *front = context;
    int number;

    while ((number = next_signal(front->signal_fd)) != 0) {
        if (front->o->ask && number != SIGWINCH && number != SIGCONT)
            front->o->ask->calls->leave(front->o->ask);
        if (number == SIGTSTP)
            user_tty_suspend(&front->tty);
        else if (number == SIGCONT)
            user_tty_continued(&front->tty);
        else if (number == SIGWINCH)
            user_tty_resized(&front->tty);
        else
            end_by(front, number);
    }
    user_tty_look(&front->tty);
    second_passed(front);
    if (front->o->door)
        front->o->door->serve(front->o->door->fd, front->job);
    if (front->o->ask)
        front->o->ask->calls->look(front->o->ask);
}

static void terminal_came(void *context)
{
    struct front *front = context;

    user_tty_begin(&front->tty, &front->out_filter);
}

static size_t keys_came(void *context, char *data, size_t len)
{
    struct front *front = context;

    if (front->o->ask)
        len = front->o->ask->calls->keys(front->o->ask, data, len);
    return user_tty_keys(&front->tty, data, len);
}

/* Signals become events: no handler ever runs. */
static int watch_signals(struct front *front, sbr_error *err)
{
    static const int numbers[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGTSTP, SIGCONT, SIGWINCH };
    struct epoll_event event = { .events = EPOLLIN };

    front->signal_fd = signal_fd_open(numbers, ARRAY_LEN(numbers));
    front->event_fd = epoll_create1(EPOLL_CLOEXEC);
    if (front->signal_fd < 0 || front->event_fd < 0 ||
        epoll_ctl(front->event_fd, EPOLL_CTL_ADD, front->signal_fd, &event) < 0 ||
        epoll_ctl(front->event_fd, EPOLL_CTL_ADD, front->tty.timer_fd, &event) < 0 ||
        (front->o->door &&
         epoll_ctl(front->event_fd, EPOLL_CTL_ADD, front->o->door->fd, &event) < 0) ||
        (front->o->ask &&
         epoll_ctl(front->event_fd, EPOLL_CTL_ADD, front->o->ask->timer_fd, &event) < 0))
        return err_set_errno(err, "signals", "cannot watch for signals");
    return 0;
}

/* A terminal gets no control sequences that do more than colour and move. */
static int pass_stream(struct front *front, enum sbr_stream stream, int fd,
                       struct terminal_filter *filter, struct pretty *pretty)
{
    const struct options *o = front->o;
    int r = sbr_job_pass(front->job, stream, fd);
    bool terminal = isatty(fd) && !o->raw;

    if (r < 0 || !(terminal || (o->pretty && stream == SBR_STDOUT)))
        return r;
    pretty_init(pretty, terminal ? filter : NULL, stream == SBR_STDOUT && !o->no_pretty,
                terminal && !o->no_pretty && present_uses_color(fd, o));
    runner_filter(front->job, stream, pretty_clean, pretty);
    if (pretty->timer_fd >= 0)
        (void)epoll_ctl(front->event_fd, EPOLL_CTL_ADD, pretty->timer_fd,
                        &(struct epoll_event){ .events = EPOLLIN });
    return r;
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
    return front->cut ? EXIT_SIGNAL + front->signal : exit_status_of(r, front->signal);
}

/* A reader of the events that left is to us what SIGPIPE is to a program. */
static void end_stream(struct front *front, const char *json)
{
    event_stream_end(&front->stream, json);
    while (!front->signal && event_stream_wait(&front->stream))
        continue;
    front->cut = front->signal && !forward_is_idle(&front->stream.to);
    if (front->stream.is_gone && !front->signal)
        front->signal = SIGPIPE;
}

static int stream_json(struct front *front, const sbr_result *result, sbr_error *err)
{
    scoped_free char *json = NULL;
    struct jsonw j;

    jsonw_init(&j, false);
    result_put_json(&j, result);
    json = jsonw_take(&j);
    if (!json)
        return err_set_oom(err, "result");
    end_stream(front, json);
    return event_stream_check(&front->stream, err);
}

/* Our lines begin at the left edge: not behind a line that the program left open, nor behind the
 * ^C that the terminal shows. */
static void start_line(const struct front *front)
{
    bool echoed = (front->signal == SIGINT || front->signal == SIGQUIT) && isatty(STDERR_FILENO);

    if (echoed || runner_is_in_line(front->job, isatty(STDOUT_FILENO)))
        fputc('\n', stderr);
}

static int present(struct front *front, sbr_result *result, sbr_error *err)
{
    const struct options *o = front->o;
    enum present_detail detail = front->decorated        ? PRESENT_ALL
                                 : isatty(STDERR_FILENO) ? PRESENT_HELP
                                                         : PRESENT_END;

    if (o->json)
        return front->o->stream ? stream_json(front, result, err)
                                : present_result_json(result, err);
    present_stages(result, front->shown, o);
    if (!o->quiet) {
        if (present_has_words(result, detail))
            start_line(front);
        present_result(result, o, detail);
        present_not_inside(result, o);
        present_streams(result, o);
        changes_menu_drop_empty(result, o);
        present_changes(result, o, front->asks && !front->signal);
        if (detail != PRESENT_END && runner_engine_note(front->job))
            fprintf(stderr, "sandbox-run: %s\n", runner_engine_note(front->job));
    } else if (result->lost) {
        present_explanation(result, o);
    }
    return 0;
}

/* The seconds of a line of progress go on while nothing else happens. */
static void watch_seconds(struct front *front, bool on)
{
    const struct itimerspec each = { .it_value.tv_sec = on, .it_interval.tv_sec = on };
    struct epoll_event event = { .events = EPOLLIN };

    if (front->second_fd < 0 && on) {
        front->second_fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
        if (front->second_fd >= 0)
            (void)epoll_ctl(front->event_fd, EPOLL_CTL_ADD, front->second_fd, &event);
    }
    if (front->second_fd >= 0)
        (void)timerfd_settime(front->second_fd, 0, &each, NULL);
}

static void show_title(struct front *front, const char *title)
{
    progress_show(&front->line, title);
    watch_seconds(front, title != NULL);
}

/* Stages before the program's own may take long. */
static void show_progress(struct front *front, const sbr_event *event)
{
    char text[120];

    if (event->type == SBR_EVENT_STAGE || event->type == SBR_EVENT_PROGRESS ||
        event->type == SBR_EVENT_QUEUE)
        show_title(front, progress_title(&front->line, front->o->request, event, text));
}

/* What compilers have said comes before what the program says. */
static void show_warnings(struct front *front)
{
    const char *earlier = runner_earlier_output(front->job);
    const sbr_result *stage;

    if (front->o->json)
        return;
    if (earlier && !front->shown_earlier) {
        if (front->progress)
            progress_show(&front->line, NULL);
        present_earlier_warnings(earlier, front->o);
        front->shown_earlier = true;
    }
    while ((stage = runner_stage_done(front->job, front->shown))) {
        if (front->progress)
            progress_show(&front->line, NULL);
        present_warnings(stage, front->o);
        front->shown++;
    }
}

static void event_came(void *context, const sbr_event *event)
{
    struct front *front = context;

    /* Without overlayfs a project is copied, which may take a while: a signal must end it. */
    if (event->type == SBR_EVENT_PROGRESS)
        signal_came(front);
    if (event->type == SBR_EVENT_STAGE)
        show_warnings(front);
    if (event->type == SBR_EVENT_PORT && !front->o->json && !front->o->quiet)
        present_port(event);
    if (front->progress)
        show_progress(front, event);
}

/* Where streams and events go. */
static int connect_job(struct front *front, sbr_error *err)
{
    const struct options *o = front->o;
    sbr_job *job = front->job;
    const struct runner_tty tty = { .context = front,
                                    .keys = front->tty.fd >= 0 ? keys_came : NULL,
                                    .hold_stdin = !user_tty_is_ours(&front->tty),
                                    .began = terminal_came };
    int r = sbr_job_on_event(job, event_came, front);

    front->stream.also = event_came;
    front->stream.context = front;
    front->diff = (struct diff_options){ .color = present_uses_color(STDERR_FILENO, o),
                                         .max_file = DIFF_MAX_FILE,
                                         .max_bytes = DIFF_MAX_BYTES,
                                         .max_lines = DIFF_MAX_LINES };
    if (o->diff_path)
        front->diff = (struct diff_options){ 0 }; /* whole, and without colours */
    runner_set_up(job, front->started_us,
                  !o->diff_path && (o->json || o->quiet) ? NULL : &front->diff);
    runner_use_tty(job, &tty);
    if (request_has_cow(o->request) && !o->json && !o->quiet)
        runner_notice_changes(job);
    if (!o->json && !front->decorated)
        runner_skip_version(job);
    if (r == 0 && front->stdin_fd >= 0)
        r = sbr_job_pass(job, SBR_STDIN, front->stdin_fd);
    if (r == 0 && !o->json)
        r = sbr_job_set_result_output(job, 0);
    if (r == 0 && !o->json)
        r = pass_stream(front, SBR_STDOUT, STDOUT_FILENO, &front->out_filter, &front->out_pretty);
    if (r == 0 && !o->json)
        r = pass_stream(front, SBR_STDERR, STDERR_FILENO, &front->err_filter, &front->err_pretty);
    if (r < 0)
        return err_set(err, SBR_E_BUG, "run", "a stream of the program cannot be passed on");
    if (o->stream && stream_connect(&front->stream, job, o, err) < 0)
        return err->code;
    return runner_watch(job, front->event_fd, signal_came, front, err);
}

static int run(struct front *front, sbr_result **ret, sbr_error *err)
{
    int r;

    if (watch_signals(front, err) < 0 ||
        runner_open(RUNNER_ONCE, front->o->cold, &front->runtime, err) < 0 ||
        sbr_job_start(front->runtime, front->o->request, &front->job, err) < 0 ||
        connect_job(front, err) < 0)
        return err->code;
    r = sbr_job_finish(front->job, ret, err);
    if (front->o->ask)
        front->o->ask->calls->leave(front->o->ask);
    user_tty_end(&front->tty);
    pretty_done(&front->out_pretty);
    progress_show(&front->line, NULL);
    return r < 0 || *ret ? r : err_set(err, SBR_E_BUG, "run", "there is no result");
}

/* Once there are events, the error is the last of them. */
static int fail(struct front *front, const sbr_error *err)
{
    scoped_free char *json = NULL;

    if (!front->stream.job)
        return cli_fail(front->o, err);
    if (front->stream.to.sys_errno) { /* nothing more can be written there */
        present_error(err, front->o);
        return cli_error_status(err);
    }
    json = result_error_to_json(err);
    end_stream(front, json);
    return cli_error_status(err);
}

/* What only the client knows of an end.  A reader that has read enough, as `head` does, is no news
 * to the user who put it there. */
static void complete_explanation(const struct front *front, sbr_result *result)
{
    ending_name_signal(result, front->signal);
    if (result->verdict == SBR_SIGNALED && result->signal == SIGPIPE &&
        runner_lost_reader(front->job))
        result->explanation[0] = '\0';
}

/* The disk of the cache is full. */
static void report_memory(const struct options *o)
{
    if (!store_memory_is_used())
        return;
    store_memory_end();
    if (!o->quiet)
        fputs(
            "sandbox-run: the disk of the cache is full, so what was compiled or installed was in "
            "memory for this run only; `sandbox-run cache prune --older 1d` makes room\n",
            stderr);
}

int start_request(struct options *o, const char *title, bool stdin_is_program)
{
    struct front front = { .o = o,
                           .signal_fd = -1,
                           .diff_file = SAVE_FILE_NONE,
                           .second_fd = -1,
                           .out_pretty.timer_fd = -1 };
    scoped_fd int stdin_fd = -1;
    sbr_result *result = NULL;
    sbr_error err;
    int status;

    front.started_us = clock_now_us();
    if (o->text && (o->json || o->stream)) {
        err_set(&err, SBR_E_INVALID, "options",
                "--text and --%s exclude one another; give one of them",
                o->json ? "json" : "stream");
        return cli_fail(o, &err);
    }
    o->json |= o->stream; /* the last event has the result */
    front.decorated = !o->json && !o->quiet && (o->text || isatty(STDOUT_FILENO));
    /* A log has its own lines for the stages. */
    front.progress = !o->json && !o->quiet && log_current_level == LOG_SILENT;
    front.line.piped = !isatty(STDERR_FILENO);
    if (settings_apply(o, &err) < 0)
        return cli_fail(o, &err);
    if (stream_check_options(o, &err) < 0 || open_stdin(o, stdin_is_program, &stdin_fd, &err) < 0)
        return cli_fail(o, &err);
    if (user_tty_request(o, stdin_fd, &err) < 0 || diff_file_open(o, &front.diff_file, &err) < 0)
        return cli_fail(o, &err);
    front.asks = changes_menu_prepare(o, stdin_is_program);
    front.stdin_fd = stdin_fd;
    user_tty_init(&front.tty, o, stdin_fd);
    front.tty.job = &front.job;
    if (o->ask)
        o->ask->tty = &front.tty;
    user_tty_continued(&front.tty);
    if (front.decorated)
        present_header(title, o);
    if (run(&front, &result, &err) == 0 && result)
        complete_explanation(&front, result);
    else
        not_inside_explain(o, &err);
    if (!result || diff_file_write(&front.diff_file, result, &err) < 0 ||
        present(&front, result, &err) < 0)
        status = fail(&front, &err);
    else
        status = exit_status(&front, result);
    if (result && front.asks && !front.signal)
        changes_menu_ask(result);
    if (result && runner_owes_prepared(front.job) && preparation_begin(o) && front.progress &&
        !front.line.piped)
        fputs(
            "sandbox-run: the language's whole library is being compiled in the background, once\n",
            stderr);
    sbr_result_free(result);
    runner_leave(front.runtime, front.job);
    (void)fflush(stdout);
    report_memory(o);
    settings_retain(o);
    return status;
}
