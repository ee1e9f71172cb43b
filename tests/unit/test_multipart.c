/* Bodies of multipart/form-data. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/err.h"
#include "dialect/multipart.h"

#define TYPE "multipart/form-data; boundary=XX"
#define HEAD "--XX\r\nContent-Disposition: form-data; name=\"file\"; filename=\"a b\"\r\n\r\n"

static void reads_parts(void **state)
{
    static const char body[] = HEAD "one\r\n--\r\n" HEAD "\0\r\n--XX--\r\n";
    struct multipart_part parts[2];

    (void)state;
    assert_int_equal(multipart_read(TYPE, body, sizeof(body) - 1, parts, 2), 2);
    assert_string_equal(parts[0].name, "file");
    assert_string_equal(parts[0].file_name, "a b");
    assert_int_equal(parts[0].len, strlen("one\r\n--"));
    assert_int_equal(parts[1].len, 1);
    assert_int_equal(multipart_read(TYPE, body, sizeof(body) - 1, parts, 1), -1);
}

static void refuses_the_rest(void **state)
{
    static const struct {
        const char *type, *body;
    } wrong[] = {
        { "text/plain", HEAD "x\r\n--XX--" },
        { "multipart/form-data", HEAD "x\r\n--XX--" },
        { TYPE, "" },
        { TYPE, HEAD "x" },
        { TYPE, HEAD "x\r\n" },
        { TYPE, HEAD "--XX--" },
        { TYPE, "--XX\r\n\r\nx\r\n--XX--" },
        { TYPE, "--XX\r\nContent-Disposition: form-data; name=\"\r\n\r\nx\r\n--XX--" },
        { TYPE, "--XX" },
    };
    struct multipart_part parts[2];

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(wrong); i++)
        if (multipart_read(wrong[i].type, wrong[i].body, strlen(wrong[i].body), parts, 2) != -1)
            fail_msg("case %zu", i);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(reads_parts),
                                        cmocka_unit_test(refuses_the_rest) };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
