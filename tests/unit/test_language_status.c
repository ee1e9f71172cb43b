/* Selftests that are made up: which run, what is said of them, what is remembered. */
#include "lib/language_status.h"

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "job/job.h"
#include "unit.h"

static struct {
    int runs, answer;
    const char *why;
} made_up;

int selftest_run(const sbr_runtime *rt, const struct language *language, const char *version,
                 const struct selftest_watch *watch, char *why, size_t size)
{
    (void)rt;
    (void)language;
    (void)version;
    made_up.runs++;
    snprintf(why, size, "%s", made_up.why);
    return made_up.answer;
}

int selftest_ask_version(const sbr_runtime *rt, struct image *image,
                         const struct language *language, struct toolchain *toolchain)
{
    (void)rt;
    (void)language;
    snprintf(toolchain->version, sizeof(toolchain->version), "1.2.3");
    return 0;
}

static char cache[] = "/tmp/sbr-unit-languages-XXXXXX";
static const char *patterns[] = { "/usr/bin/env" };

static int make_cache(void **state)
{
    (void)state;
    return mkdtemp(cache) ? setenv("SANDBOX_RUN_CACHE", cache, 1) : -1;
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
    (void)st;
    (void)type;
    (void)ftw;
    return remove(path);
}

static int remove_cache(void **state)
{
    (void)state;
    return nftw(cache, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

/* Another code is another test, of which nothing is remembered. */
static struct language language_with(const char *code)
{
    return (struct language){ .name = "tongue",
                              .binaries = { patterns, 1 },
                              .selftest = { .code = code, .stdout_text = "" } };
}

static void look(const struct language *language, bool selftest, bool fresh,
                 struct language_report *ret)
{
    struct language_inspector inspector = { .selftest = selftest, .fresh = fresh };
    sbr_error err;

    if (language_inspect(&inspector, language, NULL, ret, &err) < 0)
        fail_msg("%s", err.message);
    language_inspector_done(&inspector);
}

static void expect(const struct language *language, bool fresh, enum selftest_status status,
                   const char *why)
{
    struct language_report report;

    look(language, true, fresh, &report);
    assert_int_equal(report.n_toolchains, 1);
    assert_string_equal(report.toolchains[0].version, "1.2.3");
    assert_int_equal(report.selftest, status);
    assert_string_equal(report.why, why);
    language_report_done(&report);
}

static void a_result_is_remembered_until_it_is_asked_for_afresh(void **state)
{
    struct language language = language_with("first"), other = language_with("second");

    (void)state;
    made_up.runs = 0;
    made_up.answer = 1;
    made_up.why = "nothing to say";
    expect(&language, false, SELFTEST_PASSES, "");
    expect(&language, false, SELFTEST_PASSES, "");
    assert_int_equal(made_up.runs, 1);
    expect(&other, false, SELFTEST_PASSES, "");
    assert_int_equal(made_up.runs, 2);
    made_up.answer = 0;
    made_up.why = "it printed \x1b[31mred\n\xff";
    expect(&language, true, SELFTEST_FAILS, "it printed  [31mred  ");
    expect(&language, false, SELFTEST_FAILS, "it printed  [31mred  ");
    assert_int_equal(made_up.runs, 3);
}

static void a_test_that_could_not_be_run_is_tried_again(void **state)
{
    struct language language = language_with("third");

    (void)state;
    made_up.runs = 0;
    made_up.answer = -1;
    made_up.why = "no namespaces";
    expect(&language, false, SELFTEST_CANNOT_RUN, "no namespaces");
    expect(&language, false, SELFTEST_CANNOT_RUN, "no namespaces");
    assert_int_equal(made_up.runs, 2);
}

static void a_long_reason_is_cut(void **state)
{
    struct language language = language_with("fourth");
    struct language_report report;
    char text[1000];

    (void)state;
    memset(text, 'x', sizeof(text) - 1);
    text[sizeof(text) - 1] = '\0';
    made_up.answer = 0;
    made_up.why = text;
    for (int i = 0; i < 2; i++) {
        look(&language, true, false, &report);
        assert_int_equal(report.selftest, SELFTEST_FAILS);
        assert_int_equal(strlen(report.why), sizeof(report.why) - 1);
        language_report_done(&report);
    }
}

static void what_is_not_asked_for_or_not_installed_does_not_run(void **state)
{
    struct language language = language_with("fifth");
    struct language_report report;

    (void)state;
    made_up.runs = 0;
    look(&language, false, false, &report);
    assert_int_equal(report.selftest, SELFTEST_NOT_RUN);
    language_report_done(&report);
    language.binaries.n = 0;
    look(&language, true, true, &report);
    assert_int_equal(report.n_toolchains, 0);
    assert_int_equal(report.selftest, SELFTEST_NOT_RUN);
    language_report_done(&report);
    assert_int_equal(made_up.runs, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_result_is_remembered_until_it_is_asked_for_afresh),
        cmocka_unit_test(a_test_that_could_not_be_run_is_tried_again),
        cmocka_unit_test(a_long_reason_is_cut),
        cmocka_unit_test(what_is_not_asked_for_or_not_installed_does_not_run),
    };

    return cmocka_run_group_tests(tests, make_cache, remove_cache);
}
