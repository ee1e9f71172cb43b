#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "base/jsonw.h"
#include "explain/diagnose.h"
#include "plan/pattern.h"

#define ARRAY_LEN(a) (sizeof(a) / sizeof((a)[0]))

/* A language that puts the place of an error last, as Python does, and one that puts it first. */
/* clang-format off */
static struct frame_rule outer_frames[] = {
    { "^  at ([^:]+):([0-9]+)(:([0-9]+))?( in (.*))?$", 1, 2, 4, 6 },
};
static struct error_rule outer_errors[] = {
    { "^NameError: (name (.*) is unknown)", "NameError", "\\1",
      "Did you mean ${nearest:\\2|print}? || Define \\2.", "https://example.org/names", 0, 0, 0 },
    { "^ImportError: no (.*)", "ImportError", NULL, "Add --dep \\1.", NULL, 0, 0, 0 },
    { "^(.*):([0-9]+):([0-9]+): bad: (.*)$", "SyntaxError", "\\4", NULL, NULL, 1, 2, 3 },
    { "^line ([0-9]+): (.*)$", "LineError", "\\2", NULL, NULL, 0, 1, 0 },
    { "^panic at (.*):([0-9]+):\\n(.*)", "panic", "\\3", NULL, NULL, 1, 2, 0 },
    { "^([A-Z][a-z]+Error)(: (.*))?$", "\\1", "\\3", NULL, NULL, 0, 0, 0 },
    { "^ended by SIGSEGV$", "SegmentationFault", "a wild pointer", NULL, NULL, 0, 0, 0 },
};
static const char *ours[] = { "^<frozen", "^/lib/start" };
/* clang-format on */

static struct language language(bool innermost_first)
{
    struct language l = { .name = "test", .source = "main.x" };

    l.diagnosis = (struct diagnosis_rules){
        .link = "https://example.org/",
        .innermost_first = innermost_first,
        .ours = { ours, ARRAY_LEN(ours) },
        .frames = outer_frames,
        .n_frames = ARRAY_LEN(outer_frames),
        .errors = outer_errors,
        .n_errors = ARRAY_LEN(outer_errors),
    };
    return l;
}

static const char code[] = "first\nsecond = 1\n    third(second)\nfourth\n";

static sbr_request *request(void)
{
    sbr_request *req;
    sbr_error err;

    assert_int_equal(request_new("test", NULL, &req, &err), 0);
    assert_int_equal(request_set_code(req, code, strlen(code), &err), 0);
    assert_int_equal(request_add_file(req, "lib/tools.x", "one\r\ntwo", 8, &err), 0);
    return req;
}

struct setting {
    const char *text;
    bool compile;
    bool innermost_first;
    const char *ending;
    unsigned int code_line, code_lines;
};

static struct diagnosis *run(const struct setting *setting, const sbr_request *req)
{
    struct language l = language(setting->innermost_first);
    struct diagnose_input in = {
        .language = &l,
        .text = setting->text,
        .len = strlen(setting->text),
        .compile = setting->compile,
        .request = req,
        .work = "/work",
        .main_file = "main.x",
        .ending = setting->ending,
        .code_line = setting->code_line,
        .code_lines = setting->code_lines,
    };

    return diagnose(&in);
}

/* Frees the request; the caller frees the diagnosis. */
static struct diagnosis *diagnosed(struct setting setting)
{
    sbr_request *req = request();
    struct diagnosis *d = run(&setting, req);

    request_free(req);
    return d;
}

#define diagnosed(...) diagnosed((struct setting){ .text = __VA_ARGS__ })

static void the_line_itself_is_the_message_when_the_rule_has_none(void **state)
{
    struct diagnosis *d = diagnosed("ImportError: no yaml\n");

    (void)state;
    assert_string_equal(d->type, "ImportError");
    assert_string_equal(d->message, "ImportError: no yaml");
    assert_string_equal(d->suggestion, "Add --dep yaml.");
    assert_string_equal(d->link, "https://example.org/");
    assert_null(d->file);
    assert_null(d->context);
    assert_int_equal(d->n_frames, 0);
    diagnosis_free(d);
    d = diagnosed("KeyError\n"); /* the group of its message took no part */
    assert_string_equal(d->type, "KeyError");
    assert_string_equal(d->message, "KeyError");
    diagnosis_free(d);
}

static void nothing_known_is_no_diagnosis(void **state)
{
    (void)state;
    assert_null(diagnosed(""));
    assert_null(diagnosed("\n\n"));
    assert_null(diagnosed("all is well"));
    assert_null(diagnosed("", .ending = "SIGKILL"));
    diagnosis_free(NULL);
}

static void in_a_trace_the_last_error_counts_and_in_a_compilers_words_the_first(void **state)
{
    const char *text = "KeyError: a\nlog\nImportError: no b\nValueError: c\nbye\n";
    struct diagnosis *d = diagnosed(text);

    (void)state;
    assert_string_equal(d->type, "ValueError");
    diagnosis_free(d);
    d = diagnosed(text, .compile = true);
    assert_string_equal(d->type, "KeyError");
    diagnosis_free(d);
}

static void the_place_is_the_innermost_of_the_users_files(void **state)
{
    struct diagnosis *d = diagnosed("KeyError: old\n"
                                    "  at <frozen start>:1 in boot\n"
                                    "  at /work/main.x:4 in top\n"
                                    "  at /work/lib/tools.x:2:7 in helper\n"
                                    "  at /usr/lib/json.x:99 in loads\n"
                                    "  at /driver/hook.x:5 in hook\n"
                                    "ValueError: bad\n");

    (void)state;
    assert_string_equal(d->file, "lib/tools.x");
    assert_int_equal(d->line, 2);
    assert_int_equal(d->column, 7);
    assert_string_equal(d->context, "    1 | one\n>   2 | two");
    assert_int_equal(d->n_frames, 3);
    assert_string_equal(d->frames[0].function, "helper");
    assert_string_equal(d->frames[1].file, "main.x");
    assert_string_equal(d->frames[1].function, "top");
    assert_string_equal(d->frames[2].file, "/usr/lib/json.x");
    diagnosis_free(d);
}

static void frames_of_another_error_are_not_its_own(void **state)
{
    struct diagnosis *d = diagnosed("  at /work/main.x:1\nKeyError: a\n"
                                    "  at /work/main.x:2\nValueError: b\n");

    (void)state;
    assert_int_equal(d->line, 2);
    assert_int_equal(d->n_frames, 1);
    diagnosis_free(d);
    d = diagnosed("KeyError: a\n  at /work/main.x:1\nValueError: b\n  at main.x:3\n  at ./main.x:4",
                  .innermost_first = true);
    assert_int_equal(d->line, 3);
    assert_int_equal(d->n_frames, 2);
    assert_string_equal(d->frames[1].file, "main.x");
    diagnosis_free(d);
}

static void a_compilers_words_on_an_error_end_at_an_empty_line(void **state)
{
    struct diagnosis *d = diagnosed("KeyError: a\n  at main.x:1\n\nwarning\n  at main.x:2\n",
                                    .innermost_first = true, .compile = true);

    (void)state;
    assert_int_equal(d->n_frames, 1);
    assert_int_equal(d->line, 1);
    diagnosis_free(d);
}

static void a_line_may_tell_the_place_itself(void **state)
{
    struct diagnosis *d = diagnosed("/work/main.x:3:5: bad: no sense\n", .compile = true);

    (void)state;
    assert_string_equal(d->message, "no sense");
    assert_string_equal(d->file, "main.x");
    assert_int_equal(d->line, 3);
    assert_int_equal(d->column, 5);
    assert_string_equal(d->context,
                        "    2 | second = 1\n>   3 |     third(second)\n    4 | fourth");
    diagnosis_free(d);
    d = diagnosed("line 2: oops\n"); /* the tool knows of one file only */
    assert_string_equal(d->file, "main.x");
    assert_int_equal(d->line, 2);
    diagnosis_free(d);
    d = diagnosed("tools.x:1:1: bad: x\n"); /* a last component is enough */
    assert_string_equal(d->file, "lib/tools.x");
    diagnosis_free(d);
    d = diagnosed("other.x:1:1: bad: x\n");
    assert_null(d->file);
    assert_string_equal(d->frames[0].file, "other.x");
    diagnosis_free(d);
}

static void a_pattern_may_see_several_lines(void **state)
{
    struct diagnosis *d = diagnosed("panic at main.x:4:\nno more money\nbye\n");

    (void)state;
    assert_string_equal(d->type, "panic");
    assert_string_equal(d->message, "no more money");
    assert_int_equal(d->line, 4);
    assert_string_equal(d->context, "    3 |     third(second)\n>   4 | fourth");
    diagnosis_free(d);
    assert_null(diagnosed("panic at main.x:4:"));
    d = diagnosed("panic at main.x:5:\nearly end\n"); /* behind the last newline */
    assert_string_equal(d->context, "    4 | fourth\n>   5 | ");
    diagnosis_free(d);
}

static void a_marker_below_the_source_tells_the_column(void **state)
{
    static const char *const texts[] = {
        "  at /work/main.x:3\n    third(second)\n    ~~~~~^~~~~~~\nValueError: x\n",
        "  at /work/main.x:3\n  third(second)\n       ^\nValueError: x\n",
        "  at /work/main.x:3\n 3 | third(second)\n   |      ^--- here\nValueError: x\n",
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
        struct diagnosis *d = diagnosed(texts[i]);

        assert_int_equal(d->column, 10);
        diagnosis_free(d);
    }
}

static void the_nearest_word_of_the_source_is_suggested(void **state)
{
    struct diagnosis *d = diagnosed("NameError: name secnd is unknown\n");

    (void)state;
    assert_string_equal(d->suggestion, "Did you mean second?");
    assert_string_equal(d->link, "https://example.org/names");
    diagnosis_free(d);
    d = diagnosed("NameError: name prnt is unknown\n"); /* one of the rule's own */
    assert_string_equal(d->suggestion, "Did you mean print?");
    diagnosis_free(d);
    d = diagnosed("NameError: name second is unknown\n"); /* not the word itself */
    assert_string_equal(d->suggestion, "Define second.");
    diagnosis_free(d);
    d = diagnosed("NameError: name qqqqqq is unknown\n");
    assert_string_equal(d->suggestion, "Define qqqqqq.");
    diagnosis_free(d);
}

static void lines_of_a_harness_are_ours_and_those_in_it_are_counted_anew(void **state)
{
    struct diagnosis *d = diagnosed("  at /work/main.x:1 in main\n  at /work/main.x:3 in user\n"
                                    "  at /work/main.x:4 in helper\nKeyError: x\n",
                                    .code_line = 2, .code_lines = 2);

    (void)state;
    assert_int_equal(d->n_frames, 1);
    assert_string_equal(d->frames[0].function, "user");
    assert_int_equal(d->line, 2);
    assert_string_equal(d->context, "    1 | second = 1\n>   2 |     third(second)");
    diagnosis_free(d);
    d = diagnosed("main.x:4:1: bad: x\n", .code_line = 2, .code_lines = 2);
    assert_null(d->file);
    assert_int_equal(d->n_frames, 0);
    diagnosis_free(d);
}

static void how_it_ended_counts_when_no_line_tells_more(void **state)
{
    struct diagnosis *d = diagnosed("bye\n", .ending = "SIGSEGV");

    (void)state;
    assert_string_equal(d->type, "SegmentationFault");
    diagnosis_free(d);
    d = diagnosed("KeyError: x\n", .ending = "SIGSEGV");
    assert_string_equal(d->type, "KeyError");
    diagnosis_free(d);
}

static void the_top_of_a_very_long_trace_is_still_found(void **state)
{
    size_t len = 0, size = 1 << 20;
    char *text = malloc(size);
    struct diagnosis *d;

    (void)state;
    len += (size_t)snprintf(text, size, "KeyError: x\n");
    while (len < size - 64)
        len += (size_t)snprintf(text + len, size - len, "  at /work/main.x:3 in again\n");
    d = diagnosed(text, .innermost_first = true);
    assert_string_equal(d->type, "KeyError");
    assert_int_equal(d->n_frames, DIAGNOSIS_MAX_FRAMES);
    assert_int_equal(d->line, 3);
    diagnosis_free(d);
    free(text);
}

/* Each piece is repeated to 64 KiB and to a megabyte. */
static void hostile_output_is_slow_to_nobody(void **state)
{
    static const char *const pieces[] = {
        "a",
        "\n",
        "x\n",
        " ",
        "Error: ",
        "panic at panic at ",
        "NameError: name ",
        "1:1:1: bad: ",
        "  at a:1 in ",
        "  at a:1\n",
        "\xff\xfe",
        "\xe2\x80",
        "AaError",
        "\\1${nearest:\\1}",
    };
    size_t size = 1 << 20;
    char *text = malloc(size + 1);
    clock_t start = clock();

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(pieces); i++) {
        size_t piece = strlen(pieces[i]);

        for (size_t end = 65536; end <= size; end *= 16) {
            for (size_t at = 0; at < end; at++)
                text[at] = pieces[i][at % piece];
            text[end] = '\0';
            diagnosis_free(diagnosed(text));
            diagnosis_free(diagnosed(text, .compile = true, .innermost_first = true));
        }
    }
    free(text);
    assert_true((double)(clock() - start) / CLOCKS_PER_SEC < 20); /* a tenth of it on its own */
}

static void what_a_stranger_wrote_stays_text(void **state)
{
    struct diagnosis *d = diagnosed("  at /work/m\xff\x01.x:1 in \xc3\xa9\n"
                                    "ValueError: \x1b[31mred \xff\n");
    struct jsonw j;
    char *json;

    (void)state;
    assert_string_equal(d->message, "?[31mred ?");
    assert_string_equal(d->file, "m??.x");
    assert_string_equal(d->frames[0].function, "\xc3\xa9");
    jsonw_init(&j, false);
    jsonw_open(&j, NULL, '{');
    diagnosis_put_json(&j, "diagnosis", d);
    diagnosis_put_json(&j, "none", NULL);
    jsonw_close(&j, '}');
    json = jsonw_take(&j);
    assert_string_equal(json, "{\"diagnosis\":{\"type\":\"ValueError\",\"message\":\"?[31mred ?\","
                              "\"file\":\"m??.x\",\"line\":1,\"column\":null,\"frames\":["
                              "{\"file\":\"m??.x\",\"line\":1,\"column\":null,"
                              "\"function\":\"\xc3\xa9\"}],\"context\":null,\"suggestion\":null,"
                              "\"link\":\"https://example.org/\"},\"none\":null}");
    free(json);
    diagnosis_free(d);
}

static void a_message_that_is_too_long_is_cut_between_characters(void **state)
{
    char text[2048] = "ValueError: ";
    struct diagnosis *d;

    (void)state;
    for (size_t i = strlen(text); i < 1900; i += 2)
        memcpy(text + i, "\xc3\xa9", 3);
    d = diagnosed(text);
    assert_in_range(strlen(d->message), 490, 512);
    assert_null(strchr(d->message, '?'));
    diagnosis_free(d);
}

static void numbers_that_are_none_are_no_lines(void **state)
{
    struct diagnosis *d = diagnosed("main.x:99999999999999999999:0: bad: x\n");

    (void)state;
    assert_int_equal(d->line, 0);
    assert_null(d->context);
    diagnosis_free(d);
    d = diagnosed("main.x:77:1: bad: x\n");
    assert_int_equal(d->line, 77);
    assert_null(d->context); /* the file has no such line */
    diagnosis_free(d);
}

/* A pattern is tried on lines that hold the text which all its matches share; found wrongly, that
 * text would hide matches. */
static void no_shape_of_a_pattern_hides_a_match(void **state)
{
    static const struct {
        const char *match, *line;
    } rows[] = {
        { "abc|def", "def" },
        { "(abc|def)x", "defx" },
        { "a(bc)?d", "ad" },
        { "a(bc)*d", "ad" },
        { "ab*c", "ac" },
        { "ab{0,2}c", "ac" },
        { "ab+c", "abbc" },
        { "(ab)+c", "ababc" },
        { "[|(]x\\|y", "(x|y" },
        { "[]a]bc", "]bc" },
        { "[^])]b", "xb" },
        { "[[:alpha:]]]z", "q]z" },
        { "\\(a\\)\\*", "(a)*" },
        { "((a)|b)c", "bc" },
        { "x(a(b|c)d)y", "xacdy" },
        { "(x)|(y)", "y" },
        { "^$", "" },
        { "a\\tb", "a\tb" },
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct error_rule rule = { .match = rows[i].match, .type = "found" };
        struct language l = { .diagnosis = { .errors = &rule, .n_errors = 1 } };
        struct diagnose_input in = { .language = &l, .text = rows[i].line };
        struct diagnosis *d;
        char text[32];

        in.len = (size_t)snprintf(text, sizeof(text), "%s\n", rows[i].line);
        in.text = text;
        d = diagnose(&in);
        if (!d)
            fail_msg("'%s' should match '%s'", rows[i].match, rows[i].line);
        diagnosis_free(d);
    }
}

static void rules_that_cannot_work_are_told(void **state)
{
    static const struct {
        const char *match;
        int group;
        bool right;
    } rows[] = {
        { "^(a)$", 1, true },
        { "^(a)$", 2, false },
        { "^(a$", 0, false },
        { "^a$", -1, false },
        { "a\\nb", 0, true },
        { "(\\n\\n\\n\\n\\n\\n\\n)", 1, true },
        { "\\n\\n\\n\\n\\n\\n\\n\\n", 0, false },
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct error_rule error = { .match = rows[i].match, .type = "x", .line = rows[i].group };
        struct frame_rule frame = { .match = rows[i].match, .column = rows[i].group };
        struct diagnosis_rules errors = { .errors = &error, .n_errors = 1 };
        struct diagnosis_rules frames = { .frames = &frame, .n_frames = 1 };
        sbr_error err = { 0 };

        assert_int_equal(pattern_check_rules(&errors, &err) == 0, rows[i].right);
        assert_int_equal(pattern_check_rules(&frames, &err) == 0, rows[i].right);
    }
}

static void the_rules_of_every_language_work(void **state)
{
    (void)state;
    for (const struct language *const *l = language_table; *l; l++) {
        const struct diagnosis_rules *rules = &(*l)->diagnosis;
        sbr_error err = { 0 };

        if (pattern_check_rules(rules, &err) != 0)
            fail_msg("%s: %s", (*l)->name, err.message);
        assert_true(rules->n_errors >= 10);
        assert_non_null(rules->link);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_line_itself_is_the_message_when_the_rule_has_none),
        cmocka_unit_test(nothing_known_is_no_diagnosis),
        cmocka_unit_test(in_a_trace_the_last_error_counts_and_in_a_compilers_words_the_first),
        cmocka_unit_test(the_place_is_the_innermost_of_the_users_files),
        cmocka_unit_test(frames_of_another_error_are_not_its_own),
        cmocka_unit_test(a_compilers_words_on_an_error_end_at_an_empty_line),
        cmocka_unit_test(a_line_may_tell_the_place_itself),
        cmocka_unit_test(a_pattern_may_see_several_lines),
        cmocka_unit_test(a_marker_below_the_source_tells_the_column),
        cmocka_unit_test(the_nearest_word_of_the_source_is_suggested),
        cmocka_unit_test(lines_of_a_harness_are_ours_and_those_in_it_are_counted_anew),
        cmocka_unit_test(how_it_ended_counts_when_no_line_tells_more),
        cmocka_unit_test(the_top_of_a_very_long_trace_is_still_found),
        cmocka_unit_test(hostile_output_is_slow_to_nobody),
        cmocka_unit_test(what_a_stranger_wrote_stays_text),
        cmocka_unit_test(a_message_that_is_too_long_is_cut_between_characters),
        cmocka_unit_test(numbers_that_are_none_are_no_lines),
        cmocka_unit_test(no_shape_of_a_pattern_hides_a_match),
        cmocka_unit_test(rules_that_cannot_work_are_told),
        cmocka_unit_test(the_rules_of_every_language_work),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
