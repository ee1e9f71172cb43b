#include "mcp/mcp_internal.h"

#include "base/text.h"
#include "unit.h"

static void shows(const char *text, size_t len, const char *expected)
{
    struct buf out;

    buf_init(&out, 1000);
    assert_int_equal(mcp_shape_visibly(text, len, &out), strlen(expected));
    assert_string_equal(out.data, expected);
    buf_done(&out);
}

static void what_a_terminal_obeys_becomes_visible(void **state)
{
    (void)state;
    shows("a\tb\n", 4, "a\tb\n");
    shows("\x1b[2Ja", 5, "\\x1b[2Ja");
    shows("a\r\nb\rc", 6, "a\nb\\x0dc");
    shows("\xff", 1, "\\xff");
    shows("\xf3\xa0\x81\x81", 4, "\\xf3\\xa0\\x81\\x81"); /* a tag: an A that nobody sees */
    shows("\xe2\x80\xae", 3, "\\xe2\\x80\\xae");          /* right to left */
}

static void a_long_stream_has_its_beginning_and_its_end(void **state)
{
    const struct mcp_stream stream = { .head = "0123456789abcdefghij",
                                       .head_len = 20,
                                       .bytes = 20 };
    struct buf out;

    (void)state;
    buf_init(&out, 1000);
    assert_true(mcp_shape_stream(&stream, 9, "ask for it", &out));
    assert_string_equal(out.data, "012\n[... left out here; all that was written: 20 bytes; ask "
                                  "for it ...]\nefghij");
    buf_done(&out);
    buf_init(&out, 1000);
    assert_false(mcp_shape_stream(&stream, 20, "", &out));
    assert_string_equal(out.data, "0123456789abcdefghij");
    buf_done(&out);
}

static void two_parts_keep_the_note_between_them(void **state)
{
    const struct mcp_stream stream = {
        .head = "ab", .tail = "yz", .head_len = 2, .tail_len = 2, .bytes = 26, .omitted = 22
    };
    struct buf out;

    (void)state;
    buf_init(&out, 1000);
    assert_true(mcp_shape_stream(&stream, 1000, "", &out));
    assert_string_equal(out.data,
                        "ab\n[... left out here; all that was written: 26 bytes ...]\nyz");
    buf_done(&out);
}

/* A cut never goes through a character. */
static void a_cut_stands_between_characters(void **state)
{
    const struct mcp_stream stream = { .head = "ääääää", .head_len = 12, .bytes = 12 };
    struct buf out;

    (void)state;
    buf_init(&out, 1000);
    assert_true(mcp_shape_stream(&stream, 3, "", &out));
    assert_true(text_is_utf8(out.data, out.len));
    assert_int_equal(strncmp(out.data, "ä\n[", 4), 0);
    buf_done(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_a_terminal_obeys_becomes_visible),
        cmocka_unit_test(a_long_stream_has_its_beginning_and_its_end),
        cmocka_unit_test(two_parts_keep_the_note_between_them),
        cmocka_unit_test(a_cut_stands_between_characters),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
