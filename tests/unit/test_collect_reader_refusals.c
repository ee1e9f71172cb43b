#include <errno.h>
#include <stdio.h>

#include "collect_reader_fixture.h"
#include "unit.h"

static void a_longer_name_is_refused(void **state)
{
    struct collect_entry entry = entry_of(COLLECT_FILE, 0);

    (void)state;
    entry.name_len = COLLECT_MAX_NAME + 1;
    buf_add(&f.stream, &entry, sizeof(entry));
    assert_not_taken(SBR_E_DENIED, "a name that is too long");
}

static void a_name_of_four_gigabytes_is_refused_at_once(void **state)
{
    struct collect_entry entry = entry_of(COLLECT_END, 0);

    (void)state;
    entry.name_len = UINT32_MAX;
    buf_add(&f.stream, &entry, sizeof(entry));
    put_zeros(500);
    assert_not_taken(SBR_E_DENIED, "a name that is too long");
}

static void a_name_is_one_component(void **state)
{
    static const char *const names[] = {
        "", ".", "..", "/", "a/b", "../b", "/etc/x", "a/", "../tree/x", "./x", "beside/../../beside"
    };
    static const enum collect_kind pools[] = { COLLECT_FILE, COLLECT_ENTER, COLLECT_LINK };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        for (size_t k = 0; k < ARRAY_LEN(pools); k++) {
            put(pools[k], names[i], pools[k] == COLLECT_LINK ? "target" : NULL);
            put(COLLECT_END, NULL, NULL);
            assert_not_taken(SBR_E_DENIED, "a name that is none");
            assert_int_equal(f.collect_reader.depth, 0);
            collect_reader_again();
        }
    }
}

static void a_name_has_no_nul(void **state)
{
    struct collect_entry entry = entry_of(COLLECT_FILE, 0);

    (void)state;
    entry.name_len = 3;
    buf_add(&f.stream, &entry, sizeof(entry));
    buf_add(&f.stream, "a\0b", 3);
    assert_not_taken(SBR_E_DENIED, "a name that is none");
    assert_false(exists("a"));
}

static void a_file_that_is_there_is_not_written_again(void **state)
{
    (void)state;
    put(COLLECT_FILE, "file", "first");
    put(COLLECT_FILE, "file", "second");
    put(COLLECT_END, NULL, NULL);
    arrive(AT_ONCE);
    assert_true(f.collect_reader.failure.code < 0);
    assert_int_equal(f.collect_reader.failure.sys_errno, EEXIST);
    assert_content("file", "first");
}

static void a_link_is_never_written_through(void **state)
{
    (void)state;
    put(COLLECT_LINK, "door", f.beside);
    put(COLLECT_FILE, "door", "gone");
    arrive(AT_ONCE);
    assert_true(f.collect_reader.failure.code < 0);
}

static void a_link_is_never_entered(void **state)
{
    (void)state;
    put(COLLECT_LINK, "door", "..");
    put(COLLECT_ENTER, "door", NULL);
    put(COLLECT_FILE, "beside", "gone");
    arrive(AT_ONCE);
    assert_true(f.collect_reader.failure.code < 0);
    assert_int_equal(f.collect_reader.depth, 0);
}

static void a_directory_is_entered_once(void **state)
{
    (void)state;
    put(COLLECT_ENTER, "dir", NULL);
    put(COLLECT_LEAVE, NULL, NULL);
    put(COLLECT_ENTER, "dir", NULL);
    arrive(AT_ONCE);
    assert_int_equal(f.collect_reader.failure.sys_errno, EEXIST);
}

static void nobody_leaves_the_top(void **state)
{
    (void)state;
    put(COLLECT_LEAVE, NULL, NULL);
    put(COLLECT_FILE, "beside", "gone");
    put(COLLECT_END, NULL, NULL);
    assert_not_taken(SBR_E_DENIED, "leaves its own directory");
    assert_false(exists("beside"));
}

static void nor_after_coming_back(void **state)
{
    (void)state;
    put(COLLECT_ENTER, "dir", NULL);
    put(COLLECT_LEAVE, NULL, NULL);
    put(COLLECT_LEAVE, NULL, NULL);
    assert_not_taken(SBR_E_DENIED, "leaves its own directory");
}

static void but_not_too_deep(void **state)
{
    (void)state;
    for (int i = 0; i <= COLLECT_MAX_DEPTH; i++)
        put(COLLECT_ENTER, "d", NULL);
    assert_not_taken(SBR_E_DENIED, "too many directories in one another");
    assert_int_equal(f.collect_reader.depth, COLLECT_MAX_DEPTH);
}

static void an_end_inside_a_directory_is_none(void **state)
{
    (void)state;
    put(COLLECT_ENTER, "dir", NULL);
    put(COLLECT_END, NULL, NULL);
    assert_not_taken(SBR_E_DENIED, "did not arrive whole");
}

static void a_stream_that_is_cut_is_not_whole(void **state)
{
    size_t whole;

    (void)state;
    put_a_tree();
    whole = f.stream.len;
    intake_tear_down(NULL);
    for (size_t len = 0; len < whole; len++) {
        intake_set_up(NULL);
        put_a_tree();
        f.stream.len = len;
        assert_not_taken(SBR_E_DENIED, "did not arrive whole");
        intake_tear_down(NULL);
    }
    intake_set_up(NULL);
}

static void a_kind_that_is_none_is_refused(void **state)
{
    static const uint32_t pools[] = { 0, COLLECT_FAILED + 1, 255, UINT32_MAX };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(pools); i++) {
        put_entry(entry_of((enum collect_kind)pools[i], 0), "name");
        assert_not_taken(SBR_E_DENIED, "arrived garbled");
        collect_reader_again();
    }
}

static void bytes_are_counted_over_all_files(void **state)
{
    char half[MAX_BYTES / 2 + 1];

    (void)state;
    memset(half, 'h', MAX_BYTES / 2);
    half[MAX_BYTES / 2] = '\0';
    put(COLLECT_FILE, "one", half);
    put(COLLECT_FILE, "two", half);
    arrive(AT_ONCE);
    assert_int_equal(f.collect_reader.failure.code, 0); /* the limit itself */
    put(COLLECT_FILE, "three", "x");
    assert_not_taken(SBR_E_DENIED, "is too large; raise its limit 'disk'");
    assert_false(exists("three"));
}

static void sizes_cannot_overflow(void **state)
{
    (void)state;
    put(COLLECT_FILE, "one", "x");
    put_entry(entry_of(COLLECT_FILE, UINT64_MAX), "two");
    assert_not_taken(SBR_E_DENIED, "is too large");
    assert_false(exists("two"));
}

static void a_sparse_giant_is_refused_by_its_head(void **state)
{
    (void)state;
    put_entry(entry_of(COLLECT_FILE, 1ULL << 40), "giant");
    assert_not_taken(SBR_E_DENIED, "is too large");
    assert_false(exists("giant"));
}

static void entries_are_counted(void **state)
{
    char name[16];

    (void)state;
    for (int i = 0; i < MAX_ENTRIES; i++) {
        snprintf(name, sizeof(name), "file%d", i);
        put(COLLECT_FILE, name, NULL);
    }
    arrive(AT_ONCE);
    assert_int_equal(f.collect_reader.failure.code, 0);
    put(COLLECT_FILE, "one-more", NULL);
    assert_not_taken(SBR_E_DENIED, "too many files; raise its limit 'inodes'");
    assert_false(exists("one-more"));
}

static void links_and_directories_count_too(void **state)
{
    char name[16];

    (void)state;
    for (int i = 0; i <= MAX_ENTRIES; i++) {
        snprintf(name, sizeof(name), "link%d", i);
        put(COLLECT_LINK, name, "x");
    }
    assert_not_taken(SBR_E_DENIED, "too many files");
}

static void a_link_has_a_text(void **state)
{
    (void)state;
    put(COLLECT_LINK, "link", NULL);
    assert_not_taken(SBR_E_DENIED, "has a link that is too long");
}

static void a_link_that_is_too_long_is_refused(void **state)
{
    (void)state;
    put_entry(entry_of(COLLECT_LINK, 4097), "link");
    assert_not_taken(SBR_E_DENIED, "has a link that is too long");
}

static void what_inside_could_not_be_read_is_told(void **state)
{
    (void)state;
    put(COLLECT_FILE, "good", "x");
    put_entry(entry_of(COLLECT_FAILED, EACCES), "locked");
    put(COLLECT_END, NULL, NULL);
    assert_not_taken(SBR_E_DENIED, "cannot collect 'locked'");
    assert_int_equal(f.part.failure.sys_errno, EACCES);
    assert_false(f.collect_reader.complete);
}

static void after_a_failure_nothing_is_written(void **state)
{
    (void)state;
    put(COLLECT_LEAVE, NULL, NULL);
    arrive(AT_ONCE);
    put(COLLECT_FILE, "late", "x");
    put(COLLECT_END, NULL, NULL);
    assert_not_taken(SBR_E_DENIED, "leaves its own directory"); /* the first reason stays */
    assert_false(exists("late"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        INTAKE_TEST(a_longer_name_is_refused),
        INTAKE_TEST(a_name_of_four_gigabytes_is_refused_at_once),
        INTAKE_TEST(a_name_is_one_component),
        INTAKE_TEST(a_name_has_no_nul),
        INTAKE_TEST(a_file_that_is_there_is_not_written_again),
        INTAKE_TEST(a_link_is_never_written_through),
        INTAKE_TEST(a_link_is_never_entered),
        INTAKE_TEST(a_directory_is_entered_once),
        INTAKE_TEST(nobody_leaves_the_top),
        INTAKE_TEST(nor_after_coming_back),
        INTAKE_TEST(but_not_too_deep),
        INTAKE_TEST(an_end_inside_a_directory_is_none),
        INTAKE_TEST(a_stream_that_is_cut_is_not_whole),
        INTAKE_TEST(a_kind_that_is_none_is_refused),
        INTAKE_TEST(bytes_are_counted_over_all_files),
        INTAKE_TEST(sizes_cannot_overflow),
        INTAKE_TEST(a_sparse_giant_is_refused_by_its_head),
        INTAKE_TEST(entries_are_counted),
        INTAKE_TEST(links_and_directories_count_too),
        INTAKE_TEST(a_link_has_a_text),
        INTAKE_TEST(a_link_that_is_too_long_is_refused),
        INTAKE_TEST(what_inside_could_not_be_read_is_told),
        INTAKE_TEST(after_a_failure_nothing_is_written),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
