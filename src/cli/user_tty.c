#include "cli/user_tty.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/log.h"
#include "cli/cli.h"
#include "cli/tty_guardian.h"
#include "lib/runner.h"
#include "model/tty_state.h"

#define TWICE_US 2000000 /* keys that belong together come within this time */
#define QUIT_KEY 0x1c    /* Ctrl-\ */
#define QUITS 3
#define LOOK_EVERY_MS 200

static unsigned int terminals_of(int stdin_fd)
{
    const int fds[] = { stdin_fd, STDOUT_FILENO, STDERR_FILENO };
    unsigned int found = 0;

    for (unsigned int i = 0; i < ARRAY_LEN(fds); i++)
        found |= (unsigned int)(fds[i] >= 0 && isatty(fds[i])) << i;
    return found;
}

/* A variable of ours says it of our terminal, not of another one. */
static void take_name(const char *variable, char *ret)
{
    const char *value = getenv(variable);

    if (value && request_is_term(value))
        snprintf(ret, REQUEST_MAX_TERM, "%s", value);
}

/* The size of the terminal that shows the output. */
static bool size_of(unsigned int terminals, struct winsize *ret)
{
    struct winsize size;

    for (int fd = STDOUT_FILENO; fd <= STDERR_FILENO; fd++) {
        if (!(terminals >> fd & 1) || ioctl(fd, TIOCGWINSZ, &size) < 0 || !size.ws_row ||
            !size.ws_col || size.ws_row > REQUEST_TTY_MAX || size.ws_col > REQUEST_TTY_MAX)
            continue;
        *ret = size;
        return true;
    }
    return false;
}

static bool is_interactive(const struct options *o)
{
    return !o->json && !o->stream && o->request->tty.rows &&
           (o->request->tty.streams & 3) == 3; /* stdin and stdout */
}

/* A shell or an editor that the user works with is not to end in the middle of it. */
static void give_time(struct options *o)
{
    struct limits *limits = &o->request->limits;

    if (is_interactive(o) && o->command->command_line && !(limits->given >> SBR_WALL_MS & 1))
        limits->value[SBR_WALL_MS] = limit_defs[SBR_WALL_MS].max;
}

/* A shell without a terminal says nothing and waits. */
static void hint_at_shell(const struct options *o, unsigned int terminals)
{
    static const char *const shells[] = { "bash", "sh", "dash", "zsh", "fish", "python3" };
    const char *word = o->command->command_line && o->rest && !o->rest[1] ? o->rest[0] : NULL;

    if (!word || o->no_tty || o->quiet || o->json || !(terminals & 1))
        return;
    for (size_t i = 0; i < ARRAY_LEN(shells); i++)
        if (!strcmp(word, shells[i]))
            fprintf(stderr,
                    "sandbox-run: %s has no terminal, because stdout is none; --tty gives "
                    "it one\n",
                    word);
}

int user_tty_request(struct options *o, int stdin_fd, sbr_error *err)
{
    struct request_tty *tty = &o->request->tty;
    unsigned int terminals = o->json || o->stream ? 0 : terminals_of(stdin_fd);
    struct winsize size = { .ws_row = REQUEST_TTY_ROWS, .ws_col = REQUEST_TTY_COLUMNS };
    bool known = size_of(terminals, &size);

    if (o->tty && o->no_tty)
        return err_set(err, SBR_E_INVALID, "options", "--tty and --no-tty exclude each other");
    if (o->no_tty)
        *tty = (struct request_tty){ 0 };
    if (!o->no_tty && !o->tty && !tty->rows && !(terminals >> STDOUT_FILENO & 1))
        hint_at_shell(o, terminals);
    if (o->no_tty || !(o->tty || tty->rows || terminals >> STDOUT_FILENO & 1))
        return 0;
    if ((known || !tty->rows) && request_set_tty(o->request, size.ws_row, size.ws_col, err) < 0)
        return err->code;
    if (!terminals)
        return 0;
    tty->streams = terminals;
    take_name("TERM", tty->term);
    take_name("COLORTERM", tty->colorterm);
    give_time(o);
    return 0;
}

void user_tty_init(struct user_tty *tty, const struct options *o, int stdin_fd)
{
    *tty = (struct user_tty){ .fd = stdin_fd >= 0 && isatty(stdin_fd) ? stdin_fd : -1,
                              .interactive = is_interactive(o),
                              .raw_output = o->raw };
    tty->timer_fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
}

bool user_tty_is_ours(const struct user_tty *tty)
{
    pid_t foreground = tty->fd >= 0 ? tcgetpgrp(tty->fd) : -1;

    return foreground < 0 || foreground == getpgrp(); /* or it controls no jobs of ours */
}

static void wait_for_foreground(struct user_tty *tty, bool wait)
{
    const struct timespec every = { .tv_nsec = wait ? LOOK_EVERY_MS * 1000000L : 0 };
    const struct itimerspec when = { every, every };

    tty->waits = wait;
    (void)timerfd_settime(tty->timer_fd, 0, &when, NULL);
}

static void write_modes(const struct user_tty *tty, bool leave)
{
    char out[TERMINAL_MOST_MODES];
    uint32_t modes = tty->state->modes;
    size_t len = leave ? terminal_leave_modes(modes, out) : terminal_enter_modes(modes, out);

    if (len)
        (void)fd_write_all(STDOUT_FILENO, out, len);
}

static void leave_raw(struct user_tty *tty)
{
    if (!tty->raw)
        return;
    tty->raw = false;
    write_modes(tty, true);
    (void)tcsetattr(tty->fd, TCSANOW, &tty->state->before);
    log_raw(false);
}

static bool make_state(struct user_tty *tty)
{
    struct user_tty_state *state;
    void *page =
        mmap(NULL, sizeof(*state), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

    if (page == MAP_FAILED)
        return false;
    state = page;
    if (tcgetattr(tty->fd, &state->before) < 0) {
        munmap(page, sizeof(*state));
        return false;
    }
    state->raw = state->before;
    cfmakeraw(&state->raw);
    tty->state = state;
    tty->guardian = tty_guardian_start(tty->fd, state);
    return true;
}

/* Without a guardian the terminal stays as it is: the program works, with lines and two echoes. */
static void enter_raw(struct user_tty *tty)
{
    if (tty->raw || (!tty->state && !make_state(tty)) || tty->guardian <= 0)
        return;
    if (tcsetattr(tty->fd, TCSADRAIN, &tty->state->raw) < 0)
        return;
    tty->raw = true;
    write_modes(tty, false);
    log_raw(true);
}

/* In the foreground keys are read; in the background that would stop us. */
static void take_place(struct user_tty *tty)
{
    bool ours = user_tty_is_ours(tty);

    if (tty->fd < 0)
        return;
    if (ours && tty->interactive && tty->running)
        enter_raw(tty);
    if (*tty->job)
        runner_hold_stdin(*tty->job, !ours);
    wait_for_foreground(tty, !ours);
}

void user_tty_begin(struct user_tty *tty, struct terminal_filter *filter)
{
    tty->running = true;
    take_place(tty);
    if (tty->state && tty->raw)
        filter->modes = &tty->state->modes;
}

void user_tty_look(struct user_tty *tty)
{
    uint64_t count;

    if (read(tty->timer_fd, &count, sizeof(count)) == (ssize_t)sizeof(count) && tty->waits)
        take_place(tty);
}

/* True where the key would change nothing inside: no shell there has jobs, and the program itself,
 * as the leader of its session, is not stopped by it. */
static bool is_for_us(const struct tty_state *state, char key)
{
    return state->lines && state->signals && state->own_group && key == state->suspend_key;
}

static void count_interrupt(struct user_tty *tty)
{
    uint64_t now = clock_now_us();

    if (tty->interrupted_us && now - tty->interrupted_us < TWICE_US)
        sbr_job_cancel(*tty->job);
    tty->interrupted_us = now;
}

static void count_quit(struct user_tty *tty)
{
    uint64_t now = clock_now_us();

    if (now - tty->quit_us >= TWICE_US) {
        tty->quit_us = now;
        tty->quits = 0;
    }
    if (++tty->quits == QUITS)
        sbr_job_cancel(*tty->job);
}

size_t user_tty_keys(struct user_tty *tty, char *data, size_t len)
{
    struct tty_state state;
    bool known = tty->raw && runner_look_at_tty(*tty->job, &state);
    size_t left = 0;

    for (size_t i = 0; i < len; i++) {
        char key = data[i];

        if (known && is_for_us(&state, key)) {
            kill(0, SIGTSTP); /* as the terminal would do; we get it as well */
            continue;
        }
        if (known && key == QUIT_KEY)
            count_quit(tty);
        if (known && key == state.interrupt_key && state.lines && state.signals)
            count_interrupt(tty);
        data[left++] = key;
    }
    return left;
}

void user_tty_resized(struct user_tty *tty)
{
    struct winsize size;

    if (tty->running && size_of(terminals_of(tty->fd), &size))
        runner_resize(*tty->job, size.ws_row, size.ws_col);
}

/* By the signal itself: in a group that no shell could continue, the kernel ignores it. */
static void stop_ourselves(void)
{
    sigset_t stop;

    sigemptyset(&stop);
    sigaddset(&stop, SIGTSTP);
    raise(SIGTSTP);
    sigprocmask(SIG_UNBLOCK, &stop, NULL);
    sigprocmask(SIG_BLOCK, &stop, NULL);
}

void user_tty_suspend(struct user_tty *tty)
{
    bool was_raw = tty->raw;

    runner_pause(*tty->job, true);
    leave_raw(tty);
    stop_ourselves();
    runner_pause(*tty->job, false);
    take_place(tty);
    user_tty_resized(tty);
    if (was_raw)
        runner_signal(*tty->job, SIGWINCH); /* the screen has to be drawn again */
}

void user_tty_continued(struct user_tty *tty)
{
    struct termios now;

    /* Stopped by a signal that we do not see, and the shell has changed the terminal since. */
    if (tty->raw && tcgetattr(tty->fd, &now) == 0 && now.c_lflag != tty->state->raw.c_lflag)
        tty->raw = false;
    take_place(tty);
}

void user_tty_end(struct user_tty *tty)
{
    leave_raw(tty);
    tty->running = false;
    if (tty->guardian > 0)
        tty_guardian_dismiss(tty->guardian);
    tty->guardian = 0;
}
