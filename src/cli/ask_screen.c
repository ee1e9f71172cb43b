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
#define SCREEN_SIZE 8192
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
    char always[2300] = "";

    if (ask->hosts[0])
        snprintf(always, sizeof(always),
                 "  type \x1b[1m%s3\x1b[0m   allow it always: a line of %.*s\r\n", ask->code,
                 (int)ask->columns, ask->hosts);
    if (ask->stage == ASK_REPORTS)
        return snprintf(out, size, "  It %s: %s.\r\n\r\n  Any key goes on.\r\n",
                        ask->kept ? "is allowed for this run, but could not be written down"
                                  : "could not be allowed",
                        ask->err.message);
    if (ask->stage != ASK_LISTENS)
        return snprintf(out, size, "  ...\r\n");
    return snprintf(out, size,
                    "%s%s%s%s%s%s%s%s"
                    "  n          refuse it for this run\r\n"
                    "  q          refuse it and all that would be asked after it\r\n"
                    "  Esc        later; refused unless you answer in %" PRIu64 " s\r\n",
                    ask->mistyped ? "  That was another key, so the letters are new.\r\n" : "",
                    ask->now->waits ? "  type \x1b[1m" : "", ask->now->waits ? ask->code : "",
                    ask->now->waits ? "1\x1b[0m   allow it once: the connection that waits\r\n"
                                    : "",
                    "  type \x1b[1m", ask->code, "2\x1b[0m   allow it for this run\r\n", always,
                    seconds_left(ask->now));
}

void ask_screen_draw(struct ask *ask)
{
    char out[SCREEN_SIZE];
    int len;

    read_size(ask);
    len = snprintf(out, sizeof(out),
                   PLAIN "\x1b[H\x1b[2J"
                         "\x1b[7m sandbox-run asks \x1b[0m\r\n\r\n"
                         "The program in the sandbox %s\r\n\r\n"
                         "    \x1b[1m%s\x1b[0m%s\r\n\r\n"
                         "%s: %s.\r\n"
                         "It stands still, and nothing that it prints is shown here.\r\n\r\n",
                   ask->now->waits ? "waits for a connection to" : "tried to reach",
                   ask->now->rule.text, ask->now->rule.port ? "" : "  (every port)",
                   ask->now->waits ? "which nothing allows yet" : "and was refused", ask->now->why);
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

static bool is_on_other_screen(const struct ask *ask)
{
    return *(_Atomic uint32_t *)&ask->tty->state->modes & terminal_other_screen();
}

/* Cut to the width: a second line would not be ours to draw. */
static void draw_at_the_top(struct ask *ask, const char *text)
{
    char out[NOTICE_SIZE + 64];
    int len = snprintf(out, sizeof(out),
                       "\x1b"
                       "7" PLAIN "\x1b[1;1H\x1b[7m%.*s\x1b[0m\x1b[K\x1b"
                       "8",
                       (int)ask->columns, text);

    put(out, len < (int)sizeof(out) ? len : (int)sizeof(out) - 1);
    ask->noticed = true;
}

static void print_line(struct ask *ask, const char *text)
{
    char out[NOTICE_SIZE + 64];
    int len =
        snprintf(out, sizeof(out), PLAIN "\r\n\x1b[7m%.*s\x1b[0m\r\n", (int)ask->columns - 1, text);

    put(out, len < (int)sizeof(out) ? len : (int)sizeof(out) - 1);
}

void ask_screen_notice(struct ask *ask, struct ask_question *q, size_t waiting)
{
    const char *what = q->waits ? "waits for" : "was refused";
    char text[NOTICE_SIZE], more[32] = "";
    uint64_t left = seconds_left(q);
    bool other = is_on_other_screen(ask);

    if (other ? ask->noticed && ask->noticed_s == left : q->said)
        return;
    read_size(ask);
    if (waiting > 1)
        snprintf(more, sizeof(more), ", %zu more", waiting - 1);
    if (other) {
        snprintf(text, sizeof(text), " sandbox-run: it %s %s - Ctrl-] decides (%" PRIu64 " s%s) ",
                 what, q->rule.text, left, more);
        draw_at_the_top(ask, text);
    } else {
        snprintf(text, sizeof(text), " sandbox-run: it %s %s - Ctrl-] decides%s ", what,
                 q->rule.text, more);
        print_line(ask, text);
        ask->noticed = false;
    }
    q->said = true;
    ask->noticed_s = left;
}

bool ask_screen_clear_notice(struct ask *ask)
{
    bool was_there = ask->noticed && is_on_other_screen(ask);

    ask->noticed = false;
    return was_there;
}
