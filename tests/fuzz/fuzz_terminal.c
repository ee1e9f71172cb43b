/* Bytes on their way to a terminal.  The first byte says where the rest is cut into two calls. */
#include "cli/terminal.h"
#include "fuzz.h"

/* In a heap block of exactly this size, so that a sanitizer sees a byte too many. */
static size_t clean(struct terminal_filter *f, const uint8_t *data, size_t size, char *out)
{
    char *exact = malloc(size + (size == 0));
    struct buf left;
    size_t len;

    FUZZ_ASSERT(exact);
    if (size)
        memcpy(exact, data, size);
    buf_init(&left, 1 << 24);
    terminal_clean(f, exact, size, &left);
    len = left.len;
    if (len)
        memcpy(out, left.data, len);
    buf_done(&left);
    free(exact);
    return len;
}

static size_t clean_in_two(struct terminal_filter *f, const uint8_t *data, size_t size, size_t at,
                           char *out)
{
    size_t len = clean(f, data, at, out);

    return len + clean(f, data + at, size - at, out + len);
}

/* A sequence that colours, moves, erases or, for a program that draws, switches a mode: with any
 * other byte between ESC [ and its letter it may be one that terminals answer. */
static size_t check_sequence(const char *out, size_t len, size_t i, bool drawing)
{
    bool private = drawing && i < len && out[i] == '?', spaced = false;

    for (i += private; i < len && ((out[i] >= '0' && out[i] <= '9') || out[i] == ';'); i++)
        ;
    if (!private && i < len && out[i] == ':')
        for (; i < len && ((out[i] >= '0' && out[i] <= '9') || out[i] == ';' || out[i] == ':'); i++)
            FUZZ_ASSERT(memchr(out + i, 'm', len - i));
    if (drawing && !private && i + 1 < len && out[i] == ' ' && out[i + 1] == 'q')
        spaced = ++i > 0;
    FUZZ_ASSERT(i < len && out[i]);
    FUZZ_ASSERT(private ? strchr("hl", out[i]) != NULL
                        : spaced || strchr("mABCDEFGHJKSTfsu", out[i]) ||
                              (drawing && strchr("@LMPXZ`abderhl", out[i])));
    return i;
}

/* Nothing passes that a terminal answers as if typed. */
static void check_escapes(const char *out, size_t len, bool drawing)
{
    for (size_t i = 0; i < len; i++) {
        unsigned char c = (unsigned char)out[i];

        FUZZ_ASSERT(c != 0x7f && (c >= 0x20 || strchr("\a\b\t\n\v\f\r\x1b", c) ||
                                  (drawing && (c == 0x0e || c == 0x0f))));
        /* U+0080 to U+009F, which terminals obey too. */
        FUZZ_ASSERT(c != 0xc2 || i + 1 == len || (out[i + 1] & 0xe0) != 0x80);
        if (c != 0x1b)
            continue;
        FUZZ_ASSERT(++i < len && out[i]);
        if (out[i] == '[')
            i = check_sequence(out, len, i + 1, drawing);
        else if (drawing && strchr("()", out[i]))
            FUZZ_ASSERT(++i < len && (out[i] == '0' || out[i] == 'B'));
        else
            FUZZ_ASSERT(drawing && strchr("78DEM=>", out[i]));
    }
}

/* With the rights of a program that draws, a split changes nothing either. */
static void check_drawing(const uint8_t *data, size_t size, size_t at, char *out, char *again)
{
    _Atomic uint32_t modes = 0, modes_again = 0;
    struct terminal_filter whole = { .modes = &modes }, parts = { .modes = &modes_again };
    char undo[TERMINAL_MOST_MODES];
    size_t len = clean(&whole, data, size, again);

    check_escapes(again, len, true);
    FUZZ_ASSERT(len == clean_in_two(&parts, data, size, at, out));
    FUZZ_ASSERT(memcmp(again, out, len) == 0 && modes == modes_again);
    FUZZ_ASSERT(terminal_leave_modes(modes, undo) < sizeof(undo));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct terminal_filter whole = { 0 }, parts = { 0 };
    char *out = malloc(size + 1), *again = malloc(size + 1);
    size_t at, len;

    FUZZ_ASSERT(out && again);
    if (size > 0) {
        at = data[0] % size;
        len = clean(&whole, data + 1, size - 1, out);
        check_escapes(out, len, false);
        memcpy(again, out, len);
        FUZZ_ASSERT(len == clean_in_two(&parts, data + 1, size - 1, at, out));
        FUZZ_ASSERT(memcmp(again, out, len) == 0);
        check_drawing(data + 1, size - 1, at, out, again);
        FUZZ_ASSERT(whole.state == parts.state && whole.utf8_left == parts.utf8_left);
    }
    free(again);
    free(out);
    return 0;
}
