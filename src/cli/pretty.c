#include "cli/pretty.h"

#include <ctype.h>
#include <string.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "cli/json_layout.h"
#include "cli/patient_output.h"

#define HELD_MAX ((size_t)1 << 20)
#define LAID_OUT_MAX ((size_t)8 << 20)
#define PIECE_MORE 1024
#define SHORT 72
#define HELD_MS 300 /* a document that comes in pieces; a person waits for it no longer */

/* How lines of a trace begin, in any language that has one. */
/* clang-format off */
static const struct {
    const char *begin, *also; /* `also`: stands somewhere behind it */
    const char *color;
    bool source; /* the line that failed follows */
} lines[] = {
    { "Traceback (most recent call last):", "",            "\x1b[31m", false },
    { "  File \"",                          ", line ",     "\x1b[36m", true  },
    { "    at ",                            "",            "\x1b[36m", false },
    { "\tat ",                              "",            "\x1b[36m", false },
    { "\tfrom ",                            ":in ",        "\x1b[36m", false },
    { "panic: ",                            "",            "\x1b[31m", false },
    { "thread '",                           "panicked at", "\x1b[31m", false },
    { "Exception in thread ",               "",            "\x1b[31m", false },
    { "Uncaught ",                          "",            "\x1b[31m", false },
    { "PHP Fatal error: ",                  "",            "\x1b[31m", false },
};
/* clang-format on */

void pretty_init(struct pretty *p, struct terminal_filter *filter, bool layout, bool color)
{
    *p = (struct pretty){ .filter = filter, .layout = layout, .color = color, .timer_fd = -1 };
    buf_init(&p->held, HELD_MAX);
    if (layout && filter)
        p->timer_fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
}

static bool begins(const char *line, size_t len, const char *text)
{
    return len >= strlen(text) && !memcmp(line, text, strlen(text));
}

/* "ZeroDivisionError: …", "java.lang.IllegalStateException: …", "main.py:1: NameError". */
static bool is_error(const char *line, size_t len)
{
    static const char *const ends[] = { "Error", "Exception" };
    size_t n = 0;

    while (n < len && (isalnum((unsigned char)line[n]) || strchr("._$", line[n])))
        n++;
    if (!n || !line[n] || (n < len && line[n] != ':' && line[n] != '\r'))
        return false;
    for (size_t i = 0; i < sizeof(ends) / sizeof(*ends); i++)
        if (n >= strlen(ends[i]) && !memcmp(line + n - strlen(ends[i]), ends[i], strlen(ends[i])))
            return true;
    return false;
}

/* The colour of a whole line; NULL: it has none of ours. */
static const char *color_of(struct pretty *p, const char *line, size_t len)
{
    bool source = p->source;

    p->source = false;
    if (memchr(line, '\x1b', len))
        return NULL;
    for (size_t i = 0; i < sizeof(lines) / sizeof(*lines); i++) {
        if (!begins(line, len, lines[i].begin) ||
            !memmem(line, len, lines[i].also, strlen(lines[i].also)))
            continue;
        p->source = lines[i].source;
        return lines[i].color;
    }
    if (source && begins(line, len, "    "))
        return "\x1b[1;33m";
    if (!is_error(line, len))
        return NULL;
    return "\x1b[1;31m";
}

static void add_line(struct pretty *p, const char *line, size_t len, struct buf *out)
{
    size_t end = len > 1 && line[len - 2] == '\r' ? len - 2 : len - 1;
    const char *color = p->mid_line ? NULL : color_of(p, line, end);

    if (color)
        (void)buf_add_text(out, color);
    (void)buf_add(out, line, end);
    if (color)
        (void)buf_add_text(out, "\x1b[0m");
    (void)buf_add(out, line + end, len - end);
    p->mid_line = false;
}

/* A line that is not whole yet passes as it is: a prompt is one. */
static void add_colors(struct pretty *p, const char *data, size_t len, struct buf *out)
{
    const char *end;

    if (!p->color) {
        (void)buf_add(out, data, len);
        return;
    }
    for (; len && (end = memchr(data, '\n', len)); len -= (size_t)(end + 1 - data), data = end + 1)
        add_line(p, data, (size_t)(end + 1 - data), out);
    (void)buf_add(out, data, len);
    p->mid_line |= len != 0;
}

static void wait_for_more(const struct pretty *p)
{
    const struct itimerspec when = { .it_value.tv_nsec = HELD_MS * 1000000L };

    (void)timerfd_settime(p->timer_fd, 0, &when, NULL);
}

/* True: it may still become a document, and is held. */
static bool hold(struct pretty *p, const struct buf *clean)
{
    bool first = !p->held.len;

    if (!p->layout || p->passes || clean->failed || p->held.len + clean->len > HELD_MAX ||
        buf_add(&p->held, clean->data, clean->len) < 0)
        return false;
    if (json_layout(p->held.data, p->held.len, false, NULL) == JSON_LAYOUT_NONE) {
        p->held.len -= clean->len;
        return false;
    }
    if (first && p->timer_fd >= 0)
        wait_for_more(p);
    return true;
}

void pretty_clean(void *state, const char *data, size_t len, struct buf *out)
{
    struct pretty *p = state;
    struct buf clean;

    buf_init(&clean, len * 4 + PIECE_MORE);
    if (p->filter)
        terminal_clean(p->filter, data, len, &clean);
    else
        (void)buf_add(&clean, data, len);
    if (!hold(p, &clean)) {
        p->passes = true;
        add_colors(p, p->held.data, p->held.len, out);
        add_colors(p, clean.data, clean.len, out);
        buf_done(&p->held);
    }
    buf_done(&clean);
}

/* What fits a line is as easy to read as it is. */
static bool is_short(const struct buf *held)
{
    return held->len <= SHORT && !memchr(held->data, '\n', held->len - 1);
}

static void show_held(struct pretty *p, bool laid_out)
{
    struct buf out;

    if (!p->held.len)
        return;
    buf_init(&out, LAID_OUT_MAX);
    if (!laid_out || is_short(&p->held) ||
        json_layout(p->held.data, p->held.len, p->color, &out) != JSON_LAYOUT_WHOLE ||
        buf_add_text(&out, "\n") < 0 || out.failed) {
        buf_done(&out);
        buf_init(&out, LAID_OUT_MAX);
        add_colors(p, p->held.data, p->held.len, &out);
    }
    (void)patient_output_write(out.data, out.len);
    buf_done(&out);
    buf_done(&p->held);
}

void pretty_look(struct pretty *p)
{
    uint64_t times;

    if (p->timer_fd < 0 || read(p->timer_fd, &times, sizeof(times)) <= 0 || p->passes)
        return;
    p->passes = true;
    show_held(p, false);
}

void pretty_done(struct pretty *p)
{
    show_held(p, true);
    if (p->timer_fd >= 0)
        close(p->timer_fd);
    p->timer_fd = -1;
    p->layout = false;
}
