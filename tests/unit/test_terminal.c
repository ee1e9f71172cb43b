#include "cli/terminal.h"

#include <stdbool.h>
#include <stdlib.h>

#include "unit.h"

#define ESC "\x1b"

struct row {
    const char *in, *out;
};

/* Cleans a heap copy of exactly this size, so that a sanitizer sees a byte too many, and adds what
 * is left to `out`.  Returns the new length of `out`. */
static size_t clean(struct terminal_filter *f, const char *data, size_t len, char *out, size_t used)
{
    char *exact = malloc(len + (len == 0));
    struct buf left;

    assert_non_null(exact);
    memcpy(exact, data, len);
    buf_init(&left, 1 << 20);
    terminal_clean(f, exact, len, &left);
    if (left.len)
        memcpy(out + used, left.data, left.len);
    used += left.len;
    buf_done(&left);
    free(exact);
    out[used] = '\0';
    return used;
}

static void assert_cleaned(const struct row *rows, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        struct terminal_filter f = { 0 };
        char out[200];

        clean(&f, rows[i].in, strlen(rows[i].in), out, 0);
        if (strcmp(out, rows[i].out) != 0)
            fail_msg("row %zu: '%s' became '%s'", i, rows[i].in + 1, out);
    }
}

static const struct row harmless[] = {
    { "", "" },
    { "plain text\n", "plain text\n" },
    { "\a\b\t\n\v\f\r", "\a\b\t\n\v\f\r" },
    { "\xc3\xbc \xe2\x82\xac \xf0\x9f\x98\x80", "\xc3\xbc \xe2\x82\xac \xf0\x9f\x98\x80" },
    { "\xe2\x94\x9b\xe4\x9b\x9b", "\xe2\x94\x9b\xe4\x9b\x9b" }, /* 0x9b inside of characters */
    { ESC "[31mred" ESC "[0m", ESC "[31mred" ESC "[0m" },
    { ESC "[m", ESC "[m" },
    { ESC "[1;38;5;196m", ESC "[1;38;5;196m" },
    { ESC "[38:2::1:2:3m", ESC "[38:2::1:2:3m" },
    { ESC "[2J" ESC "[H" ESC "[K", ESC "[2J" ESC "[H" ESC "[K" },
    { ESC "[3A" ESC "[3B" ESC "[3C" ESC "[3D", ESC "[3A" ESC "[3B" ESC "[3C" ESC "[3D" },
    { ESC "[s" ESC "[u" ESC "[2;3f", ESC "[s" ESC "[u" ESC "[2;3f" },
};

static const struct row harmful[] = {
    { "a" ESC "]0;title\ab", "ab" },        /* title                      */
    { "a" ESC "]0;title" ESC "\\b", "ab" }, /*                            */
    { "a" ESC "]52;c;Y21k\ab", "ab" },      /* clipboard                  */
    { "a" ESC "]8;;http://x\alink" ESC "]8;;\ab", "alinkb" },
    { "a" ESC "P$q\"p" ESC "\\b", "ab" }, /* device control             */
    { "a" ESC "_application" ESC "\\b", "ab" },
    { "a" ESC "^privacy" ESC "\\b", "ab" },
    { "a" ESC "Xstring" ESC "\\b", "ab" },
    { "a" ESC "]0;" ESC "xstill in it\ab", "ab" },
    { "a" ESC "[cb", "ab" },      /* who are you                */
    { "a" ESC "[6nb", "ab" },     /* where is the cursor        */
    { "a" ESC "[?1049hb", "ab" }, /* other screen               */
    { "a" ESC "[?25lb", "ab" },
    { "a" ESC "[>4;1mb", "ab" }, /* keyboard                   */
    { "a" ESC "[=1ub", "ab" },
    { "a" ESC "[21tb", "ab" }, /* report the title           */
    { "a" ESC "[!pb", "ab" },  /* reset                      */
    { "a" ESC "cb", "ab" },
    { "a" ESC "7b" ESC "8c", "abc" },
    { "a" ESC "Zb", "ab" },
    { "a\x05"
      "b\x0e"
      "c\x0f"
      "d\x7f"
      "e\x01",
      "abcde" },
    { "a\x90"
      "b\x9b"
      "31mc\x9d"
      "0;td",
      "ab31mc0;td" }, /* C1 in eight bits           */
    /* With intermediate bytes the same letters ask, or set what a later question tells. */
    { "a" ESC "[&ub" ESC "[1$uc" ESC "[#Sd" ESC "[1+Te", "abcde" },
    { "a" ESC "[1>?Sb" ESC "[1?uc" ESC "[?ud", "abcd" },
    { "a" ESC "[1;1;1;1;1Tb" ESC "[1;2sc" ESC "[ Ad" ESC "[1 me", "abcde" },
    { "a" ESC "[1:2Hb" ESC "[1::2Jc" ESC "[123456Ad", "abcd" },
    { "a" ESC "[1\x05mb" ESC "[1\x18mc", "ambmc" },
    { "a" ESC, "a" },
    { "a" ESC "[", "a" },
    { "a" ESC "[31", "a" },
    { "a" ESC "]never ended", "a" },
};

static void colours_and_movement_pass(void **state)
{
    (void)state;
    assert_cleaned(harmless, ARRAY_LEN(harmless));
}

static void everything_else_is_taken_out(void **state)
{
    (void)state;
    assert_cleaned(harmful, ARRAY_LEN(harmful));
}

/* Terminals that speak UTF-8 obey U+0080 to U+009F as they do the escapes that these stand for. */
static void controls_in_the_form_of_characters_do_not_pass(void **state)
{
    (void)state;
    for (unsigned char c = 0x80; c < 0xa0; c++) {
        struct terminal_filter f = { 0 };
        const char text[] = { 'a', (char)0xc2, (char)c, 'b', '\0' };
        const char control[] = { (char)0xc2, (char)c, '\0' };
        char out[16];

        clean(&f, text, 4, out, 0);
        if (strstr(out, control))
            fail_msg("U+%04X passes", c);
    }
}

static void a_sequence_too_long_to_be_honest_is_dropped(void **state)
{
    struct terminal_filter f = { 0 };
    char in[200] = ESC "[", out[200];

    (void)state;
    memset(in + 2, '1', 100);
    in[102] = 'm';
    clean(&f, in, 103, out, 0);
    assert_null(strchr(out, '\x1b'));
}

static void assert_split_anywhere(const char *in)
{
    size_t len = strlen(in);
    struct terminal_filter once = { 0 };
    char whole[400];

    clean(&once, in, len, whole, 0);
    for (size_t at = 0; at <= len; at++) {
        struct terminal_filter f = { 0 };
        char got[400];

        clean(&f, in + at, len - at, got, clean(&f, in, at, got, 0));
        if (strcmp(got, whole) != 0)
            fail_msg("split at %zu: '%s'", at, got);
        assert_int_equal(f.state, once.state);
    }
}

static void a_split_between_two_calls_changes_nothing(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(harmless); i++)
        assert_split_anywhere(harmless[i].in);
    for (size_t i = 0; i < ARRAY_LEN(harmful); i++)
        assert_split_anywhere(harmful[i].in);
    assert_split_anywhere("x" ESC "[1m" ESC "]0;t\a" ESC "[2mb\xe2\x82\xac" ESC "[6n\nend");
}

static void byte_by_byte_nothing_harmful_passes_either(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(harmful); i++) {
        struct terminal_filter f = { 0 };
        char out[200] = "";
        size_t used = 0;

        for (const char *p = harmful[i].in; *p; p++)
            used = clean(&f, p, 1, out, used);
        assert_string_equal(out, harmful[i].out);
    }
}

/* Every escape that comes out begins one of the sequences that may pass. */
static void no_pair_of_bytes_behind_an_escape_starts_anything_else(void **state)
{
    (void)state;
    for (int first = 1; first < 256; first++) {
        for (int second = 1; second < 256; second++) {
            struct terminal_filter f = { 0 };
            const char in[] = { '\x1b', (char)first, (char)second, 'm', '\0' };
            char out[16];
            const char *escape;

            clean(&f, in, 4, out, 0);
            escape = strchr(out, '\x1b');
            if (escape && (escape[1] != '[' || strchr(escape + 1, '\x1b')))
                fail_msg("ESC %02x %02x became '%s'", first, second, out);
        }
    }
}

/* Whether the sequence behind ESC [ is one of those that this test knows as harmless. */
static bool is_known(const char *text, bool drawing)
{
    size_t n = strspn(text, "0123456789;"), len = strlen(text);
    char final = len ? text[len - 1] : '\0';

    if (n + 1 == len && final == 'm')
        return true;
    if (n + 1 == len && strchr("ABCDEFGHfJKSTsu", final))
        return !(strchr("su", final) && n) && !(strchr("ST", final) && strchr(text, ';'));
    if (!drawing)
        return false;
    if (text[0] == '?')
        return strchr("hl", final) && strspn(text + 1, "0123456789;") + 2 == len;
    if (final == 'q')
        return n + 2 == len && text[n] == ' ';
    return n + 1 == len &&
           (strchr("@LMPXZ`abder", final) || !strcmp(text, "4h") || !strcmp(text, "4l"));
}

static void assert_only_known(const char *in, bool drawing)
{
    _Atomic uint32_t modes = 0;
    struct terminal_filter f = { .modes = drawing ? &modes : NULL };
    char out[64];

    clean(&f, in, strlen(in), out, 0);
    if (out[0] && (strncmp(out, ESC "[", 2) != 0 || !is_known(out + 2, drawing)))
        fail_msg("ESC %s passes as ESC %s", in + 1, out + 1);
}

/* Every final byte with every prefix and up to two intermediate bytes. */
static void no_sequence_passes_but_those_that_are_known(void **state)
{
    static const char *const prefixes[] = { "", "<", "=", ">", "?", "1?", "1>" };
    static const char *const numbers[] = { "", "1", "4", "1;1", "1;1;1;1;1", "1049" };
    char in[32];

    (void)state;
    for (size_t p = 0; p < ARRAY_LEN(prefixes); p++)
        for (size_t n = 0; n < ARRAY_LEN(numbers); n++)
            for (int between = 0; between < 17 * 17; between++)
                for (char final = 0x40; final < 0x7f; final++) {
                    const char first = (char)(between / 17 + 0x1f);
                    const char second = (char)(between % 17 + 0x1f);
                    const char middle[] = { first < 0x20 ? second : first,
                                            first < 0x20 ? '\0' : second, '\0' };

                    snprintf(in, sizeof(in), ESC "[%s%s%s%c", prefixes[p], numbers[n],
                             second < 0x20 ? "" : middle, final);
                    assert_only_known(in, false);
                    assert_only_known(in, true);
                }
}

/* What a program that draws the screen may do in addition. */
static const struct row drawn[] = {
    { ESC "[?1049h" ESC "[?25l", ESC "[?1049h" ESC "[?25l" },
    { ESC "[?1;2004h", ESC "[?1;2004h" },
    { ESC "[2;20r" ESC "[3L" ESC "[2M" ESC "[4P" ESC "[5@" ESC "[6X" ESC "[7d", NULL },
    { ESC "7" ESC "8" ESC "M" ESC "=" ESC ">", NULL },
    { ESC "(0lqk" ESC "(B\x0e\x0f", NULL },
    { ESC "[4h" ESC "[4l" ESC "[2 q", NULL },
    { "a" ESC "[?1049;2048hb", "ab" }, /* one of them is not known */
    { "a" ESC "[99999bb", "ab" },      /* would keep a terminal busy */
    { "a" ESC "[20hb" ESC "[2Jc", "ab" ESC "[2Jc" },
    { "a" ESC "[3Jb", "ab" },
    { "a" ESC "(Ab" ESC "%@c" ESC "#8d", "abcd" },
    { "a" ESC "[!pb" ESC "[?6nc" ESC "[$pd" ESC "[5ie", "abcde" },
    { "a" ESC "[" ESC "[1mb", "a" ESC "[1mb" },
    { "a\xe0\x82\x9b"
      "b\xc1\x9b"
      "c",
      "a\xe0"
      "b\xc1"
      "c" }, /* overlong controls */
    { "a\xf4\x90\x9b"
      "b\xed\x9f\xbf\xed\x9b\xed"
      "c",
      "a\xf4"
      "b\xed\x9f\xbf\xed\x9b\xed"
      "c" }, /* behind the last character */
    { "a" ESC "[2$qb" ESC "[7 qc" ESC "[?1$hd" ESC "[1;2Le" ESC "[!pf", "abcdef" },
};

static void a_program_that_draws_may_switch_modes(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(drawn); i++) {
        const char *wanted = drawn[i].out ? drawn[i].out : drawn[i].in;

        for (size_t at = 0; at <= strlen(drawn[i].in); at++) {
            _Atomic uint32_t modes = 0;
            struct terminal_filter f = { .modes = &modes };
            char out[200];
            size_t used = clean(&f, drawn[i].in, at, out, 0);

            clean(&f, drawn[i].in + at, strlen(drawn[i].in) - at, out, used);
            if (strcmp(out, wanted) != 0)
                fail_msg("row %zu, split at %zu: '%s'", i, at, out);
        }
    }
}

/* As a killed editor leaves it. */
static void every_mode_that_was_switched_is_undone(void **state)
{
    _Atomic uint32_t modes = 0;
    struct terminal_filter f = { .modes = &modes };
    char out[200], undo[TERMINAL_MOST_MODES + 1];
    const char *in = ESC "[?1049h" ESC "[?25l" ESC "[?7l" ESC "[2;5r" ESC "=" ESC "(0" ESC "[4h";
    size_t len;

    (void)state;
    clean(&f, in, strlen(in), out, 0);
    undo[terminal_leave_modes(modes, undo)] = '\0';
    assert_string_equal(undo, ESC "7" ESC "[r" ESC "8" ESC ">" ESC "(B" ESC ")B\x0f" ESC "[4l" ESC
                                  "[?7h" ESC "[?25h" ESC "[?1049l");
    undo[terminal_enter_modes(modes, undo)] = '\0';
    assert_string_equal(undo, ESC "[?7l" ESC "[?25l" ESC "[?1049h" ESC "=" ESC "[4h");
    len = terminal_leave_modes(modes, undo);
    clean(&f, undo, len, out, 0);
    assert_int_equal(modes, 0);
    assert_int_equal(terminal_leave_modes(modes, undo), 0);
    assert_true(terminal_leave_modes(UINT32_MAX, undo) < TERMINAL_MOST_MODES);
}

static void the_end_of_a_line_is_known(void **state)
{
    struct terminal_filter f = { 0 };
    char out[16];

    (void)state;
    clean(&f, "^C", 2, out, 0);
    assert_true(f.mid_line);
    clean(&f, "\r\n", 2, out, 0);
    assert_false(f.mid_line);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(colours_and_movement_pass),
        cmocka_unit_test(everything_else_is_taken_out),
        cmocka_unit_test(controls_in_the_form_of_characters_do_not_pass),
        cmocka_unit_test(a_sequence_too_long_to_be_honest_is_dropped),
        cmocka_unit_test(a_split_between_two_calls_changes_nothing),
        cmocka_unit_test(byte_by_byte_nothing_harmful_passes_either),
        cmocka_unit_test(no_pair_of_bytes_behind_an_escape_starts_anything_else),
        cmocka_unit_test(no_sequence_passes_but_those_that_are_known),
        cmocka_unit_test(a_program_that_draws_may_switch_modes),
        cmocka_unit_test(every_mode_that_was_switched_is_undone),
        cmocka_unit_test(the_end_of_a_line_is_known),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
