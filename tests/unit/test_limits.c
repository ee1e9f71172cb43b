#include "model/limits.h"

#include <stdio.h>

#include "base/text.h"
#include "unit.h"

static void every_limit_starts_with_its_preset(void **state)
{
    struct limits limits;

    (void)state;
    limits_init(&limits);
    assert_int_equal(limits.given, 0);
    for (unsigned int i = 0; i < N_LIMITS; i++)
        assert_true(limits.value[i] == limit_defs[i].preset);
}

static void the_table_is_consistent(void **state)
{
    (void)state;
    for (unsigned int i = 0; i < N_LIMITS; i++) {
        const struct limit_def *def = &limit_defs[i];

        assert_non_null(def->name);
        assert_non_null(def->option);
        assert_non_null(def->metavar);
        assert_non_null(def->help);
        assert_true(def->min < def->max && def->max < LIMIT_NONE);
        assert_true(def->preset == LIMIT_NONE ||
                    (def->preset >= def->min && def->preset <= def->max));
        for (unsigned int k = 0; k < i; k++) {
            assert_string_not_equal(def->name, limit_defs[k].name);
            assert_string_not_equal(def->option, limit_defs[k].option);
        }
    }
}

static void none_switches_a_limit_off_where_that_is_safe(void **state)
{
    (void)state;
    for (unsigned int i = 0; i < N_LIMITS; i++) {
        enum sbr_limit which = (enum sbr_limit)i;
        struct limits limits;
        sbr_error err;

        limits_init(&limits);
        if (which == SBR_WALL_MS || which == SBR_CPU_MS || which == SBR_CPU_MILLIS ||
            which == SBR_OUTPUT_BYTES) {
            assert_int_equal(limits_set_text(&limits, which, "none", &err), 0);
            assert_true(limits.value[i] == LIMIT_NONE && limits.given == 1u << i);
            assert_int_equal(limits_set(&limits, which, SBR_NO_LIMIT, &err), 0);
        } else {
            assert_refused(limits_set_text(&limits, which, "none", &err), &err, SBR_E_INVALID,
                           "is not a number");
        }
    }
}

static void both_ends_of_every_range_are_taken_and_their_neighbours_refused(void **state)
{
    (void)state;
    for (unsigned int i = 0; i < N_LIMITS; i++) {
        const struct limit_def *def = &limit_defs[i];
        enum sbr_limit which = (enum sbr_limit)i;
        struct limits limits;
        sbr_error err;

        limits_init(&limits);
        assert_int_equal(limits_set(&limits, which, def->min, &err), 0);
        assert_int_equal(limits_set(&limits, which, def->max, &err), 0);
        assert_true(limits.value[i] == def->max);
        assert_int_equal(limits.given, 1u << i);
        if (def->min > 0)
            assert_refused(limits_set(&limits, which, def->min - 1, &err), &err, SBR_E_INVALID,
                           "is too small");
        assert_refused(limits_set(&limits, which, def->max + 1, &err), &err, SBR_E_INVALID,
                       "is too large");
        if (!def->may_be_none)
            assert_refused(limits_set(&limits, which, UINT64_MAX, &err), &err, SBR_E_INVALID,
                           "is too large");
        assert_true(limits.value[i] == def->max);
    }
}

static void a_refusal_names_option_value_and_range(void **state)
{
    struct limits limits;
    sbr_error err;

    (void)state;
    limits_init(&limits);
    assert_int_equal(limits_set_text(&limits, SBR_MEMORY_BYTES, "3m", &err), SBR_E_INVALID);
    assert_string_equal(err.message, "--memory '3m' is too small; give a value from 4m to 64t");
    assert_string_equal(err.stage, "limits");
    assert_int_equal(limits_set_text(&limits, SBR_CPU_MILLIS, "5000", &err), SBR_E_INVALID);
    assert_string_equal(err.message,
                        "--cpus '5000' is too large; give a value from 0.010 to 4096 or none");
    assert_int_equal(limits.given, 0);
}

/* It names the option, quotes the value and gives the range. */
static void assert_sentence(const sbr_error *err, const char *option)
{
    char start[64];

    snprintf(start, sizeof(start), "--%s '", option);
    if (strncmp(err->message, start, strlen(start)) ||
        !strstr(err->message, "; give a value from ") || !strstr(err->message, " to "))
        fail_msg("'%s' should name --%s, the value and the range", err->message, option);
}

static void every_class_of_bad_text_is_refused_for_every_limit(void **state)
{
    static const struct {
        const char *text, *reason;
    } rows[] = {
        { "", "is empty" },
        { "-1", "is negative" },
        { "-0", "is negative" },
        { "-inf", "is negative" },
        { "lots", "is not a number" },
        { "nan", "is not a number" },
        { "NaN", "is not a number" },
        { "inf", "is not a number" },
        { "infinity", "is not a number" },
        { "Infinity", "is not a number" },
        { " ", "is not a number" },
        { " 10", "is not a number" },
        { "+10", "is not a number" },
        { ".5", "is not a number" },
        { "5.", "is not a number" },
        { "5..5", "is not a number" },
        { "\xd9\xa5", "is not a number" }, /* an Arabic five */
        { "\xc2\xb5", "is not a number" }, /* a micro sign */
        { "1.2.3", "has an unknown unit" },
        { "5,5", "has an unknown unit" },
        { "0x40", "has an unknown unit" },
        { "10 ", "has an unknown unit" },
        { "10 m", "has an unknown unit" },
        { "10mm", "has an unknown unit" },
        { "10p", "has an unknown unit" },
        { "10%", "has an unknown unit" },
        { "10parsecs", "has an unknown unit" },
        { "10\n", "has an unknown unit" },
        { "1e9", "has an unknown unit" },
        { "1E3", "has an unknown unit" },
        { "99999999999999999999", "is too large to count" },
        { "18446744073709551616", "is too large to count" },
        { "18446744073709551615", "is too large" },
        { "10.00000000001", "has too many digits" },
    };

    (void)state;
    for (unsigned int i = 0; i < N_LIMITS; i++) {
        for (size_t k = 0; k < ARRAY_LEN(rows); k++) {
            struct limits limits;
            sbr_error err;

            limits_init(&limits);
            assert_refused(limits_set_text(&limits, (enum sbr_limit)i, rows[k].text, &err), &err,
                           SBR_E_INVALID, rows[k].reason);
            assert_sentence(&err, limit_defs[i].option);
            assert_int_equal(limits.given, 0);
        }
    }
}

static void units_of_another_kind_are_refused(void **state)
{
    static const struct {
        enum limit_unit unit;
        const char *texts[8];
    } rows[] = {
        { LIMIT_DURATION,
          { "5k", "5mb", "5us", "5d", "5sec", "0.0001s", "9999999999999999h", NULL } },
        { LIMIT_SIZE, { "5s", "5ms", "5h", "5mbit", "9999999999t", NULL } },
        { LIMIT_COUNT, { "5k", "5m", "5s", "5.5", NULL } },
        { LIMIT_MILLIS, { "1m", "1cpu", "1.0001", "50%", NULL } },
    };

    (void)state;
    for (unsigned int i = 0; i < N_LIMITS; i++) {
        for (size_t k = 0; k < ARRAY_LEN(rows); k++) {
            for (size_t t = 0; limit_defs[i].unit == rows[k].unit && rows[k].texts[t]; t++) {
                struct limits limits;
                sbr_error err;

                limits_init(&limits);
                assert_refused(limits_set_text(&limits, (enum sbr_limit)i, rows[k].texts[t], &err),
                               &err, SBR_E_INVALID, rows[k].texts[t]);
                assert_sentence(&err, limit_defs[i].option);
                assert_int_equal(limits.given, 0);
            }
        }
    }
}

static void texts_beside_the_range_are_refused(void **state)
{
    static const struct {
        enum sbr_limit which;
        const char *texts[5];
    } rows[] = {
        { SBR_WALL_MS, { "0", "0s", "0.0", "25h", "1441m" } },
        { SBR_WALL_MS, { "99999999s" } },
        { SBR_CPU_MS, { "0", "0ms", "241h" } },
        { SBR_MEMORY_BYTES, { "0", "1", "3m", "4095k", "65t" } },
        { SBR_CPU_MILLIS, { "0", "0.0", "0.009", "4097", "5000" } },
        { SBR_PIDS, { "0", "100001" } },
        { SBR_DISK_BYTES, { "0", "63k", "65t" } },
        { SBR_INODES, { "0", "15", "100000001" } },
        { SBR_OPEN_FILES, { "0", "7", "1048577" } },
        { SBR_OUTPUT_BYTES, { "0", "2t" } },
        { SBR_GRACE_MS, { "61s", "2m" } },
        { SBR_CONNECTIONS, { "1000001" } },
        { SBR_NETWORK_IN, { "1025t" } },
        { SBR_NETWORK_OUT, { "1025t" } },
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        for (size_t k = 0; k < ARRAY_LEN(rows[i].texts) && rows[i].texts[k]; k++) {
            struct limits limits;
            sbr_error err;

            limits_init(&limits);
            assert_refused(limits_set_text(&limits, rows[i].which, rows[i].texts[k], &err), &err,
                           SBR_E_INVALID, " is too ");
            assert_sentence(&err, limit_defs[rows[i].which].option);
            assert_int_equal(limits.given, 0);
        }
    }
}

/* "give a value from MIN to MAX" */
static void the_range_in_a_sentence_is_the_one_that_is_accepted(void **state)
{
    (void)state;
    for (unsigned int i = 0; i < N_LIMITS; i++) {
        struct limits limits;
        char min[64], max[64];
        const char *range;
        sbr_error err;

        limits_init(&limits);
        assert_refused(limits_set_text(&limits, (enum sbr_limit)i, "x", &err), &err, SBR_E_INVALID,
                       " from ");
        range = strstr(err.message, " from ");
        assert_int_equal(sscanf(range, " from %63s to %63s", min, max), 2);
        assert_int_equal(limits_set_text(&limits, (enum sbr_limit)i, min, &err), 0);
        assert_true(limits.value[i] == limit_defs[i].min);
        assert_int_equal(limits_set_text(&limits, (enum sbr_limit)i, max, &err), 0);
        assert_true(limits.value[i] == limit_defs[i].max);
    }
}

static void a_long_bad_text_is_cut_in_the_sentence(void **state)
{
    struct limits limits;
    char text[2000];
    sbr_error err;

    (void)state;
    memset(text, '9', sizeof(text) - 1);
    text[sizeof(text) - 1] = '\0';
    limits_init(&limits);
    assert_refused(limits_set_text(&limits, SBR_PIDS, text, &err), &err, SBR_E_INVALID,
                   "give a value from 1 to 100000");
}

static void texts_are_read_in_the_unit_of_the_limit(void **state)
{
    static const struct {
        enum sbr_limit which;
        const char *text;
        uint64_t value;
    } rows[] = {
        { SBR_WALL_MS, "30s", 30000 },
        { SBR_WALL_MS, "500ms", 500 },
        { SBR_WALL_MS, "2m", 120000 },
        { SBR_WALL_MS, "24h", 86400000 },
        { SBR_WALL_MS, "1.5", 1500 },
        { SBR_WALL_MS, "1.5s", 1500 },
        { SBR_WALL_MS, "7", 7000 },
        { SBR_WALL_MS, "0.25m", 15000 },
        { SBR_CPU_MS, "250ms", 250 },
        { SBR_MEMORY_BYTES, "256m", 256 * MIB },
        { SBR_MEMORY_BYTES, "256mb", 256 * MIB },
        { SBR_MEMORY_BYTES, "1GB", GIB },
        { SBR_MEMORY_BYTES, "1GiB", GIB },
        { SBR_MEMORY_BYTES, "0.5g", 512 * MIB },
        { SBR_MEMORY_BYTES, "33554432", 32 * MIB },
        { SBR_MEMORY_BYTES, "33554432b", 32 * MIB },
        { SBR_MEMORY_BYTES, "65536K", 64 * MIB },
        { SBR_MEMORY_BYTES, "65536kb", 64 * MIB },
        { SBR_CPU_MILLIS, "1.5", 1500 },
        { SBR_CPU_MILLIS, "1", 1000 },
        { SBR_CPU_MILLIS, "0.25", 250 },
        { SBR_CPU_MILLIS, "0.01", 10 },
        { SBR_PIDS, "64", 64 },
        { SBR_PIDS, "064", 64 },
        { SBR_DISK_BYTES, "1g", GIB },
        { SBR_DISK_BYTES, "64k", 64 * KIB },
        { SBR_INODES, "1000", 1000 },
        { SBR_OPEN_FILES, "256", 256 },
        { SBR_OUTPUT_BYTES, "1", 1 },
        { SBR_OUTPUT_BYTES, "1t", TIB },
        { SBR_GRACE_MS, "0", 0 },
        { SBR_GRACE_MS, "0ms", 0 },
        { SBR_CONNECTIONS, "0", 0 },
        { SBR_NETWORK_IN, "0", 0 },
        { SBR_NETWORK_OUT, "1.5g", 1536 * MIB },
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct limits limits;
        sbr_error err;

        limits_init(&limits);
        assert_int_equal(limits_set_text(&limits, rows[i].which, rows[i].text, &err), 0);
        assert_true(limits.value[rows[i].which] == rows[i].value);
        assert_int_equal(limits.given, 1u << rows[i].which);
    }
}

static const struct machine small_machine = { .memory_bytes = 128 * MIB, .cpus = 2 };

static void presets_are_lowered_to_the_machine(void **state)
{
    struct limits limits;
    sbr_error err;

    (void)state;
    limits_init(&limits);
    assert_int_equal(limits_fit(&limits, &small_machine, &err), 0);
    assert_true(limits.value[SBR_MEMORY_BYTES] == 128 * MIB);
    assert_true(limits.value[SBR_DISK_BYTES] == 128 * MIB);
    assert_true(limits.value[SBR_CPU_MILLIS] == LIMIT_NONE);
    assert_true(limits.value[SBR_PIDS] == limit_defs[SBR_PIDS].preset);
    assert_int_equal(limits.given, 0);
}

static void what_was_asked_for_beyond_the_machine_is_refused(void **state)
{
    static const struct {
        enum sbr_limit which;
        uint64_t value;
        const char *sentence;
    } rows[] = {
        { SBR_MEMORY_BYTES, 129 * MIB,
          "the limit memory '129m' is more than this machine has; give a value from 4m to 128m" },
        { SBR_DISK_BYTES, GIB,
          "the limit disk '1g' is more than this machine has; give a value from 64k to 128m" },
        { SBR_CPU_MILLIS, 2001,
          "the limit cpus '2.001' is more than this machine has; give a value from 0.010 to 2" },
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct limits limits;
        sbr_error err;

        limits_init(&limits);
        assert_int_equal(limits_set(&limits, rows[i].which, rows[i].value, &err), 0);
        assert_int_equal(limits_fit(&limits, &small_machine, &err), SBR_E_INVALID);
        assert_string_equal(err.message, rows[i].sentence);
    }
}

static void exactly_what_the_machine_has_may_be_asked_for(void **state)
{
    struct limits limits;
    sbr_error err;

    (void)state;
    limits_init(&limits);
    assert_int_equal(limits_set(&limits, SBR_MEMORY_BYTES, 128 * MIB, &err), 0);
    assert_int_equal(limits_set(&limits, SBR_DISK_BYTES, 128 * MIB, &err), 0);
    assert_int_equal(limits_set(&limits, SBR_CPU_MILLIS, 2000, &err), 0);
    assert_int_equal(limits_fit(&limits, &small_machine, &err), 0);
    assert_true(limits.value[SBR_CPU_MILLIS] == 2000);
}

static void limits_are_formatted_in_their_unit(void **state)
{
    static const struct {
        enum sbr_limit which;
        uint64_t value;
        const char *text;
    } rows[] = {
        { SBR_WALL_MS, 30000, "30s" },   { SBR_CPU_MS, LIMIT_NONE, "none" },
        { SBR_MEMORY_BYTES, GIB, "1g" }, { SBR_CPU_MILLIS, 1500, "1.5" },
        { SBR_PIDS, 128, "128" },        { SBR_GRACE_MS, 0, "0ms" },
    };
    char text[32];

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        limits_format(rows[i].which, rows[i].value, text, sizeof(text));
        assert_string_equal(text, rows[i].text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_limit_starts_with_its_preset),
        cmocka_unit_test(the_table_is_consistent),
        cmocka_unit_test(none_switches_a_limit_off_where_that_is_safe),
        cmocka_unit_test(both_ends_of_every_range_are_taken_and_their_neighbours_refused),
        cmocka_unit_test(a_refusal_names_option_value_and_range),
        cmocka_unit_test(every_class_of_bad_text_is_refused_for_every_limit),
        cmocka_unit_test(units_of_another_kind_are_refused),
        cmocka_unit_test(texts_beside_the_range_are_refused),
        cmocka_unit_test(the_range_in_a_sentence_is_the_one_that_is_accepted),
        cmocka_unit_test(a_long_bad_text_is_cut_in_the_sentence),
        cmocka_unit_test(texts_are_read_in_the_unit_of_the_limit),
        cmocka_unit_test(presets_are_lowered_to_the_machine),
        cmocka_unit_test(what_was_asked_for_beyond_the_machine_is_refused),
        cmocka_unit_test(exactly_what_the_machine_has_may_be_asked_for),
        cmocka_unit_test(limits_are_formatted_in_their_unit),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
