/* What a tree leaves out: secrets by name and by content, and patterns of a .gitignore. */
#include <string.h>

#include "base/scope.h"
#include "model/exclude.h"
#include "unit.h"

static const struct string_list nothing = { 0 };

static void secrets_are_known_by_their_names(void **state)
{
    static const struct {
        const char *path;
        enum exclude_answer answer;
    } rows[] = {
        { ".env", EXCLUDE_YES },
        { "a/b/.env", EXCLUDE_YES },
        { ".env.production", EXCLUDE_YES },
        { ".env.example", EXCLUDE_NO },
        { ".environment", EXCLUDE_NO },
        { "env", EXCLUDE_NO },
        { "id_rsa", EXCLUDE_YES },
        { "id_rsa.pub", EXCLUDE_NO },
        { "keys/id_ed25519", EXCLUDE_YES },
        { "idle", EXCLUDE_NO },
        { "x.pem", EXCLUDE_UNLESS_PUBLIC },
        { "x.key", EXCLUDE_UNLESS_PUBLIC },
        { "monkey", EXCLUDE_NO },
        { ".npmrc", EXCLUDE_IF_TOKEN },
        { ".docker/config.json", EXCLUDE_YES },
        { "config.json", EXCLUDE_NO },
        { "a", EXCLUDE_NO },
    };
    const struct exclude rules = { .outs = &nothing, .ins = &nothing };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        assert_int_equal(exclude_ask(&rules, rows[i].path, false), rows[i].answer);
    assert_int_equal(exclude_ask(&rules, "deep/.ssh", true), EXCLUDE_YES);
    assert_int_equal(exclude_ask(&rules, "ca.pem", true), EXCLUDE_NO);
}

static void patterns_are_those_of_a_gitignore(void **state)
{
    static const struct {
        const char *pattern, *path;
        bool directory, out;
    } rows[] = {
        { "*.log", "a.log", false, true },
        { "*.log", "deep/er/a.log", false, true },
        { "/a.log", "a.log", false, true },
        { "/a.log", "deep/a.log", false, false },
        { "deep/a.log", "deep/a.log", false, true },
        { "deep/a.log", "x/deep/a.log", false, false },
        { "**/deep/a.log", "x/deep/a.log", false, true },
        { "build/", "build", true, true },
        { "build/", "x/build", true, true },
        { "build/", "build", false, false },
        { "build/", "build/x/y", false, true },
        { "a/**/z", "a/b/c/z", false, true },
        { "a?[0-9]", "ab7", false, true },
        { "a?[0-9]", "abc", false, false },
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        char *items[] = { (char *)rows[i].pattern, NULL };
        const struct string_list outs = { items, 1 };
        const struct exclude rules = { .outs = &outs, .ins = &nothing };

        assert_int_equal(exclude_ask(&rules, rows[i].path, rows[i].directory),
                         rows[i].out ? EXCLUDE_YES : EXCLUDE_NO);
    }
}

static void what_is_included_wins_over_everything(void **state)
{
    char *ins[] = { (char *)".env", (char *)".aws/config", NULL };
    char *outs[] = { (char *)"*", NULL };
    const struct string_list included = { ins, 2 }, excluded = { outs, 1 };
    const struct exclude rules = { .outs = &excluded, .ins = &included };

    (void)state;
    assert_int_equal(exclude_ask(&rules, "a/.env", false), EXCLUDE_NO);
    assert_int_equal(exclude_ask(&rules, "a/other", false), EXCLUDE_YES);
    assert_int_equal(exclude_ask(&rules, ".aws", true), EXCLUDE_YES);
    assert_true(exclude_reaches_below(&rules, ".aws"));
    assert_false(exclude_reaches_below(&rules, ".ssh"));
    assert_true(exclude_is_included(&rules, ".aws/config", false));
    assert_false(exclude_is_included(&rules, ".aws/credentials", false));
}

/* The project's own file adds; it takes back its own lines only. */
static void a_sandboxignore_never_shows_a_secret(void **state)
{
    static const char text[] = "# a comment\n\n*.log  \n!keep.log\r\n!.env\nbuild/";
    struct exclude rules = { .outs = &nothing, .ins = &nothing };
    sbr_error err;

    (void)state;
    assert_int_equal(exclude_read(&rules, text, strlen(text), &err), 0);
    assert_int_equal(rules.ignored.n, 4);
    assert_int_equal(exclude_ask(&rules, "a.log", false), EXCLUDE_YES);
    assert_int_equal(exclude_ask(&rules, "keep.log", false), EXCLUDE_NO);
    assert_int_equal(exclude_ask(&rules, ".env", false), EXCLUDE_YES);
    assert_int_equal(exclude_ask(&rules, "build", true), EXCLUDE_YES);
    exclude_done(&rules);
}

static void faulty_patterns_are_refused(void **state)
{
    static const char *const faulty[] = { "", "/", "!x", "a\nb" };
    char deep[200];
    sbr_error err;

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(faulty); i++)
        assert_int_equal(exclude_check("--exclude", faulty[i], &err), SBR_E_INVALID);
    memset(deep, '/', sizeof(deep) - 1);
    deep[0] = 'a';
    deep[sizeof(deep) - 1] = '\0';
    assert_int_equal(exclude_check("--exclude", deep, &err), SBR_E_INVALID);
    assert_int_equal(exclude_check("--exclude", "*.log", &err), 0);
}

static void the_content_decides_where_a_name_is_not_enough(void **state)
{
    static const struct {
        enum exclude_answer answer;
        const char *content;
        bool out;
    } rows[] = {
        { EXCLUDE_UNLESS_PUBLIC, "-----BEGIN CERTIFICATE-----\n", false },
        { EXCLUDE_UNLESS_PUBLIC, "-----BEGIN CERTIFICATE-----\n-----BEGIN EC PRIVATE KEY-----",
          true },
        { EXCLUDE_UNLESS_PUBLIC, "\x30\x82 DER", true },
        { EXCLUDE_UNLESS_PUBLIC, "", true },
        { EXCLUDE_IF_TOKEN, "registry=https://r.example/\n", false },
        { EXCLUDE_IF_TOKEN, "//r.example/:_authToken=npm_abc\n", true },
        { EXCLUDE_IF_TOKEN, "//r.example/:_authToken=${NPM_TOKEN}\n", false },
        { EXCLUDE_IF_TOKEN, "_authToken=${A}\n_password = x", true },
        { EXCLUDE_IF_TOKEN, "npmAuthToken: \"abc\"", true },
        { EXCLUDE_IF_TOKEN, "always-auth=", false },
        { EXCLUDE_IF_TOKEN, "", false },
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        assert_int_equal(exclude_by_content(rows[i].answer, rows[i].content,
                                            strlen(rows[i].content), true),
                         rows[i].out);
    assert_true(exclude_by_content(EXCLUDE_IF_TOKEN, "", 0, false));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(secrets_are_known_by_their_names),
        cmocka_unit_test(patterns_are_those_of_a_gitignore),
        cmocka_unit_test(what_is_included_wins_over_everything),
        cmocka_unit_test(a_sandboxignore_never_shows_a_secret),
        cmocka_unit_test(faulty_patterns_are_refused),
        cmocka_unit_test(the_content_decides_where_a_name_is_not_enough),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
