#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/encoding.h"
#include "secrets/mask.h"
#include "unit.h"

#define VALUE "sk-Zk3v9QpL7xWn2TbR"
#define PUT "sk-Aa1b2CdE3fGh4IjK"

static struct mask mask;

static int prepare_mask(void **state)
{
    (void)state;
    memset(&mask, 0, sizeof(mask));
    assert_int_equal(mask_add_forms(&mask, VALUE, PUT, strlen(VALUE), 3), 0);
    mask_prepare(&mask);
    return 0;
}

static int done(void **state)
{
    (void)state;
    mask_done(&mask);
    return 0;
}

/* Feeds `text` in parts of `size` bytes; what comes out must be as long. */
static char *through(const char *text, size_t size)
{
    size_t len = strlen(text), at = 0, held = 0, n_out = 0;
    char *out = calloc(1, len + 1), *window = calloc(1, len + 1);

    while (at < len || held) {
        size_t n = len - at < size ? len - at : size, kept;

        memcpy(window + held, text + at, n);
        at += n;
        kept = mask_apply(&mask, window, held + n, NULL, NULL);
        if (at == len)
            kept = 0;
        memcpy(out + n_out, window, held + n - kept);
        n_out += held + n - kept;
        memmove(window, window + held + n - kept, kept);
        held = kept;
        if (at == len)
            break;
    }
    assert_int_equal(n_out, len);
    free(window);
    return out;
}

static void assert_masked(const char *text, const char *hidden)
{
    for (size_t size = 1; size <= strlen(text); size++) {
        char *out = through(text, size);

        if (strstr(out, hidden))
            fail_msg("'%s' is still in '%s', in parts of %zu", hidden, out, size);
        free(out);
    }
}

static void a_value_is_replaced_however_it_is_cut(void **state)
{
    char *out = through("<" VALUE "><" VALUE VALUE ">", 5);

    (void)state;
    assert_string_equal(out, "<" PUT "><" PUT PUT ">");
    free(out);
    assert_masked("a " VALUE " b " VALUE, VALUE);
}

static void it_is_found_in_base64_wherever_it_begins(void **state)
{
    (void)state;
    for (size_t before = 0; before < 4; before++)
        for (size_t after = 0; after < 4; after++) {
            char text[100], inner[12];
            char *encoded;

            snprintf(text, sizeof(text), "%.*s%s%.*s", (int)before, "user", VALUE, (int)after,
                     "tail");
            encoded = encoding_to_base64(text, strlen(text));
            /* the digits that the value alone decides, but for its ends */
            memcpy(inner, encoded + 8, 11);
            inner[11] = '\0';
            assert_masked(encoded, inner);
            free(encoded);
        }
}

static void it_is_found_with_escapes_and_in_hexadecimal(void **state)
{
    static const char value[] = "p/w\"d+9xA7kQ2m", put[] = "q/v\"c+1yB8jR3n";

    (void)state;
    mask_done(&mask);
    memset(&mask, 0, sizeof(mask));
    assert_int_equal(mask_add_forms(&mask, value, put, strlen(value), 0), 0);
    mask_prepare(&mask);
    assert_masked("x=p%2Fw%22d%2B9xA7kQ2m&y", "9xA7kQ2m");
    assert_masked("x=p%2fw%22d%2b9xA7kQ2m&y", "9xA7kQ2m");
    assert_masked("{\"x\": \"p/w\\\"d+9xA7kQ2m\"}", "9xA7kQ2m");
    assert_masked("{\"x\": \"p\\/w\\\"d+9xA7kQ2m\"}", "9xA7kQ2m");
    assert_masked("702f7722642b3978413 702f7722642b397841376b51326d", "397841376b51326d");
    assert_masked("%70%2F%77%22%64%2B%39%78%41%37%6B%51%32%6D", "%39%78%41%37");
}

static void other_bytes_stay(void **state)
{
    static const char text[] = "sk-Zk3v9QpL7xWn2Tb! sk-Aa1b2CdE3fGh4IjK \x01\xff sk-";

    (void)state;
    for (size_t size = 1; size < sizeof(text); size++) {
        char *out = through(text, size);

        assert_string_equal(out, text);
        free(out);
    }
}

static unsigned int seen;

static void tell(void *context, unsigned int which)
{
    (void)context;
    seen += which;
}

static void a_text_without_another_is_only_told_of(void **state)
{
    char text[] = "xx " PUT " xx " PUT;

    (void)state;
    mask_done(&mask);
    memset(&mask, 0, sizeof(mask));
    assert_int_equal(mask_add(&mask, PUT, NULL, strlen(PUT), 3), 0);
    assert_int_equal(mask_add(&mask, "abc", NULL, 3, 100), 0); /* too short to be looked for */
    mask_prepare(&mask);
    seen = 0;
    assert_int_equal(mask_apply(&mask, text, strlen(text), tell, NULL), 0);
    assert_int_equal(seen, 6);
    assert_string_equal(text, "xx " PUT " xx " PUT);
}

static void many_texts_are_all_found(void **state)
{
    char text[64 * 20 + 1] = "", one[32];

    (void)state;
    mask_done(&mask);
    memset(&mask, 0, sizeof(mask));
    for (unsigned int i = 0; i < 64; i++) {
        snprintf(one, sizeof(one), "%c%u-secret-%u", (char)('a' + i % 26), i, i * 7919);
        assert_int_equal(mask_add(&mask, one, "xxxxxxxxxxxxxxxxxxxxxxxxx", strlen(one), i), 0);
        strcat(text, one);
    }
    mask_prepare(&mask);
    assert_masked(text, "secret");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_value_is_replaced_however_it_is_cut, prepare_mask, done),
        cmocka_unit_test_setup_teardown(it_is_found_in_base64_wherever_it_begins, prepare_mask,
                                        done),
        cmocka_unit_test_setup_teardown(it_is_found_with_escapes_and_in_hexadecimal, prepare_mask,
                                        done),
        cmocka_unit_test_setup_teardown(other_bytes_stay, prepare_mask, done),
        cmocka_unit_test_setup_teardown(a_text_without_another_is_only_told_of, prepare_mask, done),
        cmocka_unit_test_setup_teardown(many_texts_are_all_found, prepare_mask, done),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
