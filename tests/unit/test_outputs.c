/* What is asked for with --output, what matches, and how it is told. */
#include <stdio.h>
#include <stdlib.h>

#include "base/scope.h"
#include "model/outputs.h"
#include "unit.h"

static void specs_become_absolute_patterns(void **state)
{
    static const struct {
        const char *spec, *pattern, *dir;
    } rows[] = {
        { "a.txt", "/work/a.txt", NULL },
        { "./out//x/./*.png", "/work/out/x/*.png", NULL },
        { "out/", "/work/out", NULL },
        { ".", "/work", NULL },
        { "/tmp/*", "/tmp/*", NULL },
        { "a.txt:/srv/out", "/work/a.txt", "/srv/out" },
        { "a.txt:/srv/out//", "/work/a.txt", "/srv/out" },
        { "a.txt:/", "/work/a.txt", "/" },
        { "[a:b].txt:/d:e", "/work/[a:b].txt", "/d:e" },
        { "[]:]x:/d", "/work/[]:]x", "/d" },
        { "[!]:]x:/d", "/work/[!]:]x", "/d" },
        { "a\\:b:/d", "/work/a\\:b", "/d" },
        { "a[:/d", "/work/a[", "/d" },
        { "..a/b..", "/work/..a/b..", NULL },
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct output_rules rules = { 0 };
        sbr_error err;

        assert_int_equal(output_rules_add(&rules, "--output", rows[i].spec, &err), 0);
        assert_int_equal(rules.n, 1);
        assert_string_equal(rules.items[0].pattern, rows[i].pattern);
        if (rows[i].dir)
            assert_string_equal(rules.items[0].dir, rows[i].dir);
        else
            assert_null(rules.items[0].dir);
        output_rules_done(&rules);
    }
}

static void bad_specs_are_refused_with_their_reason(void **state)
{
    static const struct {
        const char *spec, *says;
    } rows[] = {
        { "", "no pattern" },
        { ":/srv", "no pattern" },
        { "../x", "'..'" },
        { "a/../b", "'..'" },
        { "a/..", "'..'" },
        { "/", "whole root" },
        { "/.", "whole root" },
        { "a:", "empty directory" },
        { "a:results", "not an absolute path" },
    };
    struct output_rules rules = { 0 };
    char long_spec[1200], deep[200];
    sbr_error err;

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        assert_refused(output_rules_add(&rules, "--output", rows[i].spec, &err), &err,
                       SBR_E_INVALID, rows[i].says);
    memset(long_spec, 'a', sizeof(long_spec));
    long_spec[sizeof(long_spec) - 1] = '\0';
    assert_refused(output_rules_add(&rules, "--output", long_spec, &err), &err, SBR_E_INVALID,
                   "1024");
    for (size_t i = 0; i < sizeof(deep); i++)
        deep[i] = i % 2 ? '/' : 'a';
    deep[sizeof(deep) - 1] = '\0';
    assert_refused(output_rules_add(&rules, "--output", deep, &err), &err, SBR_E_INVALID,
                   "too many parts");
    for (int i = 0; i < OUTPUTS_MAX_RULES; i++)
        assert_int_equal(output_rules_add(&rules, "--output", "x", &err), 0);
    assert_refused(output_rules_add(&rules, "--output", "x", &err), &err, SBR_E_INVALID,
                   "at most 32");
    output_rules_done(&rules);
}

enum { NO, BELOW, YES };

static void patterns_match_names_and_directories(void **state)
{
    static const struct {
        const char *pattern, *path;
        int expected;
    } rows[] = {
        { "/work/a", "/", BELOW },
        { "/work/a", "/work", BELOW },
        { "/work/a", "/work/a", YES },
        { "/work/a", "/work/a/b/c", YES }, /* below a directory that matches */
        { "/work/a", "/work/ab", NO },
        { "/work/a", "/tmp", NO },
        { "/work", "/work/x", YES },
        { "/work/*.txt", "/work/x.txt", YES },
        { "/work/*.txt", "/work/.txt", YES },
        { "/work/*.txt", "/work/d", NO },
        { "/work/*/x", "/work/d", BELOW },
        { "/work/*/x", "/work/d/e/x", NO },
        { "/work/**/x", "/work/x", YES },
        { "/work/**/x", "/work/d/e/x", YES },
        { "/work/**/x", "/work/d/e", BELOW },
        { "/work/**", "/work/d", YES },
        { "/work/**", "/work", YES },
        { "/work/**/**/*.c", "/work/a.c", YES },
        { "/**/x", "/work/a/x", YES },
        { "/work/?", "/work/ab", NO },
        { "/work/??", "/work/ab", YES },
        { "/work/[abc]", "/work/b", YES },
        { "/work/[!abc]", "/work/b", NO },
        { "/work/[^abc]", "/work/d", YES },
        { "/work/[a-c]x", "/work/bx", YES },
        { "/work/[a-c]x", "/work/dx", NO },
        { "/work/[]a]", "/work/]", YES },
        { "/work/[a-]", "/work/-", YES },
        { "/work/[a", "/work/[a", YES },
        { "/work/[a", "/work/a", NO },
        { "/work/\\*", "/work/*", YES },
        { "/work/\\*", "/work/x", NO },
        { "/work/a\\", "/work/a\\", YES },
        { "/work/*b*c", "/work/abxbc", YES },
        { "/work/*b*c", "/work/abxb", NO },
        { "/work/**x", "/work/aax", YES }, /* part of a name: two stars are one */
        { "/work/**x", "/work/d/x", NO },
        { "/work/*", "/work/\xff\n", YES },
        { "/work/[\x80-\xff]", "/work/\xe9", YES },
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        bool below, matches = output_matches(rows[i].pattern, rows[i].path, &below);
        int found = matches ? YES : below ? BELOW : NO;

        if (found != rows[i].expected)
            fail_msg("%s %s: %d", rows[i].pattern, rows[i].path, found);
        assert_int_equal(output_matches(rows[i].pattern, rows[i].path, NULL), matches);
    }
}

/* Patterns that take a matcher with plain backtracking beyond the end of days. */
static void no_pattern_takes_long(void **state)
{
    char pattern[1100] = "/work/", path[4200] = "/work/", deep[2000] = "/work",
         names[4000] = "/work";
    size_t n = strlen(pattern);

    (void)state;
    while (n < 1000)
        n += (size_t)snprintf(pattern + n, sizeof(pattern) - n, "*a");
    snprintf(pattern + n, sizeof(pattern) - n, "*b");
    memset(path + 6, 'a', 255);
    assert_false(output_matches(pattern, path, NULL));

    for (int i = 0; i < 28; i++) {
        n = strlen(deep);
        snprintf(deep + n, sizeof(deep) - n, "/**/a*");
    }
    n = strlen(deep);
    snprintf(deep + n, sizeof(deep) - n, "/b");
    for (int i = 0; i < 1900; i++)
        memcpy(names + 5 + 2 * i, "/a", 3);
    assert_false(output_matches(deep, names, NULL));
}

static void the_fixed_part_ends_before_the_first_wildcard(void **state)
{
    static const struct {
        const char *pattern;
        size_t len;
    } rows[] = {
        { "/work", 0 },         { "/work/x", 5 },       { "/work/out/x", 9 },
        { "/work/out/*.c", 9 }, { "/work/o*t/x/y", 5 }, { "/work/**/x", 5 },
        { "/*/x/y", 0 },        { "/work/a[b/c", 5 },   { "/work/a\\b/c", 5 },
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        assert_int_equal(output_fixed_len(rows[i].pattern), rows[i].len);
}

static void kinds_are_known_by_the_ending(void **state)
{
    (void)state;
    assert_string_equal(outputs_mime_of("/work/a.png"), "image/png");
    assert_string_equal(outputs_mime_of("/work/A.PNG"), "image/png");
    assert_string_equal(outputs_mime_of("/work/a.tar.gz"), "application/gzip");
    assert_string_equal(outputs_mime_of("/work/d.png/a"), "application/octet-stream");
    assert_string_equal(outputs_mime_of("/work/.png"), "application/octet-stream");
    assert_string_equal(outputs_mime_of("/work/a."), "application/octet-stream");
}

static void files_are_told_in_json(void **state)
{
    struct output_files files = { 0 };
    scoped_free char *text = NULL;
    struct jsonw j;
    sbr_error err;

    (void)state;
    assert_int_equal(output_files_add(&files,
                                      &(struct output_file){ .path = strdup("/work/a.txt"),
                                                             .size = 3,
                                                             .mime = outputs_mime_of("a.txt"),
                                                             .saved = strdup("/srv/a.txt") },
                                      &err),
                     0);
    assert_int_equal(output_files_add(&files,
                                      &(struct output_file){ .path =
                                                                 strdup("/work/\xff\nl\xc3\xb6"),
                                                             .mime = "x/y",
                                                             .skipped = strdup("a link") },
                                      &err),
                     0);
    jsonw_init(&j, false);
    jsonw_open(&j, NULL, '{');
    output_files_put_json(&j, &files);
    jsonw_close(&j, '}');
    text = jsonw_take(&j);
    assert_string_equal(text,
                        "{\"files\":[{\"path\":\"/work/a.txt\",\"size\":3,\"mime\":\"text/plain\","
                        "\"saved\":\"/srv/a.txt\",\"skipped\":null},"
                        "{\"path\":\"/work/\xef\xbf\xbd\\nl\xc3\xb6\","
                        "\"path_base64\":\"L3dvcmsv/wpsw7Y=\",\"size\":0,\"mime\":\"x/y\","
                        "\"saved\":null,\"skipped\":\"a link\"}]}");
    output_files_done(&files);
}

static void more_files_than_can_be_told_are_counted(void **state)
{
    struct output_files files = { 0 };
    sbr_error err;

    (void)state;
    for (int i = 0; i < OUTPUT_FILES_MAX + 3; i++)
        assert_int_equal(output_files_add(&files,
                                          &(struct output_file){ .path = strdup("/work/x") }, &err),
                         0);
    assert_int_equal(files.n, OUTPUT_FILES_MAX);
    assert_int_equal(files.dropped, 3);
    output_files_done(&files);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(specs_become_absolute_patterns),
        cmocka_unit_test(bad_specs_are_refused_with_their_reason),
        cmocka_unit_test(patterns_match_names_and_directories),
        cmocka_unit_test(no_pattern_takes_long),
        cmocka_unit_test(the_fixed_part_ends_before_the_first_wildcard),
        cmocka_unit_test(kinds_are_known_by_the_ending),
        cmocka_unit_test(files_are_told_in_json),
        cmocka_unit_test(more_files_than_can_be_told_are_counted),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
