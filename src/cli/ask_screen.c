/* The question takes the whole screen, the other one of the two that a terminal has, so that the
 * program's is as before afterwards.  What the program has switched is switched back first: hidden
 * text, other characters and scrolling regions do not reach the question. */
#include <inttypes.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "cli/ask.h"

#define NOTICE_SIZE 1024
#define SCREEN_SIZE 4096
/* Text of the usual kind, from the upper left corner on. */
#define PLAIN "\x1b(B\x1b)B\x0f\x1b[0m"

static void put(const char *text, int len)
{
    (void)fd_write_all(STDOUT_FILENO, text, (size_t)len);
}

static struct winsize size_now(void)
{
    struct winsize size = { 0 };

    if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) < 0 || !size.ws_row || !size.ws_col)
        size = (struct winsize){ .ws_row = 24, .ws_col = 80 };
    return size;
}

bool ask_screen_was_resized(const struct ask *ask)
{
    struct winsize size = size_now();

    return size.ws_row != ask->rows || size.ws_col != ask->columns;
}

static void read_size(struct ask *ask)
{
    struct winsize size = size_now();

    ask->rows = size.ws_row;
    ask->columns = size.ws_col;
}

static uint64_t seconds_left(const struct ask_question *q)
{
    uint64_t now = clock_now_us();

    return q->until_us > now ? (q->until_us - now + 999999) / 1000000 : 0;
}

void ask_screen_open(struct ask *ask)
{
    char out[TERMINAL_MOST_MODES];
    _Atomic uint32_t *modes = &ask->tty->state->modes;

    ask->modes = *modes;
    put(out, (int)terminal_leave_modes(ask->modes, out));
    *modes = terminal_other_screen(); /* for the guardian, should we be killed now */
    put(out, (int)terminal_enter_modes(*modes, out));
    ask_screen_draw(ask);
}

static int draw_answers(const struct ask *ask, char *out, size_t size)
{
    if (ask->stage == ASK_REPORTS)
        return snprintf(out, size, "  It could not be allowed: %s.\r\n\r\n  Any key goes on.\r\n",
                        ask->err.message);
    if (ask->stage != ASK_LISTENS)
        return snprintf(out, size, "  ...\r\n");
    return snprintf(out, size,
                    "  type \x1b[1m%s\x1b[0m   allow it for this run\r\n"
                    "  n         refuse it for this run\r\n"
                    "  q         refuse it and all that would be asked after it\r\n"
                    "  Esc       later; it stays refused unless you answer in %" PRIu64 " s\r\n",
                    ask->code, seconds_left(ask->now));
}

void ask_screen_draw(struct ask *ask)
{
    char out[SCREEN_SIZE];
    int len;

    read_size(ask);
    len = snprintf(out, sizeof(out),
                   PLAIN "\x1b[H\x1b[2J"
                         "\x1b[7m sandbox-run asks \x1b[0m\r\n\r\n"
                         "The program in the sandbox tried to reach\r\n\r\n"
                         "    \x1b[1m%s\x1b[0m%s\r\n\r\n"
                         "and was refused: %s.\r\n"
                         "It stands still, and nothing that it prints is shown here.\r\n\r\n",
                   ask->now->rule.text, ask->now->rule.port ? "" : "  (every port)", ask->now->why);
    len += draw_answers(ask, out + len, sizeof(out) - (size_t)len);
    put(out, len);
}

void ask_screen_close(struct ask *ask)
{
    char out[TERMINAL_MOST_MODES];
    _Atomic uint32_t *modes = &ask->tty->state->modes;

    put(out, (int)terminal_leave_modes(*modes, out));
    *modes = ask->modes;
    put(out, (int)terminal_enter_modes(*modes, out));
    ask->noticed = false;
}

/* Cut to the width: a second line would not be ours to draw. */
void ask_screen_notice(struct ask *ask, const struct ask_question *q, size_t waiting)
{
    char text[NOTICE_SIZE], more[32] = "", out[NOTICE_SIZE + 64];
    uint64_t left = seconds_left(q);
    int len;

    if (ask->noticed && ask->noticed_s == left)
        return;
    read_size(ask);
    if (waiting > 1)
        snprintf(more, sizeof(more), ", %zu more", waiting - 1);
    snprintf(text, sizeof(text), " sandbox-run refused %s - Ctrl-] decides (%" PRIu64 " s%s) ",
             q->rule.text, left, more);
    len = snprintf(out, sizeof(out),
                   "\x1b"
                   "7" PLAIN "\x1b[1;1H\x1b[7m%.*s\x1b[0m\x1b[K\x1b"
                   "8",
                   (int)ask->columns, text);
    put(out, len < (int)sizeof(out) ? len : (int)sizeof(out) - 1);
    ask->noticed = true;
    ask->noticed_s = left;
}

void ask_screen_clear_notice(struct ask *ask)
{
    static const char out[] = "\x1b"
                              "7\x1b[0m\x1b[1;1H\x1b[2K\x1b"
                              "8";

    if (ask->noticed)
        put(out, sizeof(out) - 1);
    ask->noticed = false;
}
