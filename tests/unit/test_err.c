#include "base/err.h"

#include <errno.h>

#include "unit.h"

static void an_error_is_its_code_stage_and_sentence(void **state)
{
    sbr_error err;

    (void)state;
    memset(&err, 0x55, sizeof(err));
    assert_int_equal(err_set(&err, SBR_E_DENIED, "seccomp", "no %s, %d times", "way", 3),
                     SBR_E_DENIED);
    assert_int_equal(err.code, SBR_E_DENIED);
    assert_int_equal(err.sys_errno, 0);
    assert_string_equal(err.stage, "seccomp");
    assert_string_equal(err.message, "no way, 3 times");
}

static void nothing_of_an_earlier_error_remains(void **state)
{
    static const sbr_error zero;
    sbr_error err;

    (void)state;
    err_set(&err, SBR_E_INVALID, "a-long-stage", "a long sentence that will be gone");
    err_set(&err, SBR_E_BUG, "b", "x");
    assert_memory_equal(err.message + 1, zero.message, sizeof(err.message) - 1);
    assert_memory_equal(err.stage + 1, zero.stage, sizeof(err.stage) - 1);
}

static void a_failed_call_ends_the_sentence_with_its_reason(void **state)
{
    sbr_error err;

    (void)state;
    errno = ENOENT;
    assert_int_equal(err_set_errno(&err, "mounts", "cannot open '%s'", "/x"), SBR_E_SYSTEM);
    assert_int_equal(err.sys_errno, ENOENT);
    assert_string_equal(err.message, "cannot open '/x': No such file or directory");
}

/* A name that others chose turns no sentence around and hides nothing in it. */
static void what_shows_nothing_is_shown(void **state)
{
    sbr_error err;

    (void)state;
    err_set(&err, SBR_E_INVALID, "x", "a%sb",
            "\xe2\x80\xae\xe2\x80\x8b\xef\xbb\xbf\xf3\xa0\x81\xa1\xc2\xad");
    assert_string_equal(err.message, "a???????????????b");
    err_set(&err, SBR_E_INVALID, "x", "%s", "\xc3\xbc \xe2\x80\x93 \xe2\x82\xac \xf0\x9f\x98\x80");
    assert_string_equal(err.message, "\xc3\xbc \xe2\x80\x93 \xe2\x82\xac \xf0\x9f\x98\x80");
}

static void what_does_not_fit_is_cut_and_still_ends(void **state)
{
    char text[1000];
    sbr_error err;

    (void)state;
    memset(text, 'x', sizeof(text) - 1);
    text[sizeof(text) - 1] = '\0';
    err_set(&err, SBR_E_INVALID, text, "%s", text);
    assert_int_equal(strlen(err.stage), sizeof(err.stage) - 1);
    assert_int_equal(strlen(err.message), sizeof(err.message) - 1);
    errno = EIO;
    err_set_errno(&err, text, "%s", text);
    assert_int_equal(strlen(err.message), sizeof(err.message) - 1);
    assert_int_equal(err.sys_errno, EIO);
}

static void lack_of_memory_has_its_own_code(void **state)
{
    sbr_error err;

    (void)state;
    assert_refused(err_set_oom(&err, "plan"), &err, SBR_E_NO_MEMORY, "memory");
    assert_string_equal(err.stage, "plan");
}

/* Names of strangers, and names that were cut. */
static void a_sentence_has_nothing_that_a_terminal_obeys(void **state)
{
    static const struct {
        const char *name, *shown;
    } cases[] = {
        { "plain", "plain" },
        { "\xc3\xbc \xe2\x82\xac \xf0\x9f\x98\x80", "\xc3\xbc \xe2\x82\xac \xf0\x9f\x98\x80" },
        { "a\x1b[2J\n\x7f", "a?[2J??" },
        { "\xc2\x9b"
          "31m",
          "??31m" },
        { "\x9b"
          "31m\xff",
          "?31m?" },
        { "cut\xe2\x82", "cut??" },
        { "\xc0\xaf\xf5", "???" },
    };
    sbr_error err;

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        err_set(&err, SBR_E_INVALID, "x", "%s", cases[i].name);
        assert_string_equal(err.message, cases[i].shown);
    }
}

static void every_code_has_a_word(void **state)
{
    static const char *const names[] = { "ok",   "invalid",   "not_found", "unsupported", "denied",
                                         "busy", "no_memory", "system",    "bug" };

    (void)state;
    for (int i = 0; i < (int)ARRAY_LEN(names); i++)
        assert_string_equal(err_code_name(-i), names[i]);
    assert_string_equal(err_code_name(1), "unknown");
    assert_string_equal(err_code_name(SBR_E_BUG - 1), "unknown");
    assert_string_equal(err_code_name(INT32_MIN), "unknown");
    assert_string_equal(err_code_name(INT32_MAX), "unknown");
}

static void an_error_knows_what_to_try_without(void **state)
{
    sbr_error err, copy;

    (void)state;
    err_set(&err, SBR_E_SYSTEM, "cow", "refused");
    assert_int_equal(err_retry(&err), ERR_FINAL);
    assert_int_equal(err_set_retry(&err, ERR_WITH_OTHER_COW), SBR_E_UNSUPPORTED);
    copy = err;
    assert_int_equal(err_retry(&copy), ERR_WITH_OTHER_COW);
    assert_string_equal(copy.stage, "cow");
    err_set(&err, SBR_E_SYSTEM, "a-stage-of-exactly-23-bytes", "refused");
    assert_int_equal(err_retry(&err), ERR_FINAL);
    err_set_retry(&err, ERR_WITHOUT_VIEW);
    assert_int_equal(strlen(err.stage), sizeof(err.stage) - 2);
    assert_int_equal(err_retry(&err), ERR_WITHOUT_VIEW);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_error_is_its_code_stage_and_sentence),
        cmocka_unit_test(nothing_of_an_earlier_error_remains),
        cmocka_unit_test(a_failed_call_ends_the_sentence_with_its_reason),
        cmocka_unit_test(what_shows_nothing_is_shown),
        cmocka_unit_test(what_does_not_fit_is_cut_and_still_ends),
        cmocka_unit_test(lack_of_memory_has_its_own_code),
        cmocka_unit_test(a_sentence_has_nothing_that_a_terminal_obeys),
        cmocka_unit_test(every_code_has_a_word),
        cmocka_unit_test(an_error_knows_what_to_try_without),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
