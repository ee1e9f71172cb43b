#include "work/call_lines.h"

#include <string.h>

#include "base/buf.h"
#include "unit.h"

static void both_sides_are_found_outside_of_quotes_and_brackets(void **state)
{
    static const struct {
        const char *text, *left, *right;
    } rows[] = {
        { "f(2, 3) == 5", "f(2, 3) ", " 5" },
        { "f('==') === '=='", "f('==') ", " '=='" },
        { "f(a == b) == [1 == 1]", "f(a == b) ", " [1 == 1]" },
        { "f('\\'== ') == 1", "f('\\'== ') ", " 1" },
        { "f(1) != 2", "f(1) != 2", NULL },
        { "f(1) <= 2", "f(1) <= 2", NULL },
        { "f('==", "f('==", NULL },
        { "f(1)", "f(1)", NULL },
    };
    struct calls calls = { 0 };
    sbr_error err;

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        assert_int_equal(calls_add(&calls, rows[i].text, &err), 0);
        assert_string_equal(calls.items[i].left, rows[i].left);
        if (rows[i].right)
            assert_string_equal(calls.items[i].right, rows[i].right);
        else
            assert_null(calls.items[i].right);
    }
    calls_done(&calls);
}

static void examples_with_arrows_are_calls(void **state)
{
    static const char code[] = "/**\n * Doubles.\n * @example\n * f(2); // => 4\n *   g()//=> 'a'\n"
                               " */\nf(3) // => 6\nlet x = 2 * 3; // => 6\n * // => \n";
    struct calls calls = { 0 };
    sbr_error err;

    (void)state;
    assert_int_equal(calls_add_arrows(&calls, code, strlen(code), &err), 0);
    assert_int_equal(calls.n, 3);
    assert_string_equal(calls.items[0].text, "f(2) == 4");
    assert_string_equal(calls.items[1].text, "g() == 'a'");
    calls_done(&calls);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(both_sides_are_found_outside_of_quotes_and_brackets),
        cmocka_unit_test(examples_with_arrows_are_calls),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
