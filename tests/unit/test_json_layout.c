#include "cli/json_layout.h"

#include <stdio.h>
#include <string.h>

#include "unit.h"

static enum json_layout layout_of(const char *text, char *ret, size_t size)
{
    struct buf out;
    enum json_layout r;

    buf_init(&out, size);
    r = json_layout(text, strlen(text), false, &out);
    snprintf(ret, size, "%.*s", (int)out.len, out.data ? out.data : "");
    buf_done(&out);
    return r;
}

static void a_whole_document_is_laid_out(void **state)
{
    static const struct {
        const char *text, *laid_out;
    } rows[] = {
        { "{}", "{}" },
        { " [ ]\r\n", "[]" },
        { "{\"a\":1,\"b\":[true,null,-1.50e3]}",
          "{\n  \"a\": 1,\n  \"b\": [\n    true,\n    null,\n    -1.50e3\n  ]\n}" },
        { "[{},\"\\\"]\"]", "[\n  {},\n  \"\\\"]\"\n]" },
    };
    char text[400];

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        assert_int_equal(layout_of(rows[i].text, text, sizeof(text)), JSON_LAYOUT_WHOLE);
        assert_string_equal(text, rows[i].laid_out);
    }
}

static void what_may_become_one_is_told_from_what_cannot(void **state)
{
    static const char *const begun[] = { "", " ", "[", "{\"a\"", "{\"a", "[tr", "[1,", "{\"a\":" };
    static const char *const none[] = { "1", "x",   "[1/3]",     "{a}",    "[1]2",  "[}",
                                        "]", "[,]", "{\"a\" 1}", "[truer", "[1,]x", "{\"a\n\"" };

    (void)state;
    for (size_t i = 0; i < sizeof(begun) / sizeof(*begun); i++)
        assert_int_equal(json_layout(begun[i], strlen(begun[i]), false, NULL), JSON_LAYOUT_BEGUN);
    for (size_t i = 0; i < sizeof(none) / sizeof(*none); i++)
        assert_int_equal(json_layout(none[i], strlen(none[i]), false, NULL), JSON_LAYOUT_NONE);
}

static void what_is_too_deep_is_none(void **state)
{
    char deep[100];

    (void)state;
    memset(deep, '[', sizeof(deep));
    assert_int_equal(json_layout(deep, sizeof(deep), false, NULL), JSON_LAYOUT_NONE);
    assert_int_equal(json_layout(deep, 64, false, NULL), JSON_LAYOUT_BEGUN);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_whole_document_is_laid_out),
        cmocka_unit_test(what_may_become_one_is_told_from_what_cannot),
        cmocka_unit_test(what_is_too_deep_is_none),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
