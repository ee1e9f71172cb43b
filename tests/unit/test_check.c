#include "work/check.h"

#include <string.h>

#include "unit.h"

struct row {
    enum check_kind kind;
    const char *expected, *got;
    const char *difference; /* NULL: they are the same */
};

static struct check_text text_of(const char *text)
{
    return (struct check_text){ text, strlen(text) };
}

static void outputs_are_compared_as_their_kind_says(void **state)
{
    static const struct row rows[] = {
        { CHECK_TOKENS, "1 2\n3\n", "1  2 3", NULL },
        { CHECK_TOKENS, "", " \n", NULL },
        { CHECK_TOKENS, "1 2\n3\n", "1 2\n4\n", "line 2: expected '3', got '4'" },
        { CHECK_TOKENS, "1 2", "1", "line 1: expected '2', got the end" },
        { CHECK_TOKENS, "1", "1\n\n2", "line 3: expected the end, got '2'" },
        { CHECK_TOKENS, "1.0", "1", "line 1: expected '1.0', got '1'" },
        { CHECK_EXACT, "a\nb\n", "a\nb\n", NULL },
        { CHECK_EXACT, "a\nb\n", "a\nb", "line 2: expected 'b\\x0a', got 'b'" },
        { CHECK_EXACT, "a\n", "", "line 1: expected 'a\\x0a', got the end" },
        { CHECK_EXACT, "", "\033[2J", "line 1: expected the end, got '\\x1b[2J'" },
        { CHECK_FLOATS, "3.1416 x", "3.1416001 x", NULL },
        { CHECK_FLOATS, "1e9", "1000000100", NULL },
        { CHECK_FLOATS, "0", "-0.0000009", NULL },
        { CHECK_FLOATS, "1", "1.00001", "line 1: expected '1', got '1.00001'" },
        { CHECK_FLOATS, "nan", "nan", NULL },
        { CHECK_FLOATS, "1", "nan", "line 1: expected '1', got 'nan'" },
        { CHECK_FLOATS, "inf", "-inf", "line 1: expected 'inf', got '-inf'" },
        { CHECK_FLOATS, "1", "1x", "line 1: expected '1', got '1x'" },
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        const struct check check = { .kind = rows[i].kind, .tolerance = CHECK_TOLERANCE };
        char difference[CHECK_DIFFERENCE_SIZE];
        bool same =
            check_compare(&check, text_of(rows[i].expected), text_of(rows[i].got), difference);

        assert_string_equal(difference, rows[i].difference ? rows[i].difference : "");
        assert_int_equal(same, !rows[i].difference);
    }
}

static void a_tolerance_is_a_number(void **state)
{
    sbr_error err;
    double value;

    (void)state;
    assert_int_equal(check_parse_tolerance("1e-3", &value, &err), 0);
    assert_true(value > 0.00099 && value < 0.00101);
    assert_int_equal(check_parse_tolerance("-1", &value, &err), SBR_E_INVALID);
    assert_int_equal(check_parse_tolerance("nan", &value, &err), SBR_E_INVALID);
    assert_int_equal(check_parse_tolerance("", &value, &err), SBR_E_INVALID);
    assert_int_equal(check_parse_tolerance("1 ", &value, &err), SBR_E_INVALID);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(outputs_are_compared_as_their_kind_says),
        cmocka_unit_test(a_tolerance_is_a_number),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
