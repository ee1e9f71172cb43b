#include "cli/terminal.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"

/* Modes that a program may switch by CSI ? NUMBER h and l.  The row is the bit of the mode. */
static const struct {
    unsigned int number;
    bool usual; /* it is on where no program switched it */
} private_modes[] = {
    { 1, false },    /* cursor keys                             */
    { 5, false },    /* inverted screen                         */
    { 6, false },    /* origin of the scrolling region          */
    { 7, true },     /* lines wrap                              */
    { 9, false },    /* mouse, oldest form                      */
    { 12, false },   /* blinking cursor                         */
    { 25, true },    /* visible cursor                          */
    { 47, false },   /* the other screen, in its three forms    */
    { 1047, false }, /*                                         */
    { 1049, false }, /*                                         */
    { 66, false },   /* keypad                                  */
    { 1000, false }, /* mouse                                   */
    { 1002, false }, /*                                         */
    { 1003, false }, /*                                         */
    { 1004, false }, /* focus                                   */
    { 1005, false }, /* how the mouse is reported               */
    { 1006, false }, /*                                         */
    { 1015, false }, /*                                         */
    { 1034, false }, /* the key Meta sets the eighth bit        */
    { 2004, false }, /* pasted text is marked                   */
    { 2026, false }, /* several changes of the screen as one    */
};

/* Modes that are switched in other ways. */
static const struct {
    const char *set, *reset; /* set NULL: its value is not known */
} other_modes[] = {
    { NULL, "\x1b"
            "7\x1b[r\x1b"
            "8" },                /* scrolling region; its reset moves the cursor */
    { "\x1b=", "\x1b>" },         /* keypad                                       */
    { NULL, "\x1b(B\x1b)B\x0f" }, /* characters                                  */
    { NULL, "\x1b[0 q" },         /* form of the cursor                           */
    { "\x1b[4h", "\x1b[4l" },     /* text is inserted                             */
};
enum {
    MODE_REGION = ARRAY_LEN(private_modes),
    MODE_KEYPAD,
    MODE_CHARSET,
    MODE_CURSOR,
    MODE_INSERT
};
_Static_assert(MODE_INSERT < 32, "there is a bit for each mode");

/* Control characters that a plain text file has. */
static bool is_harmless_control(unsigned char c)
{
    return c == '\n' || c == '\r' || c == '\t' || c == '\b' || c == '\a' || c == '\f' || c == '\v';
}

/* Control sequences that pass: ESC [ PREFIX NUMBERS INTERMEDIATE FINAL.  They colour, move and
 * erase.  Whatever is not here is dropped, because terminals answer some of it as if typed, and
 * each year's terminals answer more. */
static const struct sequence {
    const char *finals;
    char prefix, intermediate;     /* 0: none */
    unsigned char numbers, digits; /* how many, and of each, at most */
    bool drawing;                  /* only for a program that draws the screen */
} sequences[] = {
    { "m", 0, 0, 32, 4, false },         /* colours                                          */
    { "ABCDEFGST", 0, 0, 1, 5, false },  /* moves and scrolls; five numbers track the mouse  */
    { "Hf", 0, 0, 2, 5, false },         /* moves to a place                                 */
    { "JK", 0, 0, 1, 1, false },         /* erases                                           */
    { "su", 0, 0, 0, 0, false },         /* keeps the place, and goes back to it             */
    { "@LMPXZ`abde", 0, 0, 1, 4, true }, /* lines and characters go and come                 */
    { "r", 0, 0, 2, 4, true },           /* scrolling region                                 */
    { "hl", 0, 0, 1, 1, true },          /* text is inserted                                 */
    { "hl", '?', 0, 16, 4, true },       /* private_modes                                    */
    { "q", 0, ' ', 1, 1, true },         /* form of the cursor                               */
};

struct cleaner {
    struct terminal_filter *f;
    struct buf *out;
};

static void emit(struct cleaner *c, const char *bytes, size_t n)
{
    (void)buf_add(c->out, bytes, n); /* without memory the rest is not shown */
}

static void note_mode(struct terminal_filter *f, unsigned int bit, bool differs)
{
    if (differs)
        *f->modes |= 1u << bit;
    else
        *f->modes &= ~(1u << bit);
}

/* Length of what follows a UTF-8 lead byte; 0 for one that no character begins with. */
static unsigned int utf8_follow(unsigned char byte)
{
    if (byte >= 0xf5 || byte < 0xc2)
        return 0;
    return byte >= 0xf0 ? 3 : byte >= 0xe0 ? 2 : 1;
}

/* Longer forms of a character than it needs, which some terminals take for the control characters
 * that they would be, and forms of no character, whose bytes a terminal may take one by one. */
static bool is_malformed(unsigned char lead, unsigned char second)
{
    return (lead == 0xe0 && second < 0xa0) || (lead == 0xf0 && second < 0x90) ||
           (lead == 0xed && second >= 0xa0) || (lead == 0xf4 && second >= 0x90);
}

/* 0x0e and 0x0f select the characters of line drawing and of text. */
static void clean_control(struct cleaner *c, char byte)
{
    unsigned char u = (unsigned char)byte;

    if (u == '\n')
        c->f->mid_line = false;
    if ((u == 0x0e || u == 0x0f) && c->f->modes) {
        note_mode(c->f, MODE_CHARSET, u == 0x0e);
        emit(c, &byte, 1);
    } else if (is_harmless_control(u)) {
        emit(c, &byte, 1);
    }
}

static void clean_text(struct cleaner *c, char byte)
{
    unsigned char u = (unsigned char)byte;
    struct terminal_filter *f = c->f;

    if (f->utf8_left && (u & 0xc0) == 0x80 && !is_malformed(f->lead, u)) {
        /* U+0080 to U+009F are C1 in two bytes: they become an inverted question mark. */
        if (f->lead == 0xc2 && u < 0xa0)
            byte = (char)0xbf;
        f->lead = 0; /* only the second byte is looked at */
        f->utf8_left--;
        emit(c, &byte, 1);
        return;
    }
    f->utf8_left = utf8_follow(u);
    f->lead = u;
    if (u == 0x1b) {
        f->state = TERMINAL_ESCAPE;
    } else if (u < 0x20) {
        clean_control(c, byte);
    } else if (u >= 0xa0 || u < 0x7f) {
        f->mid_line = true;
        emit(c, &byte, 1);
    }
}

/* Two bytes: save and restore the cursor, scroll, keypad. */
static void clean_pair(struct cleaner *c, char byte)
{
    const char pair[] = { 0x1b, byte };

    c->f->state = TERMINAL_TEXT;
    if (!c->f->modes || !byte || !strchr("78DEM=>", byte))
        return;
    if (byte == '=' || byte == '>')
        note_mode(c->f, MODE_KEYPAD, byte == '=');
    emit(c, pair, sizeof(pair));
}

static void clean_escape(struct cleaner *c, char byte)
{
    struct terminal_filter *f = c->f;

    f->n_held = 0;
    if (byte == '[') {
        f->state = TERMINAL_CSI;
    } else if (strchr("]PX^_", byte) && byte) {
        f->state = TERMINAL_STRING;
    } else if (byte >= 0x20 && byte < 0x30) {
        f->held[f->n_held++] = byte;
        f->state = TERMINAL_ESCAPE_MORE;
    } else if (byte != 0x1b) {
        clean_pair(c, byte);
    }
}

/* Three bytes or more; only the choice of text or line drawing passes. */
static void clean_escape_more(struct cleaner *c, char byte)
{
    struct terminal_filter *f = c->f;
    const char triple[] = { 0x1b, f->held[0], byte };

    if (byte >= 0x20 && byte < 0x30) {
        f->n_held = 2; /* never one that may pass */
        return;
    }
    f->state = byte == 0x1b ? TERMINAL_ESCAPE : TERMINAL_TEXT;
    if (!f->modes || f->n_held != 1 || !strchr("()", f->held[0]) || (byte != '0' && byte != 'B'))
        return;
    if (byte == '0')
        note_mode(f, MODE_CHARSET, true);
    emit(c, triple, sizeof(triple));
}

/* What stands between ESC [ and the final byte; `text` ends the numbers with a zero. */
struct parameters {
    char prefix, intermediate; /* 0: none */
    const char *text;
    unsigned int numbers, digits; /* how many, and of the longest */
};

/* False: it is in no order that a sequence of the table has. */
static bool read_parameters(char *held, size_t len, char final, struct parameters *ret)
{
    unsigned int digits = 0;
    size_t i = 0;

    *ret = (struct parameters){ 0 };
    if (len && strchr("<=>?", held[0]))
        ret->prefix = held[i++];
    ret->text = held + i;
    if (len > i && held[len - 1] >= 0x20 && held[len - 1] < 0x30)
        ret->intermediate = held[--len];
    held[len] = '\0';
    ret->numbers = i < len;
    for (; i < len; i++) {
        bool separates = held[i] == ';' || (held[i] == ':' && final == 'm');

        if (!separates && (held[i] < '0' || held[i] > '9'))
            return false;
        ret->numbers += separates;
        digits = separates ? 0 : digits + 1;
        if (digits > ret->digits)
            ret->digits = digits;
    }
    return true;
}

static const struct sequence *find_sequence(const struct parameters *p, char final, bool drawing)
{
    for (size_t i = 0; i < ARRAY_LEN(sequences); i++) {
        const struct sequence *one = &sequences[i];

        if (strchr(one->finals, final) && one->prefix == p->prefix &&
            one->intermediate == p->intermediate && p->numbers <= one->numbers &&
            p->digits <= one->digits && (drawing || !one->drawing))
            return one;
    }
    return NULL;
}

static int private_mode(const char *text)
{
    unsigned long number = strtoul(text, NULL, 10);

    for (unsigned int i = 0; i < ARRAY_LEN(private_modes); i++)
        if (private_modes[i].number == number)
            return (int)i;
    return -1;
}

/* CSI ? NUMBER ; NUMBER h: passes when all of them may be switched. */
static bool switches_modes(struct terminal_filter *f, const char *numbers, bool on)
{
    const char *at;

    for (at = numbers; at; at = strchr(at, ';') ? strchr(at, ';') + 1 : NULL)
        if (private_mode(at) < 0)
            return false;
    for (at = numbers; at; at = strchr(at, ';') ? strchr(at, ';') + 1 : NULL) {
        unsigned int mode = (unsigned int)private_mode(at);

        note_mode(f, mode, on != private_modes[mode].usual);
        if (private_modes[mode].number == 1049 && !on)
            f->mid_line = false; /* the cursor is where it was */
    }
    return true;
}

/* Sequences of the table of which only some numbers are harmless; notes what they switch. */
static bool has_good_numbers(struct terminal_filter *f, const struct parameters *p, char final)
{
    bool on = final == 'h';

    switch (final) {
    case 'J': /* what has scrolled out of sight is the user's, not the program's */
        return p->text[0] != '3';
    case 'h':
    case 'l':
        if (p->prefix)
            return switches_modes(f, p->text, on);
        if (p->text[0] != '4')
            return false;
        note_mode(f, MODE_INSERT, on);
        return true;
    case 'q':
        if (p->text[0] < '0' || p->text[0] > '6')
            return false;
        note_mode(f, MODE_CURSOR, p->text[0] != '0');
        return true;
    case 'r':
        note_mode(f, MODE_REGION, p->numbers > 0);
        return true;
    default:
        return true;
    }
}

/* Parameters are held back until the final byte says whether the sequence may pass. */
static void clean_csi(struct cleaner *c, char byte)
{
    struct terminal_filter *f = c->f;
    unsigned char u = (unsigned char)byte;
    struct parameters p;

    if (u >= 0x20 && u < 0x40) {
        if (f->n_held + 1 < sizeof(f->held))
            f->held[f->n_held++] = byte;
        else
            f->state = TERMINAL_TEXT; /* longer than any useful one */
        return;
    }
    f->state = u == 0x1b ? TERMINAL_ESCAPE : TERMINAL_TEXT;
    if (u < 0x40 || u > 0x7e || !read_parameters(f->held, f->n_held, byte, &p) ||
        !find_sequence(&p, byte, f->modes) || !has_good_numbers(f, &p, byte))
        return;
    emit(c, "\x1b[", 2);
    emit(c, &p.prefix, p.prefix != 0);
    emit(c, p.text, strlen(p.text));
    emit(c, &p.intermediate, p.intermediate != 0);
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

/* Printable text passes in pieces, because there is much of it. */
static size_t clean_run(struct cleaner *c, const char *data, size_t len)
{
    size_t n = 0;

    if (c->f->state != TERMINAL_TEXT || c->f->utf8_left)
        return 0;
    while (n < len && data[n] >= 0x20 && data[n] < 0x7f)
        n++;
    if (n) {
        c->f->mid_line = true;
        c->f->lead = 0;
        emit(c, data, n);
    }
    return n;
}

void terminal_clean(void *state, const char *data, size_t len, struct buf *out)
{
    static void (*const clean[])(struct cleaner * c, char byte) = {
        [TERMINAL_TEXT] = clean_text,
        [TERMINAL_ESCAPE] = clean_escape,
        [TERMINAL_ESCAPE_MORE] = clean_escape_more,
        [TERMINAL_CSI] = clean_csi,
        [TERMINAL_STRING] = clean_string,
        [TERMINAL_STRING_ESCAPE] = clean_string_escape,
    };
    struct cleaner c = { .f = state, .out = out };

    for (size_t i = 0; i < len;) {
        i += clean_run(&c, data + i, len - i);
        if (i < len)
            clean[c.f->state](&c, data[i++]);
    }
}

uint32_t terminal_other_screen(void)
{
    return 1u << private_mode("1049");
}

static size_t put_modes(uint32_t modes, bool leave, char out[TERMINAL_MOST_MODES])
{
    size_t used = 0;

    for (unsigned int i = 0; leave && i < ARRAY_LEN(other_modes); i++)
        if (modes >> (MODE_REGION + i) & 1)
            used += (size_t)snprintf(out + used, TERMINAL_MOST_MODES - used, "%s",
                                     other_modes[i].reset);
    for (unsigned int i = 0; i < ARRAY_LEN(private_modes); i++)
        if (modes >> i & 1)
            used += (size_t)snprintf(out + used, TERMINAL_MOST_MODES - used, "\x1b[?%u%c",
                                     private_modes[i].number,
                                     private_modes[i].usual == leave ? 'h' : 'l');
    for (unsigned int i = 0; !leave && i < ARRAY_LEN(other_modes); i++)
        if (modes >> (MODE_REGION + i) & 1 && other_modes[i].set)
            used +=
                (size_t)snprintf(out + used, TERMINAL_MOST_MODES - used, "%s", other_modes[i].set);
    return used;
}

size_t terminal_leave_modes(uint32_t modes, char out[TERMINAL_MOST_MODES])
{
    return put_modes(modes, true, out);
}

size_t terminal_enter_modes(uint32_t modes, char out[TERMINAL_MOST_MODES])
{
    return put_modes(modes, false, out);
}

void terminal_print(FILE *to, bool raw, const char *data, size_t len)
{
    struct terminal_filter filter = { 0 };
    struct buf out;

    if (raw || !isatty(fileno(to))) {
        fwrite(data, 1, len, to);
        return;
    }
    buf_init(&out, SIZE_MAX / 2);
    terminal_clean(&filter, data, len, &out);
    fwrite(out.data, 1, out.len, to);
    buf_done(&out);
}
