/* What git prints of a repository, whose author chose names and contents. */
#include "lib/git_repo.h"

#include "unit.h"

#define ID "0123456789abcdef0123456789abcdef01234567"
#define OUTPUT(text)                                                                               \
    {                                                                                              \
        .data = (text), .len = sizeof(text) - 1                                                    \
    }

static void changes_are_read_until_one_is_wrong(void **state)
{
    struct git_output output =
        OUTPUT(":100755 100644 " ID " " ID " M\0a b\0:000000 100644 " ID " " ID " A\0new\0"
               ":160000 160000 " ID " " ID " M\0sub\0:100644 100644 -- " ID " M\0x\0");
    struct git_change change;

    (void)state;
    assert_true(git_output_change(&output, &change));
    assert_string_equal(change.path, "a b");
    assert_true(change.is_file && change.executable && change.object_len == 40);
    assert_true(git_output_change(&output, &change) && change.only_working);
    assert_true(git_output_change(&output, &change) && !change.is_file && !change.only_working);
    assert_false(git_output_change(&output, &change)); /* `--` would be an option */
}

static void contents_end_where_their_size_says(void **state)
{
    struct git_output output = OUTPUT(ID " blob 3\na\nb\n" ID " blob 0\n\n" ID " missing\n");
    const char *data = NULL;
    size_t len = 0;

    (void)state;
    assert_true(git_output_blob(&output, &data, &len) && len == 3);
    assert_memory_equal(data, "a\nb", 3);
    assert_true(git_output_blob(&output, &data, &len) && len == 0);
    assert_false(git_output_blob(&output, &data, &len));
}

static void contents_that_are_cut_off_are_none(void **state)
{
    static const struct git_output rows[] = {
        OUTPUT(""),
        OUTPUT(ID " blob 4\nabc\n"),
        OUTPUT(ID " blob 3\nabcd\n"),
        OUTPUT(ID " blob -1\nabc\n"),
        OUTPUT(ID " blob 18446744073709551615\nabc\n"),
        OUTPUT(ID " tree 3\nabc\n"),
        OUTPUT(ID " blob 3"),
    };
    const char *data;
    size_t len;

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct git_output output = rows[i];

        assert_false(git_output_blob(&output, &data, &len));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(changes_are_read_until_one_is_wrong),
        cmocka_unit_test(contents_end_where_their_size_says),
        cmocka_unit_test(contents_that_are_cut_off_are_none),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
