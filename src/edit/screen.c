#include "edit/screen.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/fd.h"

#define PASTE_ON "\033[?2004h"
#define PASTE_OFF "\033[?2004l"
#define ESCAPE_MS 50 /* until an Escape is the key by itself */
#define DRAWN_MAX ((size_t)512 << 20)
#define LEAST_COLUMNS 8

static volatile sig_atomic_t resized;

static void on_resize(int number)
{
    (void)number;
    resized = 1;
}

bool screen_init(struct screen *s, int in, int out)
{
    struct sigaction action = { .sa_handler = on_resize };

    *s = (struct screen){ .in = in, .out = out };
    if (tcgetattr(in, &s->before) < 0)
        return false;
    keys_init(&s->keys);
    s->raw = s->before;
    s->raw.c_iflag &= ~(tcflag_t)(IXON | INLCR | IGNCR);
    s->raw.c_iflag |= ICRNL; /* what is not read here is whole lines for whoever reads then */
    s->raw.c_lflag &= ~(tcflag_t)(ICANON | ECHO | ISIG | IEXTEN);
    s->raw.c_cc[VMIN] = 1;
    s->raw.c_cc[VTIME] = 0;
    (void)sigaction(SIGWINCH, &action, NULL);
    return true;
}

void screen_done(struct screen *s)
{
    screen_leave(s);
    keys_done(&s->keys);
    free(s->widths);
    s->widths = NULL;
}

static void put(const struct screen *s, const char *text, size_t len)
{
    (void)fd_write_all(s->out, text, len);
}

void screen_take(struct screen *s)
{
    if (s->is_raw)
        return;
    (void)tcgetattr(s->in, &s->before); /* a program may have changed it for good */
    s->is_raw = tcsetattr(s->in, TCSADRAIN, &s->raw) == 0;
    put(s, PASTE_ON, sizeof(PASTE_ON) - 1);
}

void screen_leave(struct screen *s)
{
    if (!s->is_raw)
        return;
    s->is_raw = false;
    put(s, PASTE_OFF, sizeof(PASTE_OFF) - 1);
    (void)tcsetattr(s->in, TCSADRAIN, &s->before);
}

void screen_size(const struct screen *s, unsigned int *ret_columns, unsigned int *ret_rows)
{
    struct winsize size = { 0 };

    if (ioctl(s->out, TIOCGWINSZ, &size) < 0 || !size.ws_col || !size.ws_row)
        size = (struct winsize){ .ws_row = 24, .ws_col = 80 };
    *ret_columns = size.ws_col < LEAST_COLUMNS ? LEAST_COLUMNS : size.ws_col;
    *ret_rows = size.ws_row < 2 ? 2 : size.ws_row;
}

/* With signals blocked between the look and the wait, none is missed. */
static int wait_for_input(const struct screen *s, bool (*is_interrupted)(void), int patience_ms)
{
    const struct timespec patience = { .tv_nsec = patience_ms * 1000000L };
    struct pollfd in = { .fd = s->in, .events = POLLIN };
    sigset_t blocked, before;
    int n = -1;

    sigemptyset(&blocked);
    sigaddset(&blocked, SIGINT);
    sigaddset(&blocked, SIGWINCH);
    sigprocmask(SIG_BLOCK, &blocked, &before);
    if (!is_interrupted() && !resized)
        n = ppoll(&in, 1, patience_ms < 0 ? NULL : &patience, &before);
    sigprocmask(SIG_SETMASK, &before, NULL);
    return n;
}

enum screen_event screen_next(struct screen *s, bool (*is_interrupted)(void), struct key *ret)
{
    for (;;) {
        int n = wait_for_input(s, is_interrupted, keys_waits(&s->keys) ? ESCAPE_MS : -1);
        ssize_t got;
        char byte;

        if (is_interrupted())
            return SCREEN_INTERRUPTED;
        if (resized) {
            resized = 0;
            return SCREEN_RESIZED;
        }
        if (n == 0) {
            keys_end(&s->keys, ret);
            return SCREEN_KEY;
        }
        if (n < 0)
            continue;
        got = read(s->in, &byte, 1);
        if (got == 0 || (got < 0 && errno != EINTR && errno != EAGAIN))
            return SCREEN_ENDED;
        if (got == 1 && keys_add(&s->keys, byte, ret))
            return SCREEN_KEY;
    }
}

bool screen_has_input(const struct screen *s)
{
    struct pollfd in = { .fd = s->in, .events = POLLIN };

    return s->keys.state != KEYS_START || poll(&in, 1, 0) == 1;
}

/* How many rows the terminal is above the cursor: a narrower one has broken the rows. */
static size_t rows_above(const struct screen *s, unsigned int columns)
{
    size_t rows = 0;

    for (size_t i = 0; i < s->cursor_row && i < s->n_rows; i++)
        rows += columns < s->columns && s->widths[i] > columns
                    ? (s->widths[i] + columns - 1) / columns
                    : 1;
    return rows;
}

static void note_rows(struct screen *s, const struct view *v, unsigned int columns)
{
    size_t shown = v->end - v->first + v->list;

    if (shown > s->capacity) {
        unsigned int *widths = realloc(s->widths, shown * sizeof(*widths));

        if (widths) {
            s->widths = widths;
            s->capacity = shown;
        }
    }
    s->n_rows = shown < s->capacity ? shown : s->capacity;
    for (size_t i = 0; i < s->n_rows; i++)
        s->widths[i] =
            v->rows[v->first + i < v->end ? v->first + i : v->n - v->list + i - (v->end - v->first)]
                .columns;
    s->columns = columns;
    s->cursor_row = v->cursor_row;
    s->drawn = true;
}

void screen_draw(struct screen *s, const struct view *v, unsigned int columns)
{
    size_t above = s->drawn ? rows_above(s, columns) : 0;
    struct buf out;

    buf_init(&out, DRAWN_MAX);
    (void)buf_add_text(&out, "\r");
    if (above)
        (void)buf_printf(&out, "\033[%zuA", above);
    (void)buf_add_text(&out, "\033[J");
    edit_view_draw(v, &out);
    put(s, out.data, out.len);
    note_rows(s, v, columns);
    buf_done(&out);
}

void screen_forget(struct screen *s)
{
    s->drawn = false;
}

void screen_clear(struct screen *s)
{
    put(s, "\033[H\033[2J", 7);
    s->drawn = false;
}
