#include "base/text.h"

#include <stdlib.h>

#include "unit.h"

typedef enum text_fault parser(const char *text, uint64_t *ret);

struct row {
    const char *text;
    enum text_fault fault;
    uint64_t value;
};

static void assert_parsed(parser *parse, const struct row *rows)
{
    for (; rows->text; rows++) {
        uint64_t value = 4711;
        enum text_fault fault = parse(rows->text, &value);

        if (fault != rows->fault)
            fail_msg("'%s' %s, but should: %s", rows->text, text_fault_reason(fault),
                     text_fault_reason(rows->fault));
        if (value != (fault == TEXT_OK ? rows->value : 4711))
            fail_msg("'%s' became %llu", rows->text, (unsigned long long)value);
    }
}

static void a_size_is_bytes_or_a_binary_multiple(void **state)
{
    static const struct row rows[] = {
        { "0", TEXT_OK, 0 },
        { "100", TEXT_OK, 100 },
        { "007", TEXT_OK, 7 },
        { "12b", TEXT_OK, 12 },
        { "1k", TEXT_OK, KIB },
        { "1KB", TEXT_OK, KIB },
        { "1KiB", TEXT_OK, KIB },
        { "512m", TEXT_OK, 512 * MIB },
        { "1.5g", TEXT_OK, GIB + 512 * MIB },
        { "0.5k", TEXT_OK, 512 },
        { "2T", TEXT_OK, 2 * TIB },
        { "18446744073709551615", TEXT_OK, UINT64_MAX },
        { NULL, TEXT_OK, 0 },
    };

    (void)state;
    assert_parsed(text_parse_size, rows);
}

static void a_size_that_is_none_is_refused_with_its_reason(void **state)
{
    static const struct row rows[] = {
        { "", TEXT_EMPTY, 0 },
        { "-1", TEXT_NEGATIVE, 0 },
        { "-", TEXT_NEGATIVE, 0 },
        { "m", TEXT_NOT_A_NUMBER, 0 },
        { " 1", TEXT_NOT_A_NUMBER, 0 },
        { "+1", TEXT_NOT_A_NUMBER, 0 },
        { ".5g", TEXT_NOT_A_NUMBER, 0 },
        { "1.g", TEXT_NOT_A_NUMBER, 0 },
        { "1.", TEXT_NOT_A_NUMBER, 0 },
        { "nan", TEXT_NOT_A_NUMBER, 0 },
        { "inf", TEXT_NOT_A_NUMBER, 0 },
        { "1 m", TEXT_BAD_UNIT, 0 },
        { "1m ", TEXT_BAD_UNIT, 0 },
        { "1mm", TEXT_BAD_UNIT, 0 },
        { "1e3", TEXT_BAD_UNIT, 0 },
        { "0x10", TEXT_BAD_UNIT, 0 },
        { "1.5.5", TEXT_BAD_UNIT, 0 },
        { "1,5g", TEXT_BAD_UNIT, 0 },
        { "18446744073709551616", TEXT_TOO_LARGE, 0 },
        { "99999999999999999999999999", TEXT_TOO_LARGE, 0 },
        { "16777216t", TEXT_TOO_LARGE, 0 },
        { "18446744073709551615k", TEXT_TOO_LARGE, 0 },
        { "0.5", TEXT_TOO_FINE, 0 },
        { "1.5b", TEXT_TOO_FINE, 0 },
        { "1.0000000000g", TEXT_TOO_FINE, 0 },
        { NULL, TEXT_OK, 0 },
    };

    (void)state;
    assert_parsed(text_parse_size, rows);
}

static void a_fraction_of_nine_digits_fits_every_unit(void **state)
{
    static const struct row rows[] = {
        { "0.500000000g", TEXT_OK, 512 * MIB },
        { "1.500000000t", TEXT_OK, TIB + 512 * GIB },
        { "0.999999999t", TEXT_OK, 1099511626676 },
        { NULL, TEXT_OK, 0 },
    };

    (void)state;
    assert_parsed(text_parse_size, rows);
}

static void a_duration_is_seconds_unless_it_has_a_unit(void **state)
{
    static const struct row rows[] = {
        { "30", TEXT_OK, 30000 },
        { "0.5", TEXT_OK, 500 },
        { "500ms", TEXT_OK, 500 },
        { "30s", TEXT_OK, 30000 },
        { "2m", TEXT_OK, 120000 },
        { "1.5h", TEXT_OK, 5400000 },
        { "1MS", TEXT_OK, 1 },
        { "", TEXT_EMPTY, 0 },
        { "-3s", TEXT_NEGATIVE, 0 },
        { "s", TEXT_NOT_A_NUMBER, 0 },
        { "3d", TEXT_BAD_UNIT, 0 },
        { "3sec", TEXT_BAD_UNIT, 0 },
        { "0.5ms", TEXT_TOO_FINE, 0 },
        { "0.0001s", TEXT_TOO_FINE, 0 },
        { "18446744073709551615", TEXT_TOO_LARGE, 0 },
        { NULL, TEXT_OK, 0 },
    };

    (void)state;
    assert_parsed(text_parse_duration, rows);
}

static void a_count_has_no_unit_and_no_fraction(void **state)
{
    static const struct row rows[] = {
        { "64", TEXT_OK, 64 },         { "64.0", TEXT_OK, 64 },      { "64k", TEXT_BAD_UNIT, 0 },
        { "64.5", TEXT_TOO_FINE, 0 },  { "-64", TEXT_NEGATIVE, 0 },  { "", TEXT_EMPTY, 0 },
        { "x", TEXT_NOT_A_NUMBER, 0 }, { "64\n", TEXT_BAD_UNIT, 0 }, { NULL, TEXT_OK, 0 },
    };

    (void)state;
    assert_parsed(text_parse_count, rows);
}

static void thousandths_keep_three_digits(void **state)
{
    static const struct row rows[] = {
        { "1.5", TEXT_OK, 1500 },   { "2", TEXT_OK, 2000 },
        { "0.001", TEXT_OK, 1 },    { "0.0001", TEXT_TOO_FINE, 0 },
        { "1s", TEXT_BAD_UNIT, 0 }, { "18446744073709552", TEXT_TOO_LARGE, 0 },
        { NULL, TEXT_OK, 0 },
    };

    (void)state;
    assert_parsed(text_parse_millis, rows);
}

static void every_fault_has_a_reason(void **state)
{
    (void)state;
    for (int fault = TEXT_OK; fault <= TEXT_TOO_FINE; fault++)
        assert_true(text_fault_reason((enum text_fault)fault)[0] != '\0');
}

/* 0, powers of two and of ten, and their neighbours. */
static const uint64_t samples[] = {
    0,         1,    7,       10,   99,         100,        999,        1000, 1001,
    1023,      1024, 1025,    1500, 60000,      3600000,    KIB * 1000, MIB,  MIB + 1,
    512 * MIB, GIB,  3 * GIB, TIB,  5000 * TIB, UINT32_MAX, INT64_MAX,
};

static void what_is_formatted_reads_back_exactly(void **state)
{
    char text[32];
    uint64_t value;

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(samples); i++) {
        text_format_size(samples[i], text, sizeof(text));
        assert_int_equal(text_parse_size(text, &value), TEXT_OK);
        assert_int_equal(value, samples[i]);
        text_format_duration(samples[i], text, sizeof(text));
        assert_int_equal(text_parse_duration(text, &value), TEXT_OK);
        assert_int_equal(value, samples[i]);
        text_format_millis(samples[i], text, sizeof(text));
        assert_int_equal(text_parse_millis(text, &value), TEXT_OK);
        assert_int_equal(value, samples[i]);
    }
}

static void formatted_values_are_short(void **state)
{
    char text[32];

    (void)state;
    text_format_size(512 * MIB, text, sizeof(text));
    assert_string_equal(text, "512m");
    text_format_size(KIB + 1, text, sizeof(text));
    assert_string_equal(text, "1025b");
    text_format_size(0, text, sizeof(text));
    assert_string_equal(text, "0b");
    text_format_duration(30000, text, sizeof(text));
    assert_string_equal(text, "30s");
    text_format_duration(1500, text, sizeof(text));
    assert_string_equal(text, "1500ms");
    text_format_duration(24 * 3600 * 1000, text, sizeof(text));
    assert_string_equal(text, "24h");
    text_format_millis(1500, text, sizeof(text));
    assert_string_equal(text, "1.5");
    text_format_millis(50, text, sizeof(text));
    assert_string_equal(text, "0.050");
}

static void a_misspelt_word_finds_its_neighbour(void **state)
{
    static const char *const words[] = { "timeout", "memory", "cpus", "pids" };
    static const struct {
        const char *word;
        const char *nearest;
    } rows[] = {
        { "timeout", "timeout" },
        { "timout", "timeout" },
        { "tiemout", "timeout" },
        { "memry", "memory" },
        { "cpu", "cpus" },
        { "cups", "cpus" },
        { "p", NULL },
        { "", NULL },
        { "completely-else", NULL },
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        const char *found = text_nearest(rows[i].word, words, ARRAY_LEN(words));

        if (!rows[i].nearest)
            assert_null(found);
        else
            assert_string_equal(found, rows[i].nearest);
    }
    assert_null(text_nearest("timeout", NULL, 0));
}

static void a_long_candidate_is_never_near(void **state)
{
    static const char longest[] = "0123456789012345678901234567890123456789012345678901234567890";
    const char *const words[] = { longest };

    (void)state;
    assert_null(text_nearest(longest, words, 1));
}

static void only_well_formed_utf8_is_utf8(void **state)
{
    static const struct {
        const char *bytes;
        size_t len;
        bool ok;
    } rows[] = {
        { "", 0, true },
        { "plain", 5, true },
        { "a\0b", 3, true },
        { "\xc3\xbc", 2, true },
        { "\xe2\x82\xac", 3, true },
        { "\xf0\x9f\x98\x80", 4, true },
        { "\xf4\x8f\xbf\xbf", 4, true },
        { "\xed\x9f\xbf\xee\x80\x80", 6, true },
        { "\xc3", 1, false },             /* cut short              */
        { "\xe2\x82", 2, false },         /*                        */
        { "\xf0\x9f\x98", 3, false },     /*                        */
        { "\x80", 1, false },             /* continuation alone      */
        { "\xc0\x80", 2, false },         /* overlong                */
        { "\xc1\xbf", 2, false },         /*                        */
        { "\xe0\x9f\xbf", 3, false },     /*                        */
        { "\xf0\x8f\xbf\xbf", 4, false }, /*                        */
        { "\xed\xa0\x80", 3, false },     /* surrogate              */
        { "\xf4\x90\x80\x80", 4, false }, /* above 10FFFF           */
        { "\xf5\x80\x80\x80", 4, false }, /*                        */
        { "\xfe", 1, false },             /*                        */
        { "\xff", 1, false },             /*                        */
        { "\xe2\x28\xa1", 3, false },     /* second byte is no continuation */
        { "\xe2\x82\x28", 3, false },     /* nor is the third        */
        { "\xf0\x9f\x98\x28", 4, false }, /* nor the fourth          */
        { "fine until \xff", 12, false },
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        if (text_is_utf8(rows[i].bytes, rows[i].len) != rows[i].ok)
            fail_msg("row %zu should %sbe UTF-8", i, rows[i].ok ? "" : "not ");
}

static void utf8_is_never_read_past_its_length(void **state)
{
    char *exact = malloc(1); /* a sanitizer sees the byte behind it */

    (void)state;
    assert_non_null(exact);
    exact[0] = (char)0xf0;
    assert_false(text_is_utf8(exact, 1));
    free(exact);
    assert_true(text_is_utf8(NULL, 0));
}

static void a_safe_path_is_relative_and_leads_only_down(void **state)
{
    static const char *const safe[] = { "a",       "main.py", "a/b/c",       "...", "..a",   "a..",
                                        ".hidden", "a b",     "\xc3\xbc.py", "-rf", "a/.b/c" };
    static const char *const unsafe[] = { "",    "/",    "/a",   "a/",    "a//b",   ".",
                                          "..",  "./a",  "../a", "a/..",  "a/../b", "a/./b",
                                          "a/.", "a\nb", "\x7f", "a\x1b", "\t" };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(safe); i++)
        if (!text_is_safe_relative_path(safe[i], 100))
            fail_msg("'%s' is safe", safe[i]);
    for (size_t i = 0; i < ARRAY_LEN(unsafe); i++)
        if (text_is_safe_relative_path(unsafe[i], 100))
            fail_msg("'%s' is not safe", unsafe[i]);
}

static void a_safe_path_and_its_parts_have_a_greatest_length(void **state)
{
    char path[300];

    (void)state;
    assert_true(text_is_safe_relative_path("abc", 3));
    assert_false(text_is_safe_relative_path("abcd", 3));
    memset(path, 'a', sizeof(path));
    path[255] = '\0';
    assert_true(text_is_safe_relative_path(path, 1024));
    path[255] = 'a';
    path[256] = '\0';
    assert_false(text_is_safe_relative_path(path, 1024));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_size_is_bytes_or_a_binary_multiple),
        cmocka_unit_test(a_size_that_is_none_is_refused_with_its_reason),
        cmocka_unit_test(a_fraction_of_nine_digits_fits_every_unit),
        cmocka_unit_test(a_duration_is_seconds_unless_it_has_a_unit),
        cmocka_unit_test(a_count_has_no_unit_and_no_fraction),
        cmocka_unit_test(thousandths_keep_three_digits),
        cmocka_unit_test(every_fault_has_a_reason),
        cmocka_unit_test(what_is_formatted_reads_back_exactly),
        cmocka_unit_test(formatted_values_are_short),
        cmocka_unit_test(a_misspelt_word_finds_its_neighbour),
        cmocka_unit_test(a_long_candidate_is_never_near),
        cmocka_unit_test(only_well_formed_utf8_is_utf8),
        cmocka_unit_test(utf8_is_never_read_past_its_length),
        cmocka_unit_test(a_safe_path_is_relative_and_leads_only_down),
        cmocka_unit_test(a_safe_path_and_its_parts_have_a_greatest_length),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
