#include "work/normalize.h"

#include <string.h>

#include "unit.h"

static void assert_text(const char *names, const char *text, const char *wanted)
{
    unsigned int which = 0;
    sbr_error err = { 0 };
    struct buf once, again;

    assert_int_equal(normalize_parse(names, &which, &err), 0);
    buf_init(&once, 1 << 16);
    buf_init(&again, 1 << 16);
    buf_add_text(&once, "");
    buf_add_text(&again, "");
    assert_int_equal(normalize_text(which, text, strlen(text), &once), 0);
    assert_string_equal(once.data, wanted);
    assert_int_equal(normalize_text(which, once.data, once.len, &again), 0);
    assert_string_equal(again.data, wanted);
    buf_done(&once);
    buf_done(&again);
}

static void what_changes_each_time_is_taken_out(void **state)
{
    (void)state;
    assert_text("times",
                "at 2026-02-03T04:05:06.789Z, 2026-02-03 and 12:30:01+01:00 took 1.5 s or 20ms",
                "at <time>, <time> and <time> took <time> or <time>");
    assert_text("times", "10 items, 3 sheep, v1.2.3, 1.5x", "10 items, 3 sheep, v1.2.3, 1.5x");
    /* What stays of a longer word is no part of the time before it. */
    assert_text("times", "12:36-4466s", "<time>-<time>");
    assert_text("times", "12:36,5s", "<time>,<time>");
    assert_text("addresses", "at 0x7ffe1234abcd, 0x10 and x0x12345",
                "at <address>, 0x10 and x0x12345");
    assert_text(
        "ids",
        "id 0f8fad5b-d9cb-469f-a165-70867728950e e3b0c44298fc1c149afbf4c8 12345678901234567890",
        "id <id> <id> 12345678901234567890");
    assert_text("paths", "open '/tmp/x-81/a.txt': /work a/b/c", "open '<path>/a.txt': /work a/b/c");
    assert_text("floats", "0.30000000000000004 and 1e5, 2.50, v1.2.3, 6.02214076e23",
                "0.3 and 1e5, 2.5, v1.2.3, 6.02214e+23");
    /* What is left of a float may be a part of something else. */
    assert_text("floats", "12.0:36 and 1.0e20", "12:36 and 1e+20");
    assert_text("times floats", "12.0:36, 0.00001:36, 12.0e0 s, 2026-12.0-03 and 7.250",
                "<time>, 1e-<time>, <time>, <time> and 7.25");
    assert_text("ids floats", "550e8400-e29b-1234.0-a716-446655440000", "<id>");
    assert_text("", "2026-02-03 0x7ffe1234abcd", "2026-02-03 0x7ffe1234abcd");
    assert_text(" ids,times\npaths ", "2026-02-03 /a/b", "<time> <path>/b");
}

static void an_unknown_name_is_refused(void **state)
{
    unsigned int which = 0;
    sbr_error err = { 0 };

    (void)state;
    assert_int_equal(normalize_parse("times dates", &which, &err), SBR_E_INVALID);
    assert_non_null(strstr(err.message, "'dates'"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_changes_each_time_is_taken_out),
        cmocka_unit_test(an_unknown_name_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
