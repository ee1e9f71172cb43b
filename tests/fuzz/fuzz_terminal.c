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

/* Every escape begins a control sequence that ends in a letter of colour or movement. */
static void check_escapes(const char *out, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        unsigned char c = (unsigned char)out[i];

        FUZZ_ASSERT(c != 0x7f && (c >= 0x20 || strchr("\a\b\t\n\v\f\r\x1b", c)));
        /* U+0080 to U+009F, which terminals obey too. */
        FUZZ_ASSERT(c != 0xc2 || i + 1 == len || (out[i + 1] & 0xe0) != 0x80);
        if (c != 0x1b)
            continue;
        FUZZ_ASSERT(i + 2 < len && out[i + 1] == '[');
        for (i += 2; i < len && out[i] >= 0x20 && out[i] < 0x40; i++)
            FUZZ_ASSERT(out[i - 1] != '[' || !strchr("<=>?", out[i]));
        FUZZ_ASSERT(i < len && strchr("mABCDEFGHJKSTfsu", out[i]));
    }
}

/* With the rights of a program that draws, a split changes nothing either. */
static void check_drawing(const uint8_t *data, size_t size, size_t at, char *out, char *again)
{
    _Atomic uint32_t modes = 0, modes_again = 0;
    struct terminal_filter whole = { .modes = &modes }, parts = { .modes = &modes_again };
    char undo[TERMINAL_MOST_MODES];
    size_t len = clean(&whole, data, size, again);

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
        check_escapes(out, len);
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
