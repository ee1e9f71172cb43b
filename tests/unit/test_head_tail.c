#include "monitor/capture.h"

#include <stdlib.h>

#include "unit.h"

#define UMLAUT "\xc3\xbc"
#define EURO "\xe2\x82\xac"
#define FACE "\xf0\x9f\x98\x80"

/* Every second part without a copy, where the head has room for it and more. */
static void add(struct head_tail *both, size_t i, const char *text, size_t len)
{
    char *room = i % 2 ? head_tail_room(both, len + 1) : NULL;

    if (!room) {
        head_tail_add(both, text, len);
        return;
    }
    memset(room, 'x', len + 1);
    memcpy(room, text, len);
    head_tail_added(both, len);
}

/* Adds `text` in parts of `step` bytes to a beginning and an end of four bytes each. */
static struct output kept(const char *text, size_t step, bool goes_on)
{
    size_t len = strlen(text);
    struct output ret = { 0 };
    struct head_tail both;

    head_tail_init(&both, 4, 4);
    for (size_t i = 0; i < len; i += step)
        add(&both, i / step, text + i, len - i < step ? len - i : step);
    head_tail_take(&both, goes_on, &ret);
    return ret;
}

static void assert_kept(const char *text, const char *head, const char *tail)
{
    for (size_t step = 1; step <= strlen(text) + 1; step++) {
        struct output out = kept(text, step, false);

        assert_string_equal(out.data, head);
        assert_int_equal(out.len, strlen(head));
        if (tail)
            assert_string_equal(out.tail, tail);
        else
            assert_null(out.tail);
        assert_int_equal(out.tail_len, tail ? strlen(tail) : 0);
        free(out.data);
        free(out.tail);
    }
}

static void what_fits_is_in_one_piece(void **state)
{
    (void)state;
    assert_kept("", "", NULL);
    assert_kept("1", "1", NULL);
    assert_kept("1234", "1234", NULL);
    assert_kept("12345", "12345", NULL);
    assert_kept("1234567", "1234567", NULL);
    assert_kept("12345678", "12345678", NULL);
}

static void of_more_the_beginning_and_the_end_are_there(void **state)
{
    (void)state;
    assert_kept("123456789", "1234", "6789");
    assert_kept("1234567890ab", "1234", "90ab");
    assert_kept("1234567890abcdefghijk", "1234", "hijk");
}

static void a_cut_is_between_two_characters(void **state)
{
    (void)state;
    assert_kept("123" UMLAUT "56789", "123", "6789");
    assert_kept("12" UMLAUT "56789", "12" UMLAUT, "6789");
    assert_kept("12" EURO "56789", "12", "6789");
    assert_kept("1" FACE "56789", "1", "6789");
    assert_kept("12345678" UMLAUT "cde", "1234", "cde");
    assert_kept("12345678" EURO "de", "1234", "de");
    assert_kept("12345678" FACE "e", "1234", "e");
    assert_kept("12345678" FACE, "1234", FACE);
}

static void bytes_that_are_no_characters_are_bytes(void **state)
{
    (void)state;
    assert_kept("\xff\xfe\xfd\xbf"
                "5678\xff",
                "\xff\xfe\xfd\xbf", "678\xff");
}

static void the_end_may_be_a_cut_as_well(void **state)
{
    struct output out = kept("123" EURO, 2, true);

    (void)state;
    assert_string_equal(out.data, "123" EURO);
    free(out.data);
    out = kept("123\xe2\x82", 2, true);
    assert_string_equal(out.data, "123");
    assert_int_equal(out.len, 3);
    assert_null(out.tail);
    free(out.data);
}

static void there_is_no_room_for_more_than_is_kept(void **state)
{
    struct output out = { 0 };
    struct head_tail both;

    (void)state;
    head_tail_init(&both, 4, 4);
    assert_null(head_tail_room(&both, 9));
    assert_non_null(head_tail_room(&both, 8)); /* forgotten */
    head_tail_add(&both, "12", 2);
    assert_null(head_tail_room(&both, 7));
    assert_non_null(head_tail_room(&both, 6));
    head_tail_take(&both, false, &out);
    assert_string_equal(out.data, "12");
    assert_null(out.tail);
    free(out.data);
}

/* The buffer refuses to grow once `fits` bytes are there; the rest comes in parts of `step`. */
static struct output kept_without_memory(const char *text, size_t fits, size_t step)
{
    size_t len = strlen(text);
    struct output ret = { 0 };
    struct head_tail both;

    head_tail_init(&both, 4, 4);
    head_tail_add(&both, text, fits);
    both.kept.failed = true;
    for (size_t i = fits; i < len; i += step)
        add(&both, i / step, text + i, len - i < step ? len - i : step);
    assert_int_equal(both.total, len);
    head_tail_take(&both, false, &ret);
    return ret;
}

static void without_memory_both_ends_share_what_there_is(void **state)
{
    static const struct {
        size_t fits;
        const char *head, *tail;
    } cases[] = { { 0, "", "" },      { 1, "1", "" },      { 2, "1", "i" },     { 3, "12", "i" },
                  { 5, "123", "hi" }, { 6, "123", "ghi" }, { 7, "1234", "ghi" } };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        for (size_t step = 1; step < 12; step++) {
            struct output out = kept_without_memory("123456789abcdefghi", cases[i].fits, step);

            assert_string_equal(out.data, cases[i].head);
            assert_string_equal(out.tail, cases[i].tail);
            free(out.data);
            free(out.tail);
        }
}

static void only_the_end_can_be_kept(void **state)
{
    struct output out = { 0 };
    struct head_tail both;

    (void)state;
    head_tail_init(&both, 0, 4);
    head_tail_take_tail(&both, &out);
    assert_int_equal(out.tail_len, 0);
    free(out.tail);
    head_tail_init(&both, 0, 4);
    head_tail_add(&both, "123456", 6);
    head_tail_add(&both, "7", 1);
    head_tail_take_tail(&both, &out);
    assert_string_equal(out.tail, "4567");
    free(out.tail);
}

/* Long enough that the room for all of it is taken at once. */
static void a_long_stream_is_kept_whole(void **state)
{
    const size_t part = 1 << 20, parts = 20;
    struct output out = { 0 };
    struct head_tail both;

    (void)state;
    head_tail_init(&both, 32 << 20, 32 << 20);
    for (size_t i = 0; i < parts; i++) {
        char *room = head_tail_room(&both, part);

        assert_non_null(room);
        memset(room, 'a' + (int)i, part);
        head_tail_added(&both, part);
    }
    head_tail_take(&both, false, &out);
    assert_int_equal(out.len, parts * part);
    assert_null(out.tail);
    for (size_t i = 0; i < out.len; i += 4096)
        assert_int_equal(out.data[i], 'a' + (char)(i / part));
    assert_int_equal(out.data[out.len], '\0');
    free(out.data);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_long_stream_is_kept_whole),
        cmocka_unit_test(what_fits_is_in_one_piece),
        cmocka_unit_test(of_more_the_beginning_and_the_end_are_there),
        cmocka_unit_test(a_cut_is_between_two_characters),
        cmocka_unit_test(bytes_that_are_no_characters_are_bytes),
        cmocka_unit_test(the_end_may_be_a_cut_as_well),
        cmocka_unit_test(there_is_no_room_for_more_than_is_kept),
        cmocka_unit_test(without_memory_both_ends_share_what_there_is),
        cmocka_unit_test(only_the_end_can_be_kept),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
