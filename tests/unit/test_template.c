#include "plan/template.h"

#include <stdlib.h>

#include "unit.h"

/* A template with at most four values; the output is compared and given back. */
struct setup {
    const char *text;
    const char *code;
    const char *literal;
    struct template_value values[4];
    size_t n_values;
};

#define VALUE(name, text)                                                                          \
    {                                                                                              \
        name, text, sizeof(text) - 1                                                               \
    }

static struct template_input input_of(const struct setup *s)
{
    return (struct template_input){
        .name = "t.py",
        .text = s->text,
        .len = strlen(s->text),
        .code = s->code ? s->code : "CODE",
        .code_len = strlen(s->code ? s->code : "CODE"),
        .values = s->values,
        .n_values = s->n_values,
        .value_word = "--set",
        .literal = s->literal,
    };
}

static struct template_place assert_expands(struct setup s, const char *expected)
{
    struct template_input in = input_of(&s);
    struct template_place place = { 0 };
    sbr_error err = { 0 };
    struct buf out;

    buf_init(&out, 100000);
    if (template_expand(&in, &out, &place, &err) < 0)
        fail_msg("'%s': %s", s.text, err.message);
    assert_string_equal(out.data ? out.data : "", expected);
    buf_done(&out);
    return place;
}

static void assert_fails(struct setup s, const char *message)
{
    struct template_input in = input_of(&s);
    struct template_place place = { 7, 7 };
    sbr_error err = { 0 };
    struct buf out;
    int r;

    buf_init(&out, 1000);
    buf_add_text(&out, "before");
    r = template_expand(&in, &out, &place, &err);
    assert_refused(r, &err, SBR_E_INVALID, message);
    assert_string_equal(out.data, "before");
    assert_int_equal(out.len, 6);
    assert_int_equal(place.code_line, 7);
    buf_done(&out);
}

static void the_code_stands_in_its_place_as_it_is(void **state)
{
    (void)state;
    assert_expands((struct setup){ .text = "{{code}}" }, "CODE");
    assert_expands((struct setup){ .text = "a\n{{code}}\nb\n" }, "a\nCODE\nb\n");
    assert_expands((struct setup){ .text = "f({{ code }});" }, "f(CODE);");
    assert_expands((struct setup){ .text = "<{{code}}>", .code = "" }, "<>");
    assert_expands((struct setup){ .text = "{{code}}", .code = "{{x}} {{{{ }}\n" },
                   "{{x}} {{{{ }}\n");
}

static void values_stand_as_literals_or_as_they_are(void **state)
{
    (void)state;
    assert_expands((struct setup){ .text = "{{code}} {{a}} {{a:raw}} {{ b-2:raw }}",
                                   .literal = "python",
                                   .values = { VALUE("a", "x\"\n"), VALUE("b-2", "{{a}}") },
                                   .n_values = 2 },
                   "CODE \"x\\\"\\x0a\" x\"\n {{a}}");
}

static void four_braces_are_two(void **state)
{
    (void)state;
    assert_expands((struct setup){ .text = "{{{{code}} {{code}} }} {{{{{{{{ { {" },
                   "{{code}} CODE }} {{{{ { {");
    assert_expands((struct setup){ .text = "{{{{{{code}}}}" }, "{{CODE}}");
}

static void the_place_counts_the_lines_of_the_output(void **state)
{
    struct template_place place = assert_expands((struct setup){ .text = "{{v}}\n\n{{code}}\n",
                                                                 .code = "1\n2\n3",
                                                                 .literal = "shell",
                                                                 .values = { VALUE("v", "a\nb") },
                                                                 .n_values = 1 },
                                                 "'a\nb'\n\n1\n2\n3\n");

    (void)state;
    assert_int_equal(place.code_line, 4);
    assert_int_equal(place.code_lines, 3);
    place = assert_expands((struct setup){ .text = "p; {{code}}", .code = "1\n" }, "p; 1\n");
    assert_int_equal(place.code_line, 1);
    assert_int_equal(place.code_lines, 1);
    place = assert_expands((struct setup){ .text = "{{code}}", .code = "" }, "");
    assert_int_equal(place.code_line, 1);
    assert_int_equal(place.code_lines, 0);
}

static void blanks_before_the_code_stand_before_each_of_its_lines(void **state)
{
    struct template_place place =
        assert_expands((struct setup){ .text = "def f():\n \t{{code}}\n  end",
                                       .code = "a\n\n  b\r\n\r\nc\n" },
                       "def f():\n \ta\n\n \t  b\r\n\r\n \tc\n\n  end");

    (void)state;
    assert_int_equal(place.code_line, 2);
    assert_int_equal(place.code_lines, 5);
    assert_expands((struct setup){ .text = "  {{code}}", .code = "a\nb" }, "  a\n  b");
    assert_expands((struct setup){ .text = "x  {{code}}", .code = "a\nb" }, "x  a\nb");
}

static void a_fault_of_the_template_has_its_line(void **state)
{
    (void)state;
    assert_fails((struct setup){ .text = "" }, "t.py: has no {{code}}");
    assert_fails((struct setup){ .text = "{{{{code}}" }, "t.py: has no {{code}}");
    assert_fails((struct setup){ .text = "\n{{code}}\n\n{{code}}" },
                 "t.py:4: {{code}} a second time; the first is in line 2");
    assert_fails((struct setup){ .text = "\n{{code" }, "t.py:2: '{{' without '}}'");
    assert_fails((struct setup){ .text = "{{co\nde}}" }, "t.py:1: '{{' without '}}'");
    assert_fails((struct setup){ .text = "{{" }, "t.py:1: '{{' without '}}'");
    assert_fails((struct setup){ .text = "{{}}" }, "t.py:1: '{{' without a name");
    assert_fails((struct setup){ .text = "{{{code}}}" }, "t.py:1: '{{' without a name");
    assert_fails((struct setup){ .text = "{{#if a}}" }, "t.py:1: '{{' without a name");
    assert_fails((struct setup){ .text = "{{a b}}" }, "t.py:1: '{{' without a name");
    assert_fails((struct setup){ .text = "{{a:row}}" }, "t.py:1: '{{' without a name");
    assert_fails((struct setup){ .text = "\n\n{{a}}" },
                 "t.py:3: 'a' is not set: add --set a=VALUE");
}

static void a_name_too_long_is_refused(void **state)
{
    char text[200];

    (void)state;
    memset(text, 'a', sizeof(text));
    memcpy(text, "{{", 2);
    memcpy(text + 67, "}}", 3);
    assert_fails((struct setup){ .text = text }, "t.py:1: '{{' without a name");
    memset(text + 67, 'a', 100);
    memcpy(text + 167, "}}", 3);
    assert_fails((struct setup){ .text = text }, "t.py:1: '{{' with a name that is too long");
}

static void a_fault_of_the_values_is_named(void **state)
{
    (void)state;
    assert_fails((struct setup){ .text = "{{code}}{{expected}}",
                                 .values = { VALUE("expcted", "1") },
                                 .n_values = 1 },
                 "t.py:1: 'expected' is not set, but 'expcted' is: did you mean 'expected'?");
    assert_fails((struct setup){ .text = "{{code}}",
                                 .values = { VALUE("spare", "1") },
                                 .n_values = 1 },
                 "'spare' is set, but t.py has no {{spare}}");
    assert_fails((struct setup){ .text = "{{code}}{{a:raw}}",
                                 .values = { VALUE("a", "1"), VALUE("a", "2") },
                                 .n_values = 2 },
                 "'a' is set twice");
    assert_fails((struct setup){ .text = "{{code}}",
                                 .values = { VALUE("code", "1") },
                                 .n_values = 1 },
                 "'code' cannot be set");
    assert_fails((struct setup){ .text = "{{code}}",
                                 .values = { VALUE("1a", "1") },
                                 .n_values = 1 },
                 "'1a' cannot be set");
}

static void what_a_language_cannot_write_is_refused(void **state)
{
    struct setup s = { .text = "{{code}}\n{{a}}", .literal = "python", .n_values = 1 };
    struct template_input in;
    struct template_place place;
    struct buf out;
    sbr_error err;

    (void)state;
    s.values[0] = (struct template_value)VALUE("a", "\xff");
    assert_fails(s, "t.py:2: the value of 'a' is not UTF-8");
    s.literal = "shell";
    s.values[0] = (struct template_value)VALUE("a", "x\0y");
    assert_fails(s, "t.py:2: the value of 'a' has a NUL byte");
    s.literal = NULL;
    in = input_of(&s);
    buf_init(&out, 100);
    assert_refused(template_expand(&in, &out, &place, &err), &err, SBR_E_UNSUPPORTED,
                   "use {{a:raw}}");
    buf_done(&out);
}

static void a_program_that_grows_too_large_is_refused(void **state)
{
    struct setup s = { .text = "0123456789{{code}}" };
    struct template_input in;
    struct template_place place;
    struct buf out;
    sbr_error err;

    (void)state;
    in = input_of(&s);
    buf_init(&out, 12);
    assert_refused(template_expand(&in, &out, &place, &err), &err, SBR_E_INVALID,
                   "larger than 12 bytes");
    buf_done(&out);
}

static void literals_have_the_form_of_their_language(void **state)
{
    /* Read back by the real languages in tests/blackbox/test_templates.py. */
    static const char value[] = "a'\"\\\n\x7f?$#@\xc3\xa9\xf0\x9f\x98\x80";
    static const struct {
        const char *style, *literal;
    } rows[] = {
        { "c", "\"a'\\\"\\\\\\012\\177\\?$#@\\303\\251\\360\\237\\230\\200\"" },
        { "go", "\"a'\\\"\\\\\\x0a\\x7f?$#@\\xc3\\xa9\\xf0\\x9f\\x98\\x80\"" },
        { "java", "\"a'\\\"\\\\\\012\\177?$#@\\u00e9\\ud83d\\ude00\"" },
        { "json", "\"a'\\\"\\\\\\u000a\\u007f?$#@\\u00e9\\ud83d\\ude00\"" },
        { "lua", "\"a'\\\"\\\\\\010\\127?$#@\\195\\169\\240\\159\\152\\128\"" },
        { "perl", "\"a'\\\"\\\\\\x0a\\x7f?\\$#\\@\xc3\xa9\xf0\x9f\x98\x80\"" },
        { "php", "\"a'\\\"\\\\\\x0a\\x7f?\\$#@\\xc3\\xa9\\xf0\\x9f\\x98\\x80\"" },
        { "postgres", "E'a''\"\\\\\\x0a\\x7f?$#@\\u00e9\\U0001f600'" },
        { "python", "\"a'\\\"\\\\\\x0a\\x7f?$#@\\u00e9\\U0001f600\"" },
        { "r", "\"a'\\\"\\\\\\012\\177?$#@\\303\\251\\360\\237\\230\\200\"" },
        { "ruby", "\"a'\\\"\\\\\\x0a\\x7f?$\\#@\\xc3\\xa9\\xf0\\x9f\\x98\\x80\"" },
        { "rust", "\"a'\\\"\\\\\\x0a\\x7f?$#@\\u{e9}\\u{1f600}\"" },
        { "shell", "'a'\\''\"\\\n\x7f?$#@\xc3\xa9\xf0\x9f\x98\x80'" },
        { "sql", "CAST(X'6127225c0a7f3f242340c3a9f09f9880' AS TEXT)" },
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        const struct literal_style *style = template_literal_style_find(rows[i].style);
        struct buf out;

        assert_non_null(style);
        buf_init(&out, 1000);
        template_literal_put(&out, style, value, sizeof(value) - 1);
        assert_string_equal(out.data, rows[i].literal);
        buf_done(&out);
    }
    assert_null(template_literal_style_find("cobol"));
}

static void a_simple_text_of_sql_is_quoted(void **state)
{
    (void)state;
    assert_expands((struct setup){ .text = "{{code}}{{a}}",
                                   .literal = "sql",
                                   .values = { VALUE("a", "it's \\\xc3\xa9") },
                                   .n_values = 1 },
                   "CODE'it''s \\\xc3\xa9'");
}

static void a_long_text_is_written_in_pieces_of_whole_characters(void **state)
{
    const struct literal_style *style = template_literal_style_find("r");
    char value[701];
    struct buf out;

    (void)state;
    memset(value, 'x', sizeof(value));
    memcpy(value + 499, "\xc3\xa9", 2);
    buf_init(&out, 10000);
    template_literal_put(&out, style, value, sizeof(value));
    assert_memory_equal(out.data, "paste0(\n\"xx", 11);
    assert_non_null(strstr(out.data, "x\",\n\"\\303\\251x"));
    assert_string_equal(out.data + out.len - 3, "x\")");
    buf_done(&out);
}

static void every_shipped_template_has_its_places(void **state)
{
    static const char *const marks[] = { "{{function:raw}}", "{{inputs:raw}}", "{{expected" };
    size_t n = 0;

    (void)state;
    for (const struct template *t = template_table; t->language; t++, n++) {
        const char *query = strstr(t->text, "{{query:raw}}");

        assert_ptr_equal(template_find(t->language, t->name), t->text);
        for (size_t i = query ? 2 : 0; i < ARRAY_LEN(marks); i++)
            assert_non_null(strstr(t->text, marks[i]));
        /* Errors in the code have the lines that the code has without the harness. */
        assert_non_null(memmem(t->text, strcspn(t->text, "\n"), "{{code}}", 8));
    }
    assert_true(n >= 17);
    assert_null(template_find("python", "nosuch"));
    assert_null(template_find("nosuch", "call"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_code_stands_in_its_place_as_it_is),
        cmocka_unit_test(values_stand_as_literals_or_as_they_are),
        cmocka_unit_test(four_braces_are_two),
        cmocka_unit_test(the_place_counts_the_lines_of_the_output),
        cmocka_unit_test(blanks_before_the_code_stand_before_each_of_its_lines),
        cmocka_unit_test(a_fault_of_the_template_has_its_line),
        cmocka_unit_test(a_name_too_long_is_refused),
        cmocka_unit_test(a_fault_of_the_values_is_named),
        cmocka_unit_test(what_a_language_cannot_write_is_refused),
        cmocka_unit_test(a_program_that_grows_too_large_is_refused),
        cmocka_unit_test(literals_have_the_form_of_their_language),
        cmocka_unit_test(a_simple_text_of_sql_is_quoted),
        cmocka_unit_test(a_long_text_is_written_in_pieces_of_whole_characters),
        cmocka_unit_test(every_shipped_template_has_its_places),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
