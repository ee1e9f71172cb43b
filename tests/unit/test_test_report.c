#include "work/test_report.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/buf.h"
#include "unit.h"

struct wanted {
    const char *name;
    enum case_outcome outcome;
    const char *message; /* a part of it; NULL: none */
    const char *file;
    unsigned int line;
};

static void assert_report(test_report_parse_fn *parse, const char *text, const struct wanted *rows)
{
    struct report report = { 0 };
    sbr_error err = { 0 };
    size_t n = 0;

    if (parse(text, strlen(text), &report, &err) < 0)
        fail_msg("%s", err.message);
    for (; rows->name; rows++, n++) {
        const struct report_case *c = &report.cases[n];

        assert_true(n < report.n);
        assert_string_equal(c->name, rows->name);
        assert_int_equal(c->outcome, rows->outcome);
        if (rows->message && (!c->message || !strstr(c->message, rows->message)))
            fail_msg("'%s' has the message '%s'", c->name, c->message ? c->message : "none");
        if (rows->file) {
            assert_non_null(c->file);
            assert_string_equal(c->file, rows->file);
            assert_int_equal(c->line, rows->line);
        }
    }
    assert_int_equal(report.n, n);
    test_report_done(&report);
}

static void junit_has_cases_with_their_ends(void **state)
{
    (void)state;
    assert_report(
        test_report_parse_junit,
        "<testsuites><testsuite name='s'>"
        "<testcase classname='a.b' name='x' time='0.5' file='t.py' line='3'/>"
        "<testcase classname='a' name='y&lt;'><failure message='no'>deep</failure></testcase>"
        "<testcase classname='test' name='z'><skipped/></testcase>"
        "<testcase name='e\x1b'><error>boom</error></testcase></testsuite></testsuites>",
        (const struct wanted[]){ { "a.b::x", CASE_PASSED, NULL, "t.py", 3 },
                                 { "a::y<", CASE_FAILED, "no\n", NULL, 0 },
                                 { "s::z", CASE_SKIPPED, NULL, NULL, 0 },
                                 { "e?", CASE_BROKEN, "boom", NULL, 0 },
                                 { 0 } });
    assert_report(
        test_report_parse_junit, /* which counts lines from 0 */
        "<testsuites><testsuite name='pytest'>"
        "<testcase classname='a' name='x' file='t.py' line='3'/></testsuite></testsuites>",
        (const struct wanted[]){ { "a::x", CASE_PASSED, NULL, "t.py", 4 }, { 0 } });
}

static void lines_have_cases_with_their_ends(void **state)
{
    (void)state;
    assert_report(
        test_report_parse_tap,
        "1..4\nok 1 - one\nnot ok 2 two # of two\n# because\n#   of it\nok 3 - # SKIP no\n"
        "not ok 4 - later # TODO soon\n",
        (const struct wanted[]){ { "one", CASE_PASSED, NULL, NULL, 0 },
                                 { "two # of two", CASE_FAILED, "because\n  of it", NULL, 0 },
                                 { "no", CASE_SKIPPED, NULL, NULL, 0 },
                                 { "later", CASE_SKIPPED, NULL, NULL, 0 },
                                 { 0 } });
    assert_report(test_report_parse_cargo,
                  "running 3 tests\ntest a::ok ... ok\ntest a::bad ... FAILED\n"
                  "test slow ... ignored\n\nfailures:\n\n---- a::bad stdout ----\n"
                  "thread 'a::bad' panicked at src/lib.rs:7:9:\nleft: 1\n\nfailures:\n    a::bad\n",
                  (const struct wanted[]){ { "a::ok", CASE_PASSED, NULL, NULL, 0 },
                                           { "a::bad", CASE_FAILED, "left: 1", "src/lib.rs", 7 },
                                           { "slow", CASE_SKIPPED, NULL, NULL, 0 },
                                           { 0 } });
    assert_report(test_report_parse_unittest,
                  "test_a (m.A.test_a) ... ok\ntest_b (m.A) ... FAIL\n"
                  "test_c (m.A.test_c) ... skipped 'why'\n\n=====\nFAIL: test_b (m.A.test_b)\n"
                  "-----\nTraceback\n  File \"/work/m.py\", line 9, in x\nAssertionError: no\n\n"
                  "-----\nRan 3 tests\n",
                  (const struct wanted[]){ { "m.A.test_a", CASE_PASSED, NULL, NULL, 0 },
                                           { "m.A.test_b", CASE_FAILED, "no", "/work/m.py", 9 },
                                           { "m.A.test_c", CASE_SKIPPED, "why", NULL, 0 },
                                           { 0 } });
}

static void json_has_cases_with_their_ends(void **state)
{
    (void)state;
    assert_report(test_report_parse_go,
                  "# building\n"
                  "{\"Action\":\"run\",\"Package\":\"p\",\"Test\":\"TestA\"}\n"
                  "{\"Action\":\"output\",\"Package\":\"p\",\"Test\":\"TestA\",\"Output\":"
                  "\"    a_test.go:4: got 3\\n\"}\n"
                  "{\"Action\":\"fail\",\"Package\":\"p\",\"Test\":\"TestA\",\"Elapsed\":0.1}\n"
                  "{\"Action\":\"pass\",\"Package\":\"p\",\"Test\":\"TestB\"}\n"
                  "{\"Action\":\"fail\",\"Package\":\"p\"}\n{broken\n",
                  (const struct wanted[]){ { "p::TestA", CASE_FAILED, "got 3", "a_test.go", 4 },
                                           { "p::TestB", CASE_PASSED, NULL, NULL, 0 },
                                           { 0 } });
    /* Output of parallel tests is mixed; a package that failed without a test is a case. */
    assert_report(
        test_report_parse_go,
        "{\"ImportPath\":\"q [q.test]\",\"Action\":\"build-output\",\"Output\":"
        "\"q/a.go:3:2: no\\n\"}\n"
        "{\"Action\":\"output\",\"Package\":\"p\",\"Test\":\"TestA\",\"Output\":\"one\\n\"}\n"
        "{\"Action\":\"output\",\"Package\":\"p\",\"Test\":\"TestB\",\"Output\":\"two\\n\"}\n"
        "{\"Action\":\"fail\",\"Package\":\"p\",\"Test\":\"TestA\"}\n"
        "{\"Action\":\"fail\",\"Package\":\"p\",\"Test\":\"TestB\"}\n"
        "{\"Action\":\"fail\",\"Package\":\"q\",\"FailedBuild\":\"q [q.test]\"}\n"
        "{\"Action\":\"output\",\"Package\":\"r\",\"Output\":\"exit status 7\\n\"}\n"
        "{\"Action\":\"fail\",\"Package\":\"r\"}\n{\"Action\":\"fail\",\"Package\":\"p\"}\n",
        (const struct wanted[]){ { "p::TestA", CASE_FAILED, "one", NULL, 0 },
                                 { "p::TestB", CASE_FAILED, "two", NULL, 0 },
                                 { "q", CASE_BROKEN, "no", "q/a.go", 3 },
                                 { "r", CASE_BROKEN, "exit status 7", NULL, 0 },
                                 { 0 } });
    assert_report(test_report_parse_jest,
                  "{\"testResults\":[{\"name\":\"b.js\",\"status\":\"failed\",\"message\":\"no x\","
                  "\"assertionResults\":[]}]}",
                  (const struct wanted[]){ { "b.js", CASE_BROKEN, "no x", "b.js", 0 }, { 0 } });
    assert_report(test_report_parse_jest,
                  "{\"testResults\":[{\"name\":\"/work/\\u001ba.js\",\"assertionResults\":["
                  "{\"fullName\":\"a b\",\"status\":\"failed\",\"duration\":3,"
                  "\"failureMessages\":[\"no\"],\"location\":{\"line\":5}},"
                  "{\"fullName\":\"c\",\"status\":\"pending\"}]}]}",
                  (const struct wanted[]){ { "a b", CASE_FAILED, "no", "/work/\\x1ba.js", 5 },
                                           { "c", CASE_SKIPPED, NULL, NULL, 0 },
                                           { 0 } });
}

/* What is no report, or one that its writer made to hurt, is refused with a sentence. */
static void hostile_reports_are_refused(void **state)
{
    static const char bomb[] = "<!DOCTYPE x [<!ENTITY a \"aaaaaaaaaa\"><!ENTITY b \"&a;&a;&a;\">]>"
                               "<testsuite><testcase name=\"&b;\"/></testsuite>";
    static const char *const broken[] = { bomb, "<testsuite>", "no", "<a><b></a>" };
    char deep[4000] = "";
    struct report report = { 0 };
    sbr_error err = { 0 };

    (void)state;
    for (size_t i = 0; i < sizeof(broken) / sizeof(*broken); i++) {
        assert_int_equal(test_report_parse_junit(broken[i], strlen(broken[i]), &report, &err),
                         SBR_E_INVALID);
        test_report_done(&report);
    }
    for (size_t i = 0; i < 200; i++)
        strcat(deep, "<testsuite>");
    assert_int_equal(test_report_parse_junit(deep, strlen(deep), &report, &err), SBR_E_INVALID);
    assert_int_equal(test_report_parse_jest("[", 1, &report, &err), SBR_E_INVALID);
    test_report_done(&report);
}

/* A report that ends where a message would begin has none, whatever lies behind it in memory. */
static void a_report_that_is_cut_shows_nothing_behind_it(void **state)
{
    static const struct {
        test_report_parse_fn *parse;
        const char *text;
    } rows[] = {
        { test_report_parse_cargo, "test c ... FAILED\n---- c stdout ----" },
        { test_report_parse_cargo, "test c ... FAILED\n---- stdout ----" },
        { test_report_parse_unittest, "x (t.A.x) ... FAIL\nFAIL: x (t.A.x)\n-----" },
        { test_report_parse_tap, "not ok 1 - c\n# " },
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct report report = { 0 };
        sbr_error err = { 0 };
        char memory[256];

        snprintf(memory, sizeof(memory), "%s\nsecret\nsecret\n", rows[i].text);
        assert_int_equal(rows[i].parse(memory, strlen(rows[i].text), &report, &err), 0);
        assert_int_equal(report.n, 1);
        if (report.cases[0].message)
            assert_null(strstr(report.cases[0].message, "secret"));
        test_report_done(&report);
    }
}

static void what_is_written_reads_back(void **state)
{
    struct report report = { 0 }, again = { 0 };
    sbr_error err = { 0 };
    struct report_case *c = test_report_add(&report, "g", "a <&\"> \033", &err);
    struct buf out;

    (void)state;
    assert_non_null(c);
    c->outcome = CASE_FAILED;
    assert_int_equal(test_report_set_message(&report, c, "one\n\ttwo \033[31m\n", 16, &err), 0);
    assert_string_equal(c->message, "one\n    two \\x1b[31m");
    buf_init(&out, 10000);
    test_report_write_junit(&report, "s", &out);
    assert_int_equal(test_report_parse_junit(out.data, out.len, &again, &err), 0);
    assert_string_equal(again.cases[0].name, "g::a <&\"> \\x1b");
    assert_int_equal(again.cases[0].outcome, CASE_FAILED);
    assert_string_equal(again.cases[0].message, c->message);
    test_report_done(&again);
    out.len = 0;
    test_report_write_tap(&report, &out);
    assert_int_equal(test_report_parse_tap(out.data, out.len, &again, &err), 0);
    assert_int_equal(again.cases[0].outcome, CASE_FAILED);
    test_report_done(&again);
    test_report_done(&report);
    buf_done(&out);
}

/* As many failures as a report may have: each is looked up by its name. */
static void many_failures_take_time_in_proportion(void **state)
{
    struct report report = { 0 }, twice = { 0 };
    sbr_error err = { 0 };
    struct buf text;
    clock_t began = clock();

    (void)state;
    buf_init(&text, 64u << 20);
    for (int i = 0; i < REPORT_MOST_CASES; i++)
        buf_printf(&text, "test module::case_%d ... FAILED\n", i);
    for (int i = REPORT_MOST_CASES; i > 0; i--)
        buf_printf(&text, "---- module::case_%d stdout ----\nwhy %d\n", i - 1, i - 1);
    assert_int_equal(test_report_parse_cargo(text.data, text.len, &report, &err), 0);
    assert_int_equal(report.n, REPORT_MOST_CASES);
    assert_string_equal(report.cases[4711].message, "why 4711");
    assert_int_equal(test_report_merge(&twice, &report, &err), 0);
    report.cases[17].outcome = CASE_PASSED;
    assert_int_equal(test_report_merge(&twice, &report, &err), 0);
    assert_int_equal(twice.n, REPORT_MOST_CASES);
    assert_true(test_report_is_flaky(&twice.cases[17]));
    assert_false(test_report_is_flaky(&twice.cases[18]));
    assert_int_equal(twice.cases[17].outcome, CASE_FAILED);
    assert_true((clock() - began) / CLOCKS_PER_SEC < 10); /* half a second; a walk takes minutes */
    buf_done(&text);
    test_report_done(&report);
    test_report_done(&twice);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(junit_has_cases_with_their_ends),
        cmocka_unit_test(lines_have_cases_with_their_ends),
        cmocka_unit_test(json_has_cases_with_their_ends),
        cmocka_unit_test(hostile_reports_are_refused),
        cmocka_unit_test(a_report_that_is_cut_shows_nothing_behind_it),
        cmocka_unit_test(what_is_written_reads_back),
        cmocka_unit_test(many_failures_take_time_in_proportion),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
