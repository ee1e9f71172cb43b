#include "base/encoding.h"

#include <stdlib.h>

#include "unit.h"

static void base64_is_that_of_the_standard(void **state)
{
    static const struct {
        const char *bytes, *text;
    } rows[] = {
        { "", "" },
        { "f", "Zg==" },
        { "fo", "Zm8=" },
        { "foo", "Zm9v" },
        { "foob", "Zm9vYg==" },
        { "fooba", "Zm9vYmE=" },
        { "foobar", "Zm9vYmFy" },
        { "\xff\xfe\xfd", "//79" },
        { "\xfb\xef\xbe", "++++" },
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        char *text = encoding_to_base64(rows[i].bytes, strlen(rows[i].bytes)), *bytes;
        size_t len;

        assert_string_equal(text, rows[i].text);
        assert_int_equal(encoding_from_base64(text, &bytes, &len), 0);
        assert_int_equal(len, strlen(rows[i].bytes));
        assert_string_equal(bytes, rows[i].bytes);
        free(text);
        free(bytes);
    }
}

static void every_byte_survives_base64_at_every_place(void **state)
{
    unsigned char bytes[256 + 2];

    (void)state;
    for (size_t i = 0; i < sizeof(bytes); i++)
        bytes[i] = (unsigned char)(i * 7);
    for (size_t start = 0; start < 3; start++) {
        for (size_t len = 250; len <= 255; len++) {
            char *text = encoding_to_base64(bytes + start, len), *back;
            size_t back_len;

            assert_int_equal(encoding_from_base64(text, &back, &back_len), 0);
            assert_int_equal(back_len, len);
            assert_memory_equal(back, bytes + start, len);
            free(text);
            free(back);
        }
    }
}

static void malformed_base64_is_refused(void **state)
{
    static const char *const bad[] = {
        "Z",    "Zg",   "Zg=",     "Zm9",      "=",        "==",    "====",
        "Z===", "=Zg=", "Zg=g",    "Zg==Zg==", "Zm9v\n",   " Zm9v", "Zm9v ",
        "Zm 9", "Zm-_", "Zm9\x80", "Zm8==",    "Zm9v====", "Zh==",  "Zm9=",
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        char *bytes = NULL;
        size_t len;

        if (encoding_from_base64(bad[i], &bytes, &len) == 0)
            fail_msg("'%s' is not base64", bad[i]);
        assert_null(bytes);
    }
}

static void random_ids_are_hexadecimal_and_differ(void **state)
{
    char a[ENCODING_ID_SIZE], b[ENCODING_ID_SIZE];

    (void)state;
    assert_int_equal(encoding_random_id(a), 0);
    assert_int_equal(encoding_random_id(b), 0);
    assert_int_equal(strlen(a), ENCODING_ID_SIZE - 1);
    assert_int_equal(strspn(a, "0123456789abcdef"), ENCODING_ID_SIZE - 1);
    assert_string_not_equal(a, b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(base64_is_that_of_the_standard),
        cmocka_unit_test(every_byte_survives_base64_at_every_place),
        cmocka_unit_test(malformed_base64_is_refused),
        cmocka_unit_test(random_ids_are_hexadecimal_and_differ),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
