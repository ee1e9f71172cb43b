/* The contract of a result, read back with a JSON library that is not ours. */
#include <jansson.h>
#include <signal.h>
#include <stdlib.h>

#include "model/result.h"
#include "unit.h"

static sbr_result sample(void)
{
    sbr_result result = { .id = "0123456789abcdef0123456789abcdef",
                          .verdict = SBR_EXITED,
                          .exit_code = 3,
                          .out = { .data = (char *)"out\n", .len = 4, .total = 4 },
                          .err = { .total = 9, .truncated = true },
                          .usage = { .wall_us = 12345,
                                     .cpu_user_us = 4000,
                                     .cpu_system_us = 1500,
                                     .peak_memory_bytes = 1 << 20,
                                     .peak_processes = 2,
                                     .io_read_bytes = 10,
                                     .io_write_bytes = 11,
                                     .context_switches = 12,
                                     .startup_us = 2500,
                                     .connections = 3,
                                     .network_in_bytes = 4000,
                                     .network_out_bytes = 500 },
                          .startup = "cold",
                          .stage = "run",
                          .stage_us = 20500,
                          .total_us = 1234567,
                          .started_at_us = 1770091506789000,
                          .language = { "typescript", "7.0.2", "node", "18.19.0" },
                          .ran = true };

    limits_init(&result.limits);
    result.isolation.tier = TIER_CONTAINER;
    result_add_mechanism(&result.isolation, "seccomp");
    result_add_missing(&result.isolation, "landlock");
    return result;
}

static json_t *parsed(char *take_text)
{
    json_error_t where;
    json_t *root;

    assert_non_null(take_text);
    root = json_loads(take_text, JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, &where);
    if (!root)
        fail_msg("%s: %s", where.text, take_text);
    free(take_text);
    return root;
}

static json_t *sample_json(void)
{
    sbr_result result = sample();

    return parsed(result_to_json(&result));
}

static void the_fields_are_these_and_no_others(void **state)
{
    static const char *const names[] = {
        "schema",
        "id",
        "version",
        "started_at",
        "total_ms",
        "language",
        "stage",
        "success",
        "outcome",
        "exit_code",
        "signal",
        "execution_time",
        "cpu_time",
        "memory_used",
        "metrics",
        "explanation",
        "stdout",
        "stdout_bytes",
        "stdout_truncated",
        "stdout_encoding",
        "stdout_tail",
        "stderr_tail",
        "stdout_omitted_bytes",
        "stderr_omitted_bytes",
        "stderr",
        "stderr_bytes",
        "stderr_truncated",
        "stderr_encoding",
        "limits",
        "stages",
        "isolation",
        "startup",
        "diagnosis",
        "cached",
        "denials",
        "policy",
        "network",
        "changes",
        "changes_total",
        "changes_summary",
        "changes_id",
        "files",
        "excluded",
        "uses",
        "output_id",
    };
    json_t *root = sample_json();

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(names); i++)
        if (!json_object_get(root, names[i]))
            fail_msg("there is no '%s'", names[i]);
    assert_int_equal(json_object_size(root), ARRAY_LEN(names));
    json_decref(root);
}

static void values_are_those_of_the_result(void **state)
{
    json_t *root = sample_json(), *metrics = json_object_get(root, "metrics");
    const char *outcome, *out, *tier, *first;
    double seconds, cpu;
    int exit_code, memory, err_bytes, err_truncated;

    (void)state;
    assert_int_equal(json_unpack(root, "{s:s, s:i, s:n, s:F, s:F, s:i, s:s, s:i, s:b}", "outcome",
                                 &outcome, "exit_code", &exit_code, "signal", "execution_time",
                                 &seconds, "cpu_time", &cpu, "memory_used", &memory, "stdout", &out,
                                 "stderr_bytes", &err_bytes, "stderr_truncated", &err_truncated),
                     0);
    assert_string_equal(outcome, "exited");
    assert_int_equal(exit_code, 3);
    assert_true(seconds > 0.0123 && seconds < 0.0124);
    assert_true(cpu > 0.00549 && cpu < 0.00551);
    assert_int_equal(memory, 1 << 20);
    assert_string_equal(out, "out\n");
    assert_int_equal(err_bytes, 9);
    assert_true(err_truncated);
    assert_true(json_number_value(json_object_get(metrics, "cpu_percent")) > 44);
    assert_true(json_number_value(json_object_get(metrics, "cpu_percent")) < 45);
    assert_int_equal(json_integer_value(json_object_get(metrics, "context_switches")), 12);
    assert_int_equal(json_integer_value(json_object_get(metrics, "network_connections")), 3);
    assert_int_equal(json_integer_value(json_object_get(metrics, "network_bytes_in")), 4000);
    assert_int_equal(json_integer_value(json_object_get(metrics, "network_bytes_out")), 500);
    assert_int_equal(json_unpack(json_object_get(root, "isolation"), "{s:s, s:[s!], s:[s!]}",
                                 "tier", &tier, "mechanisms", &first, "missing", &first),
                     0);
    assert_string_equal(tier, "container");
    assert_string_equal(first, "landlock");
    json_decref(root);
}

static void a_result_says_when_and_with_what_it_ran(void **state)
{
    json_t *root = sample_json(), *stage = json_array_get(json_object_get(root, "stages"), 0);
    const char *version, *started, *named, *name, *of, *tool, *tool_of;
    double total;
    char ours[32];

    (void)state;
    snprintf(ours, sizeof(ours), "%d.%d.%d", SBR_VERSION_MAJOR, SBR_VERSION_MINOR,
             SBR_VERSION_PATCH);
    assert_int_equal(json_unpack(root, "{s:s, s:s, s:F, s:s, s:{s:s, s:s, s:s, s:s !}}", "version",
                                 &version, "started_at", &started, "total_ms", &total, "stage",
                                 &named, "language", "name", &name, "version", &of, "tool", &tool,
                                 "tool_version", &tool_of),
                     0);
    assert_string_equal(version, ours);
    assert_string_equal(started, "2026-02-03T04:05:06.789Z");
    assert_true(total > 1234.566 && total < 1234.568);
    assert_string_equal(named, "run");
    assert_string_equal(name, "typescript");
    assert_string_equal(of, "7.0.2");
    assert_string_equal(tool, "node");
    assert_string_equal(tool_of, "18.19.0");
    assert_true(json_number_value(json_object_get(stage, "total_ms")) == 20.5);
    json_decref(root);
}

static void what_is_not_known_of_a_language_is_null(void **state)
{
    sbr_result result = sample();
    json_t *root;

    (void)state;
    result.language = (struct result_language){ .name = "python" };
    root = parsed(result_to_json(&result));
    assert_true(json_is_null(json_object_get(json_object_get(root, "language"), "version")));
    json_decref(root);
    result.language.name = NULL;
    result.stage = NULL;
    root = parsed(result_to_json(&result));
    assert_true(json_is_null(json_object_get(root, "language")));
    assert_true(json_is_null(json_object_get(root, "stage")));
    json_decref(root);
}

static void every_limit_is_there_and_an_unset_one_is_null(void **state)
{
    json_t *root = sample_json(), *limits = json_object_get(root, "limits");

    (void)state;
    assert_int_equal(json_object_size(limits), N_LIMITS);
    for (unsigned int i = 0; i < N_LIMITS; i++) {
        json_t *value = json_object_get(limits, limit_defs[i].name);

        assert_non_null(value);
        assert_int_equal(json_is_null(value), limit_defs[i].preset == LIMIT_NONE);
    }
    json_decref(root);
}

static void processors_are_printed_as_they_were_asked_for(void **state)
{
    sbr_result result = sample();
    json_t *root;

    (void)state;
    result.limits.value[SBR_CPU_MILLIS] = 1500;
    root = parsed(result_to_json(&result));
    assert_true(json_number_value(json_object_get(json_object_get(root, "limits"), "cpus")) == 1.5);
    json_decref(root);
}

static void a_run_without_time_has_no_percentage(void **state)
{
    sbr_result result = sample();
    json_t *root;

    (void)state;
    result.usage = (struct usage){ .cpu_user_us = 5 };
    root = parsed(result_to_json(&result));
    assert_true(
        json_number_value(json_object_get(json_object_get(root, "metrics"), "cpu_percent")) == 0);
    json_decref(root);
}

/* Wherever a character stands: long text is looked at in pieces. */
static void a_character_may_stand_at_the_end_of_a_piece(void **state)
{
    enum { LEN = 70000 };
    static const char letters[] = "\xf0\x9f\x98\x80", *const faults[] = { "\x80", "\xf0\x9f\x98" };
    char *text = malloc(LEN);

    (void)state;
    for (size_t at = 4 * 8192 - 70; at < 4 * 8192 + 70; at++) {
        memset(text, 'x', LEN);
        memcpy(text + at, letters, 4);
        assert_true(result_is_best_as_text(text, LEN));
        for (size_t i = 0; i < ARRAY_LEN(faults); i++) {
            memset(text, 'x', LEN);
            memcpy(text + at, faults[i], strlen(faults[i]));
            assert_false(result_is_best_as_text(text, LEN));
        }
        memset(text, 0x80, LEN);
        assert_false(result_is_best_as_text(text, LEN));
        memset(text, 1, LEN);
        assert_false(result_is_best_as_text(text, LEN));
        memset(text, 'x', LEN / 2 + LEN / 3);
        assert_true(result_is_best_as_text(text, LEN));
    }
    memset(text, '\n', LEN); /* pieces of two bytes each make up for no others */
    assert_true(result_is_best_as_text(text, LEN));
    text[LEN / 2] = 1;
    assert_false(result_is_best_as_text(text, LEN));
    memset(text, 'x', 10);
    assert_true(result_is_best_as_text(text, LEN));
    free(text);
}

static void text_is_text_and_bytes_are_base64(void **state)
{
    static const struct {
        const char *bytes;
        size_t len;
        const char *encoding, *text;
        size_t text_len;
    } rows[] = {
        { "", 0, "utf-8", "", 0 },
        { "\xc3\xbc\"\\/\n\x01\x7f", 8, "utf-8", "\xc3\xbc\"\\/\n\x01\x7f", 8 },
        { "a\0b", 3, "utf-8", "a\0b", 3 },
        { "\xf0\x9f\x98\x80", 4, "utf-8", "\xf0\x9f\x98\x80", 4 },
        { "\xff", 1, "base64", "/w==", 4 },
        { "ok\xc3", 3, "base64", "b2vD", 4 },
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        sbr_result result = sample();
        json_t *root, *text;

        result.err = (struct output){ .data = (char *)rows[i].bytes,
                                      .len = rows[i].len,
                                      .total = rows[i].len };
        root = parsed(result_to_json(&result));
        text = json_object_get(root, "stderr");
        assert_string_equal(json_string_value(json_object_get(root, "stderr_encoding")),
                            rows[i].encoding);
        assert_int_equal(json_string_length(text), rows[i].text_len);
        assert_memory_equal(json_string_value(text), rows[i].text, rows[i].text_len);
        json_decref(root);
    }
}

static void signals_have_their_names(void **state)
{
    static const struct {
        int number;
        const char *name;
    } rows[] = { { SIGKILL, "SIGKILL" },
                 { SIGSEGV, "SIGSEGV" },
                 { SIGSYS, "SIGSYS" },
                 { SIGXCPU, "SIGXCPU" },
                 { 40, "signal 40" } };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        sbr_result result = sample();
        json_t *root;

        result.verdict = SBR_SIGNALED;
        result.exit_code = -1;
        result.signal = rows[i].number;
        root = parsed(result_to_json(&result));
        assert_string_equal(json_string_value(json_object_get(root, "signal")), rows[i].name);
        assert_true(json_is_null(json_object_get(root, "exit_code")));
        assert_true(json_is_false(json_object_get(root, "success")));
        json_decref(root);
    }
}

static void the_one_stage_repeats_the_verdict_without_the_streams(void **state)
{
    json_t *root = sample_json(), *stages = json_object_get(root, "stages"), *stage;

    (void)state;
    assert_int_equal(json_array_size(stages), 1);
    stage = json_array_get(stages, 0);
    assert_string_equal(json_string_value(json_object_get(stage, "name")), "run");
    assert_true(json_equal(json_object_get(stage, "outcome"), json_object_get(root, "outcome")));
    assert_true(json_equal(json_object_get(stage, "metrics"), json_object_get(root, "metrics")));
    assert_null(json_object_get(stage, "stdout"));
    json_decref(root);
}

static void a_result_is_one_line(void **state)
{
    sbr_result result = sample();
    char *text = result_to_json(&result);

    (void)state;
    assert_null(strchr(text, '\n'));
    free(text);
}

static void an_explanation_is_a_sentence_or_null(void **state)
{
    sbr_result result = sample();
    json_t *root = parsed(result_to_json(&result));

    (void)state;
    assert_true(json_is_null(json_object_get(root, "explanation")));
    json_decref(root);
    snprintf(result.explanation, sizeof(result.explanation), "too \"slow\"");
    root = parsed(result_to_json(&result));
    assert_string_equal(json_string_value(json_object_get(root, "explanation")), "too \"slow\"");
    json_decref(root);
}

static void an_error_says_that_nothing_ran(void **state)
{
    sbr_error err;
    json_t *root, *detail;

    (void)state;
    err_set(&err, SBR_E_NOT_FOUND, "language", "there is no '%s'", "x\ny");
    root = parsed(result_error_to_json(&err));
    detail = json_object_get(root, "error");
    assert_true(json_is_false(json_object_get(root, "success")));
    assert_string_equal(json_string_value(json_object_get(root, "outcome")), "not_found");
    assert_string_equal(json_string_value(json_object_get(detail, "code")), "not_found");
    assert_string_equal(json_string_value(json_object_get(detail, "stage")), "language");
    assert_string_equal(json_string_value(json_object_get(detail, "message")),
                        "there is no 'x?y'"); /* what is quoted stays on its line */
    assert_true(json_is_null(json_object_get(detail, "errno")));
    json_decref(root);
}

static void the_outcome_of_an_error_is_named_after_its_code(void **state)
{
    static const struct {
        enum sbr_code code;
        const char *outcome;
    } rows[] = {
        { SBR_E_INVALID, "invalid_request" },
        { SBR_E_NOT_FOUND, "not_found" },
        { SBR_E_UNSUPPORTED, "unsupported" },
        { SBR_E_DENIED, "denied" },
        { SBR_E_BUSY, "busy" },
        { SBR_E_NO_MEMORY, "internal_error" },
        { SBR_E_SYSTEM, "internal_error" },
        { SBR_E_BUG, "internal_error" },
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        sbr_error err = { .code = rows[i].code, .stage = "here", .message = "a sentence" };
        json_t *root = parsed(result_error_to_json(&err));

        assert_string_equal(json_string_value(json_object_get(root, "outcome")), rows[i].outcome);
        json_decref(root);
    }
}

/* A message may quote what the caller wrote, or be cut in the middle of a character. */
static void an_error_with_bytes_that_are_no_text_is_still_told(void **state)
{
    sbr_error err;
    json_t *root;

    (void)state;
    err_set(&err, SBR_E_INVALID, "options", "there is no option '%s'", "--\xff\xc3");
    root = parsed(result_error_to_json(&err));
    assert_non_null(
        strstr(json_string_value(json_object_get(json_object_get(root, "error"), "message")),
               "there is no option"));
    json_decref(root);
}

static void a_stage_before_has_denials_of_its_own(void **state)
{
    sbr_result result = sample(), compile = sample();
    json_t *root, *stages;

    (void)state;
    compile.stage = "compile";
    result.before[result.n_before++] = &compile;
    denials_note(&compile.denials, DENIAL_MEMORY, "limits: memory 4m", "", "memory");
    denials_note(&result.denials, DENIAL_FILE, "stderr: x", "", "/x");
    root = parsed(result_to_json(&result));
    stages = json_object_get(root, "stages");
    assert_int_equal(json_array_size(json_object_get(json_array_get(stages, 0), "denials")), 1);
    assert_null(json_object_get(json_array_get(stages, 1), "denials"));
    assert_int_equal(json_array_size(json_object_get(root, "denials")), 1);
    json_decref(root);
    denials_done(&compile.denials);
    denials_done(&result.denials);
}

static void changes_are_told_when_somebody_asked(void **state)
{
    struct change item = { .op = CHANGE_CREATED,
                           .path = (char *)"new",
                           .now = { .kind = NODE_FILE, .mode = 0644, .size = 3 } };
    struct change_root tree = { .source = (char *)"/srv", .target = (char *)"/work" };
    struct changes changes = { .items = &item, .n = 1, .roots = &tree, .n_roots = 1 };
    struct output_file file = { .path = (char *)"/work/out", .size = 4, .mime = "text/plain" };
    json_t *root = sample_json();
    sbr_result result = sample();

    (void)state;
    assert_true(json_is_null(json_object_get(root, "changes")));
    assert_true(json_is_null(json_object_get(root, "changes_id")));
    assert_int_equal(json_array_size(json_object_get(root, "files")), 0);
    json_decref(root);
    result.changes = &changes;
    memcpy(result.changes_id, result.id, sizeof(result.id));
    result.files = (struct output_files){ .items = &file, .n = 1 };
    root = parsed(result_to_json(&result));
    assert_int_equal(json_array_size(json_object_get(root, "changes")), 1);
    assert_int_equal(json_integer_value(json_object_get(root, "changes_total")), 1);
    assert_string_equal(json_string_value(json_object_get(root, "changes_summary")),
                        "would create 1 file, 3 bytes");
    assert_string_equal(json_string_value(json_object_get(root, "changes_id")), result.id);
    assert_int_equal(json_array_size(json_object_get(root, "files")), 1);
    json_decref(root);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_fields_are_these_and_no_others),
        cmocka_unit_test(a_stage_before_has_denials_of_its_own),
        cmocka_unit_test(values_are_those_of_the_result),
        cmocka_unit_test(a_result_says_when_and_with_what_it_ran),
        cmocka_unit_test(what_is_not_known_of_a_language_is_null),
        cmocka_unit_test(the_outcome_of_an_error_is_named_after_its_code),
        cmocka_unit_test(every_limit_is_there_and_an_unset_one_is_null),
        cmocka_unit_test(processors_are_printed_as_they_were_asked_for),
        cmocka_unit_test(a_run_without_time_has_no_percentage),
        cmocka_unit_test(a_character_may_stand_at_the_end_of_a_piece),
        cmocka_unit_test(text_is_text_and_bytes_are_base64),
        cmocka_unit_test(signals_have_their_names),
        cmocka_unit_test(the_one_stage_repeats_the_verdict_without_the_streams),
        cmocka_unit_test(a_result_is_one_line),
        cmocka_unit_test(an_explanation_is_a_sentence_or_null),
        cmocka_unit_test(changes_are_told_when_somebody_asked),
        cmocka_unit_test(an_error_says_that_nothing_ran),
        cmocka_unit_test(an_error_with_bytes_that_are_no_text_is_still_told),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
