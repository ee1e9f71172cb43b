#include "base/jsonw.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "unit.h"

static struct jsonw j;

/* What was written since jsonw_init. */
static void assert_written(const char *expected)
{
    char *text = jsonw_take(&j);

    assert_string_equal(text, expected);
    free(text);
}

static void values_stand_in_objects_and_arrays_with_commas_between(void **state)
{
    static const char *const names[] = { "x", "y" };

    (void)state;
    jsonw_init(&j, false);
    jsonw_open(&j, NULL, '{');
    jsonw_text(&j, "a", "b");
    jsonw_number(&j, "n", UINT64_MAX);
    jsonw_bool(&j, "t", true);
    jsonw_bool(&j, "f", false);
    jsonw_null(&j, "z");
    jsonw_text(&j, "none", NULL);
    jsonw_open(&j, "o", '{');
    jsonw_close(&j, '}');
    jsonw_names(&j, "l", names, 2);
    jsonw_names(&j, "e", names, 0);
    jsonw_open(&j, "aa", '[');
    for (int i = 0; i < 2; i++) {
        jsonw_open(&j, NULL, '[');
        jsonw_number(&j, NULL, 0);
        jsonw_close(&j, ']');
    }
    jsonw_close(&j, ']');
    jsonw_close(&j, '}');
    assert_written("{\"a\":\"b\",\"n\":18446744073709551615,\"t\":true,\"f\":false,\"z\":null,"
                   "\"none\":null,\"o\":{},\"l\":[\"x\",\"y\"],\"e\":[],\"aa\":[[0],[0]]}");
}

static void the_pretty_form_has_a_line_for_each_value(void **state)
{
    (void)state;
    jsonw_init(&j, true);
    jsonw_open(&j, NULL, '{');
    jsonw_open(&j, "a", '[');
    jsonw_number(&j, NULL, 1);
    jsonw_number(&j, NULL, 2);
    jsonw_close(&j, ']');
    jsonw_open(&j, "e", '{');
    jsonw_close(&j, '}');
    jsonw_close(&j, '}');
    assert_written("{\n  \"a\": [\n    1,\n    2\n  ],\n  \"e\": {}\n}");
}

static void text_is_escaped_where_json_wants_it(void **state)
{
    (void)state;
    jsonw_init(&j, false);
    jsonw_bytes(&j, NULL, "\"\\/\n\r\t\0\x1f\x7f\xc3\xbc", 11);
    assert_written("\"\\\"\\\\/\\n\\r\\t\\u0000\\u001f\\u007f\xc3\xbc\"");
    jsonw_init(&j, false);
    jsonw_bytes(&j, NULL, "", 0);
    assert_written("\"\"");
}

/* Each byte at each place of a text that is longer than what is looked at in one piece. */
static void long_text_is_escaped_as_short_text_is(void **state)
{
    char text[200], expected[1300], form[8];

    (void)state;
    for (int c = 0; c < 256; c++) {
        jsonw_init(&j, false);
        jsonw_bytes(&j, NULL, &(char){ (char)c }, 1);
        snprintf(form, sizeof(form), "%.*s", (int)j.out.len - 2, j.out.data + 1);
        free(jsonw_take(&j));
        for (size_t at = 0; at < sizeof(text); at++) {
            char *end = expected;

            memset(text, 'x', sizeof(text));
            text[at] = text[sizeof(text) - 1 - at] = (char)c;
            for (size_t i = 0; i < sizeof(text); i++)
                end = stpcpy(end, text[i] == 'x' ? "x" : form);
            assert_int_equal(jsonw_escaped_len(text, sizeof(text)), strlen(expected));
            assert_true(jsonw_is_usual(text, sizeof(text)) == (c < 128 && strlen(form) < 6));
            jsonw_init(&j, false);
            jsonw_bytes(&j, NULL, text, sizeof(text));
            assert_int_equal(j.out.len, strlen(expected) + 2);
            assert_memory_equal(j.out.data + 1, expected, strlen(expected));
            free(jsonw_take(&j));
        }
    }
}

/* Texts of every length up to some blocks, which are all escapes: the room is for the worst case. */
static void text_of_nothing_but_escapes_has_room(void **state)
{
    char text[300];

    (void)state;
    memset(text, 1, sizeof(text));
    for (size_t len = 0; len <= sizeof(text); len++) {
        char *exact = malloc(len + 1); /* a sanitizer sees what is read behind it */

        memcpy(exact, text, len);
        jsonw_init(&j, false);
        jsonw_bytes(&j, NULL, exact, len);
        assert_int_equal(j.out.len, 6 * len + 2);
        for (size_t i = 0; i < len; i++)
            assert_memory_equal(j.out.data + 1 + 6 * i, "\\u0001", 6);
        assert_int_equal(jsonw_escaped_len(exact, len), 6 * len);
        assert_true(jsonw_is_usual(exact, len) == (len == 0));
        free(jsonw_take(&j));
        free(exact);
    }
}

/* What a sink got. */
struct got {
    struct buf text;
    size_t parts, longest;
};

static void take_part(void *context, const char *text, size_t len)
{
    struct got *got = context;

    assert_int_equal(buf_add(&got->text, text, len), 0);
    got->parts++;
    got->longest = len > got->longest ? len : got->longest;
}

static void put_much(struct jsonw *to, const char *text, size_t len)
{
    jsonw_open(to, NULL, '{');
    jsonw_bytes(to, "much", text, len);
    jsonw_number(to, "n", 1);
    jsonw_close(to, '}');
}

static void a_sink_gets_the_same_text_in_short_parts(void **state)
{
    enum { LEN = 300000 };
    struct got got = { .parts = 0 };
    char *text = malloc(LEN), *whole;
    size_t len;

    (void)state;
    for (size_t i = 0; i < LEN; i++)
        text[i] = (char)(i % 97 ? 'a' + i % 26 : (char)(i / 97 % 128));
    buf_init(&got.text, SIZE_MAX / 2);
    jsonw_init_sink(&j, false, take_part, &got);
    put_much(&j, text, LEN);
    len = jsonw_len(&j);
    assert_int_equal(jsonw_end_sink(&j), 0);
    jsonw_init(&j, false);
    put_much(&j, text, LEN);
    whole = jsonw_take(&j);
    assert_int_equal(len, strlen(whole));
    assert_string_equal(got.text.data, whole);
    assert_true(got.parts > 2 && got.longest < LEN / 2);
    buf_done(&got.text);
    free(whole);
    free(text);
}

static void a_sink_is_told_of_a_failure(void **state)
{
    struct got got = { .parts = 0 };

    (void)state;
    jsonw_init_sink(&j, false, take_part, &got);
    j.out.max = 4;
    jsonw_text(&j, NULL, "too long for it");
    assert_int_equal(jsonw_end_sink(&j), -1);
    assert_int_equal(got.parts, 0);
}

static void keys_are_escaped_too(void **state)
{
    (void)state;
    jsonw_init(&j, false);
    jsonw_open(&j, NULL, '{');
    jsonw_null(&j, "a\"b");
    jsonw_close(&j, '}');
    assert_written("{\"a\\\"b\":null}");
}

static void fractions_are_exact_and_short(void **state)
{
    static const struct {
        uint64_t value;
        unsigned int decimals;
        const char *text;
    } rows[] = {
        { 1500, 3, "1.5" }, { 1000, 3, "1" },           { 0, 3, "0" },
        { 1, 3, "0.001" },  { 10, 3, "0.01" },          { 12345, 6, "0.012345" },
        { 7, 0, "7" },      { 1000001, 6, "1.000001" }, { UINT64_MAX, 1, "1844674407370955161.5" },
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        jsonw_init(&j, false);
        jsonw_fixed(&j, NULL, rows[i].value, rows[i].decimals);
        assert_written(rows[i].text);
    }
}

static void a_failed_writer_gives_nothing(void **state)
{
    (void)state;
    jsonw_init(&j, false);
    j.out.max = 4;
    jsonw_text(&j, NULL, "too long for it");
    assert_null(jsonw_take(&j));
}

/* As the standard has it, one byte at a time. */
static size_t escape_slowly(const char *text, size_t len, char *out)
{
    static const char letters[] = "btnvfr";
    size_t n = 0;

    for (size_t i = 0; i < len; i++) {
        unsigned char c = (unsigned char)text[i];

        if (c == '"' || c == '\\')
            n += (size_t)sprintf(out + n, "\\%c", c);
        else if (c >= '\b' && c <= '\r' && c != '\v')
            n += (size_t)sprintf(out + n, "\\%c", letters[c - '\b']);
        else if (c < ' ' || c == 127)
            n += (size_t)sprintf(out + n, "\\u%04x", c);
        else
            out[n++] = (char)c;
    }
    return n;
}

/* Chunks of the fast way end at any place. */
static void every_byte_is_escaped_at_every_place(void **state)
{
    enum { MOST = 50 };
    char text[MOST], wanted[6 * MOST + 3];

    (void)state;
    for (unsigned int c = 0; c < 256; c++)
        for (size_t at = 0; at < MOST; at++) {
            char *made;
            size_t n;

            memset(text, 'a', sizeof(text));
            text[at] = text[MOST - 1] = (char)c;
            wanted[0] = '"';
            n = escape_slowly(text + at % 17, MOST - at % 17, wanted + 1);
            assert_int_equal(jsonw_escaped_len(text + at % 17, MOST - at % 17), n);
            memcpy(wanted + 1 + n, "\"", 2);
            jsonw_init(&j, false);
            jsonw_bytes(&j, NULL, text + at % 17, MOST - at % 17);
            made = jsonw_take(&j);
            assert_string_equal(made, wanted);
            free(made);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_stand_in_objects_and_arrays_with_commas_between),
        cmocka_unit_test(the_pretty_form_has_a_line_for_each_value),
        cmocka_unit_test(text_is_escaped_where_json_wants_it),
        cmocka_unit_test(long_text_is_escaped_as_short_text_is),
        cmocka_unit_test(text_of_nothing_but_escapes_has_room),
        cmocka_unit_test(a_sink_gets_the_same_text_in_short_parts),
        cmocka_unit_test(a_sink_is_told_of_a_failure),
        cmocka_unit_test(keys_are_escaped_too),
        cmocka_unit_test(fractions_are_exact_and_short),
        cmocka_unit_test(a_failed_writer_gives_nothing),
        cmocka_unit_test(every_byte_is_escaped_at_every_place),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
