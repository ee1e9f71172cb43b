#include "work/test_select.h"

#include <string.h>

#include "base/buf.h"
#include "unit.h"

static const struct signs nothing = { .dir_fd = -1 };

/* The command as one line. */
static void assert_command(const char *runner_name, const char *name, const char *file,
                           const char *wanted)
{
    const struct test_runner *runner;
    struct string_list words = { 0 };
    struct report report = { 0 };
    struct report_case *c;
    struct buf line;
    sbr_error err;

    assert_int_equal(test_runner_find(&nothing, runner_name, &runner, &err), 0);
    c = test_report_add(&report, NULL, "good", &err);
    assert_non_null(c);
    c = test_report_add(&report, NULL, name, &err);
    assert_non_null(c);
    c->outcome = CASE_FAILED;
    test_report_set_place(&report, c, file, strlen(file), 1);
    assert_int_equal(test_select_failed(runner, &report, &words, &err), 0);
    buf_init(&line, 10000);
    for (size_t i = 0; i < words.n; i++)
        buf_printf(&line, "%s%s", i ? " " : "", words.items[i]);
    assert_non_null(strstr(line.data, wanted));
    assert_int_equal(strlen(strstr(line.data, wanted)), strlen(wanted));
    buf_done(&line);
    string_list_done(&words);
    test_report_done(&report);
}

static void a_runner_is_asked_for_cases_in_its_own_words(void **state)
{
    (void)state;
    assert_command("pytest", "tests.test_a.TestX::test_y[1]", "tests/test_a.py",
                   " tests/test_a.py::TestX::test_y[1]");
    assert_command("pytest", "test_a::test_y", "test_a.py", " test_a.py::test_y");
    assert_command("unittest", "test_u.A.test_bad", "test_u.py",
                   "python3 -m unittest -v test_u.A.test_bad");
    assert_command("cargo", "tests::bad", "", " -- --exact tests::bad");
    assert_command("go", "ex::TestBad/sub", "", " -run ^(TestBad)$");
    assert_command("node", "group::bad (1)", "", " --test-name-pattern ^(bad \\(1\\))$");
    assert_command("vitest", "a.test.js::group > bad", "", " -t ^(group bad)$");
    assert_command("mocha", "group::bad", "", " --grep ^(group bad)$");
    assert_command("bats", "it fails", "", " --filter ^(it fails)$");
}

static void the_sum_of_the_coverage_is_read(void **state)
{
    static const struct {
        const char *runner, *text;
        uint64_t wanted;
    } rows[] = {
        { "pytest", "a.py  1  0  100%\nTOTAL    10   2   80%\n", 80000 },
        { "node", "# a.js | 50.00 |\n# all files   |  66.67 |   100.00 |   50.00 |\n", 50000 },
        { "go", "{\"Output\":\"coverage: 87.5% of statements\\n\"}\n", 87500 },
    };
    const struct test_runner *runner;
    uint64_t percent = 0;
    sbr_error err;

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        assert_int_equal(test_runner_find(&nothing, rows[i].runner, &runner, &err), 0);
        assert_true(test_select_percent(test_select_coverage(runner), rows[i].text,
                                        strlen(rows[i].text), &percent));
        assert_int_equal(percent, rows[i].wanted);
    }
    assert_int_equal(test_runner_find(&nothing, "make", &runner, &err), 0);
    assert_null(test_select_coverage(runner));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_runner_is_asked_for_cases_in_its_own_words),
        cmocka_unit_test(the_sum_of_the_coverage_is_read),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
