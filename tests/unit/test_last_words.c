#include "explain/ending.h"

#include <stdio.h>
#include <string.h>

#include "unit.h"

static void assert_clean(const char *from, const char *to)
{
    char text[100];
    size_t len = (size_t)snprintf(text, sizeof(text), "%s", from);

    assert_int_equal(last_words_clean(text, len), strlen(to));
    assert_memory_equal(text, to, strlen(to));
}

static void terminal_output_becomes_plain_lines(void **state)
{
    (void)state;
    assert_clean("", "");
    assert_clean("one\r\ntwo\r\n", "one\ntwo\n");
    assert_clean("10%\r20%\r\ndone", "10%\n20%\ndone");
    assert_clean("\r\r\nx", "\nx");
    assert_clean("\x1b[1;35mError\x1b[0m: no", "Error: no");
    assert_clean("\x1b]8;;file:///a\x1b\\a.py\x1b]8;;\x1b\\ 1", "a.py 1");
    assert_clean("\x1b]0;title\ashell", "shell");
    assert_clean("\x1b(Bplain\x1b", "Bplain");
    assert_clean("cut \x1b[1;3", "cut ");
    assert_clean("cut \x1b]0;ti", "cut ");
    assert_clean("cut \x1b]0;\x1b", "cut ");
}

static void only_a_terminal_has_stderr_in_stdout(void **state)
{
    sbr_result result = { .tty_rows = 24,
                          .out = { .tail = (char[]){ "a\r\n" }, .tail_len = 3, .total = 3 } };
    scoped_last_words struct last_words shown = last_words_of(&result), piped, apart;

    (void)state;
    assert_int_equal(shown.len, 2);
    assert_string_equal(shown.text, "a\n");
    result.tty_rows = 0;
    piped = last_words_of(&result);
    assert_int_equal(piped.len, 0);
    result.tty_rows = 24; /* stderr goes to a file */
    result.err = (struct output){ .tail = (char[]){ "b" }, .tail_len = 1, .total = 1 };
    apart = last_words_of(&result);
    assert_true(apart.len == 1 && apart.text == result.err.tail);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(terminal_output_becomes_plain_lines),
        cmocka_unit_test(only_a_terminal_has_stderr_in_stdout),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
