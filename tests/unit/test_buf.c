#include "base/buf.h"

#include <stdlib.h>

#include "unit.h"

static void an_empty_buffer_gives_an_empty_text(void **state)
{
    struct buf b;
    size_t len = 1;
    char *text;

    (void)state;
    buf_init(&b, 10);
    text = buf_take(&b, &len);
    assert_string_equal(text, "");
    assert_int_equal(len, 0);
    free(text);
    buf_done(&b);
}

static void what_is_added_stands_there_with_a_nul_behind_it(void **state)
{
    struct buf b;

    (void)state;
    buf_init(&b, 100);
    assert_int_equal(buf_add_text(&b, "one "), 0);
    assert_int_equal(buf_add(&b, "t\0o", 3), 0);
    assert_int_equal(buf_printf(&b, " %d%s", 3, "!"), 0);
    assert_int_equal(b.len, 10);
    assert_memory_equal(b.data, "one t\0o 3!", 11);
    buf_done(&b);
    assert_null(b.data);
}

static void a_buffer_takes_exactly_its_maximum(void **state)
{
    struct buf b;

    (void)state;
    buf_init(&b, 4);
    assert_int_equal(buf_add(&b, "abcd", 4), 0);
    assert_int_equal(buf_add(&b, "", 0), 0);
    assert_int_equal(buf_add(&b, "e", 1), -1);
    assert_true(b.failed);
    buf_done(&b);

    buf_init(&b, 0);
    assert_int_equal(buf_add(&b, "", 0), 0);
    assert_int_equal(buf_printf(&b, "x"), -1);
    buf_done(&b);
}

static void a_failure_is_remembered(void **state)
{
    struct buf b;

    (void)state;
    buf_init(&b, 4);
    assert_int_equal(buf_add(&b, "ab", 2), 0);
    assert_int_equal(buf_add(&b, "cdef", 4), -1);
    assert_int_equal(buf_add(&b, "c", 1), -1);
    assert_int_equal(buf_put_u32(&b, 1), -1);
    assert_null(buf_take(&b, NULL));
    assert_false(b.failed);
    assert_int_equal(buf_add(&b, "c", 1), 0);
    buf_done(&b);
}

static void a_buffer_grows_by_single_bytes_without_losing_any(void **state)
{
    struct buf b;

    (void)state;
    buf_init(&b, 5000);
    for (int i = 0; i < 5000; i++) {
        char byte = (char)i;

        assert_int_equal(buf_add(&b, &byte, 1), 0);
    }
    for (int i = 0; i < 5000; i++)
        assert_int_equal(b.data[i], (char)i);
    assert_true(b.capacity <= 5001);
    buf_done(&b);
}

static void a_taken_buffer_is_empty_and_usable(void **state)
{
    struct buf b;
    size_t len;
    char *first, *second;

    (void)state;
    buf_init(&b, 10);
    buf_add_text(&b, "first");
    first = buf_take(&b, &len);
    buf_add_text(&b, "second");
    second = buf_take(&b, NULL);
    assert_string_equal(first, "first");
    assert_int_equal(len, 5);
    assert_string_equal(second, "second");
    free(first);
    free(second);
}

/* One of each kind of field. */
static void put_all(struct buf *b)
{
    buf_init(b, 1000);
    buf_put_u32(b, 0xdeadbeef);
    buf_put_u64(b, UINT64_MAX - 1);
    buf_put_bytes(b, "\0\1\2", 3);
    buf_put_bytes(b, NULL, 0);
    buf_put_string(b, "text");
    buf_put_string(b, NULL);
    buf_put_string(b, "");
    buf_put_u32(b, 2);
    buf_put_u32(b, 7);
    assert_false(b->failed);
}

static void get_all(struct buf_reader *r, bool check)
{
    const char *bytes, *text, *none, *empty;
    size_t len, nothing;
    uint32_t number = buf_reader_u32(r), count;
    uint64_t big = buf_reader_u64(r);

    bytes = buf_reader_bytes(r, &len);
    buf_reader_bytes(r, &nothing);
    text = buf_reader_string(r);
    none = buf_reader_string(r);
    empty = buf_reader_string(r);
    count = buf_reader_count(r);
    buf_reader_u32(r);
    if (!check)
        return;
    assert_int_equal(number, 0xdeadbeef);
    assert_true(big == UINT64_MAX - 1);
    assert_int_equal(len, 3);
    assert_memory_equal(bytes, "\0\1\2", 3);
    assert_int_equal(nothing, 0);
    assert_string_equal(text, "text");
    assert_null(none);
    assert_string_equal(empty, "");
    assert_int_equal(count, 2);
}

static void what_was_put_is_read_back(void **state)
{
    struct buf b;
    struct buf_reader r;

    (void)state;
    put_all(&b);
    r = (struct buf_reader){ .data = b.data, .len = b.len };
    get_all(&r, true);
    assert_false(r.failed);
    assert_int_equal(r.pos, b.len);
    buf_done(&b);
}

static void every_truncation_fails_and_reads_nothing_past_it(void **state)
{
    struct buf b;

    (void)state;
    put_all(&b);
    for (size_t len = 0; len < b.len; len++) {
        char *exact = malloc(len + (len == 0)); /* a sanitizer sees one byte too many */
        struct buf_reader r = { .data = exact, .len = len };

        assert_non_null(exact);
        memcpy(exact, b.data, len);
        get_all(&r, false);
        assert_true(r.failed);
        assert_true(r.pos <= len);
        free(exact);
    }
    buf_done(&b);
}

static void a_failed_reader_reads_zeros(void **state)
{
    struct buf_reader r = { .data = "abc", .len = 3 };
    size_t len = 9;

    (void)state;
    assert_int_equal(buf_reader_u32(&r), 0);
    assert_true(r.failed);
    assert_int_equal(buf_reader_u64(&r), 0);
    assert_null(buf_reader_bytes(&r, &len));
    assert_int_equal(len, 0);
    assert_null(buf_reader_string(&r));
    assert_int_equal(buf_reader_count(&r), 0);
    assert_int_equal(r.pos, 0);
}

static void a_string_ends_in_its_only_nul(void **state)
{
    static const struct {
        uint32_t len;
        const char *bytes;
    } rows[] = { { 0, "" }, { 3, "abc" }, { 3, "a\0" }, { 4, "a\0b" }, { 2, "\0" } };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct buf b;
        struct buf_reader r;

        buf_init(&b, 100);
        buf_put_bytes(&b, rows[i].bytes, rows[i].len);
        r = (struct buf_reader){ .data = b.data, .len = b.len };
        assert_null(buf_reader_string(&r));
        assert_true(r.failed);
        buf_done(&b);
    }
}

static void a_count_cannot_exceed_the_bytes_that_are_left(void **state)
{
    struct buf b;
    struct buf_reader r;

    (void)state;
    buf_init(&b, 100);
    buf_put_u32(&b, 5);
    buf_add(&b, "abcd", 4);
    r = (struct buf_reader){ .data = b.data, .len = b.len };
    assert_int_equal(buf_reader_count(&r), 0);
    assert_true(r.failed);
    buf_done(&b);
}

static void the_room_of_the_maximum_keeps_what_is_there(void **state)
{
    struct buf b;

    (void)state;
    buf_init(&b, 64 << 20);
    buf_reserve_all(&b);
    assert_int_equal(buf_add_text(&b, "one"), 0);
    buf_trim(&b);
    assert_int_equal(b.capacity, 4);
    buf_reserve_all(&b);
    assert_int_equal(b.capacity, (64 << 20) + 1);
    assert_int_equal(buf_add_text(&b, " two"), 0);
    assert_string_equal(b.data, "one two");
    buf_done(&b);
    buf_trim(&b);
    assert_null(b.data);
}

static void a_room_that_cannot_be_had_changes_nothing(void **state)
{
    struct buf b;

    (void)state;
    buf_init(&b, SIZE_MAX / 2);
    buf_add_text(&b, "one");
    buf_reserve_all(&b);
    assert_false(b.failed);
    assert_int_equal(buf_add_text(&b, " two"), 0);
    assert_string_equal(b.data, "one two");
    buf_done(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_empty_buffer_gives_an_empty_text),
        cmocka_unit_test(what_is_added_stands_there_with_a_nul_behind_it),
        cmocka_unit_test(a_buffer_takes_exactly_its_maximum),
        cmocka_unit_test(a_failure_is_remembered),
        cmocka_unit_test(a_buffer_grows_by_single_bytes_without_losing_any),
        cmocka_unit_test(a_taken_buffer_is_empty_and_usable),
        cmocka_unit_test(what_was_put_is_read_back),
        cmocka_unit_test(every_truncation_fails_and_reads_nothing_past_it),
        cmocka_unit_test(a_failed_reader_reads_zeros),
        cmocka_unit_test(a_string_ends_in_its_only_nul),
        cmocka_unit_test(the_room_of_the_maximum_keeps_what_is_there),
        cmocka_unit_test(a_room_that_cannot_be_had_changes_nothing),
        cmocka_unit_test(a_count_cannot_exceed_the_bytes_that_are_left),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
