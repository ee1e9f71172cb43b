#include "cli/terminal.h"

#include <stdbool.h>
#include <string.h>

/* Control characters that a plain text file has. */
static bool is_harmless_control(unsigned char c)
{
    return c == '\n' || c == '\r' || c == '\t' || c == '\b' || c == '\a' || c == '\f' || c == '\v';
}

/* Final bytes of control sequences that only colour, move or erase. */
static bool is_harmless_final(unsigned char c)
{
    return c && strchr("mABCDEFGHJKSTfsu", c) != NULL;
}

struct cleaner {
    struct terminal_filter *f;
    struct buf *out;
};

static void emit(struct cleaner *c, const char *bytes, size_t n)
{
    (void)buf_add(c->out, bytes, n); /* without memory the rest is not shown */
}

/* Length of what follows a UTF-8 lead byte. */
static unsigned int utf8_follow(unsigned char byte)
{
    if (byte >= 0xf0)
        return 3;
    return byte >= 0xe0 ? 2 : byte >= 0xc0 ? 1 : 0;
}

static void clean_text(struct cleaner *c, char byte)
{
    unsigned char u = (unsigned char)byte;
    struct terminal_filter *f = c->f;

    if (f->utf8_left && (u & 0xc0) == 0x80) {
        /* U+0080 to U+009F are C1 in two bytes: they become an inverted question mark. */
        if (f->lead == 0xc2 && u < 0xa0)
            byte = (char)0xbf;
        f->utf8_left--;
        emit(c, &byte, 1);
        return;
    }
    f->utf8_left = utf8_follow(u);
    f->lead = u;
    if (u == 0x1b)
        f->state = TERMINAL_ESCAPE;
    else if (u >= 0xa0 || (u >= 0x20 && u < 0x7f) || is_harmless_control(u))
        emit(c, &byte, 1);
}

static void clean_escape(struct cleaner *c, char byte)
{
    struct terminal_filter *f = c->f;

    f->n_held = 0;
    if (byte == '[')
        f->state = TERMINAL_CSI;
    else if (strchr("]PX^_", byte) && byte)
        f->state = TERMINAL_STRING;
    else
        f->state = TERMINAL_TEXT; /* a two-byte escape: dropped */
}

/* Parameters are held back until the final byte says whether the sequence may pass. */
static void clean_csi(struct cleaner *c, char byte)
{
    struct terminal_filter *f = c->f;
    unsigned char u = (unsigned char)byte;

    if (u >= 0x20 && u < 0x40) {
        if (f->n_held < sizeof(f->held))
            f->held[f->n_held++] = byte;
        else
            f->state = TERMINAL_TEXT; /* longer than any useful one */
        return;
    }
    f->state = TERMINAL_TEXT;
    if (!is_harmless_final(u) || (f->n_held && strchr("<=>?", f->held[0])))
        return;
    emit(c, "\x1b[", 2);
    emit(c, f->held, f->n_held);
    emit(c, &byte, 1);
}

static void clean_string(struct cleaner *c, char byte)
{
    if (byte == '\a')
        c->f->state = TERMINAL_TEXT;
    else if (byte == 0x1b)
        c->f->state = TERMINAL_STRING_ESCAPE;
}

static void clean_string_escape(struct cleaner *c, char byte)
{
    c->f->state = byte == '\\' ? TERMINAL_TEXT : TERMINAL_STRING;
}

void terminal_clean(void *state, const char *data, size_t len, struct buf *out)
{
    static void (*const clean[])(struct cleaner * c, char byte) = {
        [TERMINAL_TEXT] = clean_text,
        [TERMINAL_ESCAPE] = clean_escape,
        [TERMINAL_CSI] = clean_csi,
        [TERMINAL_STRING] = clean_string,
        [TERMINAL_STRING_ESCAPE] = clean_string_escape,
    };
    struct cleaner c = { .f = state, .out = out };

    for (size_t i = 0; i < len; i++)
        clean[c.f->state](&c, data[i]);
}
