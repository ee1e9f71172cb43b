/* Pages at a terminal: no sign of Markdown is left, and no line is wider than it. */
#include "cli/present.h"

#include <string.h>

#include "unit.h"

static void check(const char *page, size_t width, const char *shown)
{
    struct buf out;

    buf_init(&out, 1 << 20);
    render_page(page, width, false, &out);
    assert_string_equal(out.data ? out.data : "", shown);
    buf_done(&out);
}

static void paragraphs_are_filled(void **state)
{
    (void)state;
    check("# A heading\n\none two three four five six seven eight nine ten\neleven\n", 40,
          "A heading\n\none two three four five six seven eight\nnine ten eleven\n");
    check("- **bold** and `code`, of a [page](page.md#there), long enough\n- next\n", 40,
          "- bold and code, of a page, long enough\n- next\n");
    check("- one two three four five six seven eight nine\n  ten\n", 40,
          "- one two three four five six seven\n  eight nine ten\n");
    check("![what is seen](a.svg)\n", 40, "what is seen\n");
}

static void code_stays_as_it_is(void **state)
{
    (void)state;
    check("```text a\n$ echo **x** `y`   [z](w)\n\n| a |\n```\nend\n", 40,
          "    $ echo **x** `y`   [z](w)\n\n    | a |\nend\n");
    check("```\nnever closed", 40, "    never closed\n");
}

static void tables_fit(void **state)
{
    (void)state;
    check("| a | b |\n|---|---|\n| `x` | one \\| two |\n", 40,
          "a  b\n-  ---------\nx  one | two\n");
    check("| name | what |\n|---|---|\n| x | one two three four five six seven eight nine |\n", 40,
          "name  what\n----  ----------------------------------\n"
          "x     one two three four five six seven\n      eight nine\n");
}

static void colours_switch_off_again(void **state)
{
    struct buf out;

    (void)state;
    buf_init(&out, 1 << 20);
    render_page("a `b` **c** d\n", 40, true, &out);
    assert_string_equal(out.data, "a \x1b[0m\x1b[36mb\x1b[0m \x1b[0m\x1b[1mc\x1b[0m d\n");
    buf_done(&out);
}

static void odd_pages_end(void **state)
{
    static const char *const odd[] = { "",    "\n",   "|",     "||||||||||||\n|",
                                       "#",   "# ",   "`",     "**",
                                       "[",   "[a](", "![",    "- ",
                                       "1. ", "```",  "```\n", "   \n\n" };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(odd); i++) {
        struct buf out;

        buf_init(&out, 1 << 20);
        render_page(odd[i], 1, true, &out);
        assert_false(out.failed);
        buf_done(&out);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(paragraphs_are_filled),
        cmocka_unit_test(code_stays_as_it_is),
        cmocka_unit_test(tables_fit),
        cmocka_unit_test(colours_switch_off_again),
        cmocka_unit_test(odd_pages_end),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
