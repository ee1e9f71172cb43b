#include "base/fields.h"

#include "unit.h"

static void fields_are_read_as_they_were_written(void **state)
{
    struct field field;
    const char *at;
    struct buf out;

    (void)state;
    buf_init(&out, 100);
    assert_int_equal(fields_add(&out, 'p', "", "/v1"), 0);
    assert_int_equal(fields_add(&out, 'h', "Accept", ""), 0);
    at = out.data;
    assert_true(fields_next(&at, out.data + out.len, &field));
    assert_int_equal(field.kind, 'p');
    assert_string_equal(field.name, "");
    assert_string_equal(field.value, "/v1");
    assert_true(fields_next(&at, out.data + out.len, &field));
    assert_string_equal(field.name, "Accept");
    assert_string_equal(field.value, "");
    assert_false(fields_next(&at, out.data + out.len, &field));
    assert_ptr_equal(at, out.data + out.len);
    buf_done(&out);
}

static void what_ends_too_early_is_no_field(void **state)
{
    static const char whole[] = "hname\0value";
    struct field field;

    (void)state;
    for (size_t len = 0; len < sizeof(whole); len++) {
        const char *at = whole;

        assert_false(fields_next(&at, whole + len, &field));
        assert_ptr_equal(at, whole);
    }
}

static void fields_above_the_bound_are_not_written_whole(void **state)
{
    struct buf out;

    (void)state;
    buf_init(&out, 10);
    assert_int_equal(fields_add(&out, 'h', "name", "value"), -1);
    assert_true(out.failed);
    buf_done(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fields_are_read_as_they_were_written),
        cmocka_unit_test(what_ends_too_early_is_no_field),
        cmocka_unit_test(fields_above_the_bound_are_not_written_whole),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
