#include "base/json_text.h"

#include <string.h>

#include "unit.h"

static const struct json_bounds small = { .bytes = 80, .values = 8, .depth = 3 };

static void what_fits_is_copied_without_blanks(void **state)
{
    static const struct {
        const char *text, *line;
        size_t values;
    } rows[] = {
        { "{}", "{}", 2 },
        { " { \"a b\" :\n [ 1 , -2.5e+3 ] } ", "{\"a b\":[1,-2.5e+3]}", 4 },
        { "[true,false,null,0]", "[true,false,null,0]", 5 },
        { "[\"\\\"\\\\\\/\\b\\f\\n\\r\\t\\u00e4\\ud83d\\ude00\\u0000\"]",
          "[\"\\\"\\\\\\/\\b\\f\\n\\r\\t\\u00e4\\ud83d\\ude00\\u0000\"]", 2 },
        { "\"\xc3\xa4\xf0\x9f\x98\x80\"", "\"\xc3\xa4\xf0\x9f\x98\x80\"", 1 },
        { "-123456789012345678", "-123456789012345678", 1 },
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        size_t values = 0;
        struct buf out;

        buf_init(&out, 100);
        buf_add_text(&out, "<");
        assert_int_equal(json_text_add(&out, rows[i].text, strlen(rows[i].text), &small, &values),
                         JSON_TEXT_FITS);
        assert_string_equal(out.data + 1, rows[i].line);
        assert_int_equal(values, rows[i].values);
        buf_done(&out);
    }
}

static void what_does_not_fit_leaves_nothing(void **state)
{
    static const struct {
        const char *text;
        enum json_text_found found;
    } rows[] = {
        { "[1,2,3,4,5,6,7,8]", JSON_TEXT_TOO_MUCH },
        { "[{},{},{},{},{}]", JSON_TEXT_TOO_MUCH },
        { "[[[[1]]]]", JSON_TEXT_TOO_MUCH },
        { "[1e999]", JSON_TEXT_TOO_MUCH },
        { "1234567890123456789", JSON_TEXT_TOO_MUCH },
        { "\"0123456789012345678901234567890123456789012345678901234567890123456789012345678\"",
          JSON_TEXT_TOO_MUCH },
        { "\"this is longer than the buffer\"", JSON_TEXT_TOO_MUCH },
        { "", JSON_TEXT_WRONG },
        { " ", JSON_TEXT_WRONG },
        { "{", JSON_TEXT_WRONG },
        { "[1,]", JSON_TEXT_WRONG },
        { "{\"a\":1,}", JSON_TEXT_WRONG },
        { "{\"a\"}", JSON_TEXT_WRONG },
        { "{1:2}", JSON_TEXT_WRONG },
        { "[1 2]", JSON_TEXT_WRONG },
        { "[1}", JSON_TEXT_WRONG },
        { "{}{}", JSON_TEXT_WRONG },
        { "]", JSON_TEXT_WRONG },
        { "1,2", JSON_TEXT_WRONG },
        { "[01]", JSON_TEXT_WRONG },
        { "[1.]", JSON_TEXT_WRONG },
        { "[-]", JSON_TEXT_WRONG },
        { "[1e]", JSON_TEXT_WRONG },
        { "[nul]", JSON_TEXT_WRONG },
        { "\"\\x\"", JSON_TEXT_WRONG },
        { "\"\\u12\"", JSON_TEXT_WRONG },
        { "\"\\ud800\"", JSON_TEXT_WRONG },
        { "\"\\ude00\"", JSON_TEXT_WRONG },
        { "\"\n\"", JSON_TEXT_WRONG },
        { "\"\xff\"", JSON_TEXT_WRONG },
        { "\"\xc3", JSON_TEXT_WRONG },
        { "\"open", JSON_TEXT_WRONG },
        { "{\"\\u0000\":1}", JSON_TEXT_WRONG },
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        size_t values = 77;
        struct buf out;

        buf_init(&out, 24);
        buf_add_text(&out, "<");
        assert_int_equal(json_text_add(&out, rows[i].text, strlen(rows[i].text), &small, &values),
                         rows[i].found);
        assert_string_equal(out.data, "<");
        assert_false(out.failed);
        assert_int_equal(values, 77);
        buf_done(&out);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_fits_is_copied_without_blanks),
        cmocka_unit_test(what_does_not_fit_leaves_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
