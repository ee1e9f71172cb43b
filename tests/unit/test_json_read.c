#include "base/json_read.h"

#include <stdlib.h>
#include <string.h>

#include "unit.h"

static const struct json_bounds small = { .bytes = 64, .values = 8, .depth = 3 };

static void what_is_within_its_bounds_becomes_a_tree(void **state)
{
    static const char *const texts[] = { "{}", "[1,2,3,4,5]", "{\"a\":[{\"b\":1}]}",
                                         "[\"{},{},\\\",{}\"]" };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
        sbr_error err = { 0 };
        json_t *root = json_read(texts[i], strlen(texts[i]), &small, 0, "the text", &err);

        assert_non_null(root);
        json_decref(root);
    }
}

static void each_bound_refuses_with_its_sentence(void **state)
{
    static const struct {
        const char *text, *says;
    } rows[] = {
        { "[1,2,3,4,5,6,7,8]", "the text has more than 8 values" },
        { "[{},{},{},{},{}]", "the text has more than 8 values" },
        { "[[[[1]]]]", "the text is nested more than 3 levels deep" },
        { "\"0123456789012345678901234567890123456789012345678901234567890123456789\"",
          "the text has 72 bytes; at most 64 are read" },
        { "{\"a\":", "the text is not valid JSON: line 1, column 5" },
        { "[\"\\", "the text is not valid JSON" },
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        sbr_error err = { 0 };

        assert_null(json_read(rows[i].text, strlen(rows[i].text), &small, 0, "the text", &err));
        assert_int_equal(err.code, SBR_E_INVALID);
        assert_non_null(strstr(err.message, rows[i].says));
    }
}

static size_t values_in(const json_t *value)
{
    size_t n = 1, i;
    const char *key;
    json_t *one;

    if (json_is_array(value))
        json_array_foreach(value, i, one)
            n += values_in(one);
    else if (json_is_object(value))
        json_object_foreach((json_t *)value, key, one)
            n += values_in(one);
    return n;
}

/* The count is never below that of the tree: no text gets more memory than its bound says. */
static void no_tree_has_more_values_than_were_counted(void **state)
{
    static const char alphabet[] = "{}[],:\"\\1a ";

    (void)state;
    srand(7);
    for (int round = 0; round < 200000; round++) {
        sbr_error err = { 0 };
        char text[17];
        size_t len = 1 + (size_t)(rand() % 16);
        json_t *root;

        for (size_t i = 0; i < len; i++)
            text[i] = alphabet[(size_t)rand() % (sizeof(alphabet) - 1)];
        root = json_read(text, len, &small, JSON_DECODE_ANY, "the text", &err);
        if (root)
            assert_true(values_in(root) <= small.values);
        json_decref(root);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_within_its_bounds_becomes_a_tree),
        cmocka_unit_test(each_bound_refuses_with_its_sentence),
        cmocka_unit_test(no_tree_has_more_values_than_were_counted),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
