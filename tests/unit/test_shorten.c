#include "cli/shorten.h"

#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "unit.h"

static uint64_t count(const char *data, size_t len)
{
    return shorten_count((struct shorten_text){ data, len });
}

static void characters_are_counted(void **state)
{
    (void)state;
    assert_int_equal(count("", 0), 0);
    assert_int_equal(count("a\303\274\342\202\254\360\237\230\200", 10), 4);
    assert_int_equal(count("a\377\303", 3), 3);
}

/* Whatever is cut: never more characters than asked for, and what is left out is said exactly. */
static void what_is_left_is_never_longer(void **state)
{
    struct buf text, out;

    (void)state;
    buf_init(&text, 100000);
    buf_init(&out, 100000);
    for (int i = 0; i < 500; i++)
        buf_printf(&text, "{\"line\":%d,\"text\":\"\303\274\303\274\"}%s", i, i % 7 ? "\n" : "");
    for (uint64_t most = SHORTEN_LEAST; most < 3000; most += 13) {
        for (int lines = 0; lines < 2; lines++) {
            const char *number;
            uint64_t kept, left_out;

            out.len = 0;
            assert_int_equal(shorten_text((struct shorten_text){ text.data, text.len }, most, lines,
                                          "0123456789abcdef0123456789abcdef", &out),
                             0);
            kept = count(out.data, out.len);
            assert_true(kept <= most);
            number = strstr(out.data, lines ? "left_out_characters\":" : "... ");
            left_out = strtoull(number + (lines ? 21 : 4), NULL, 10);
            number = strstr(out.data, lines ? "{\"left_out" : "\n... ");
            kept -= strcspn(number + 1, "\n") + 2;
            assert_int_equal(kept + left_out, count(text.data, text.len));
        }
    }
    buf_done(&text);
    buf_done(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(characters_are_counted),
        cmocka_unit_test(what_is_left_is_never_longer),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
