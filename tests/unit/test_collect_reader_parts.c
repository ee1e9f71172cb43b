/* Several parts in one stream, their lists, and files with holes. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "collect_reader_fixture.h"
#include "unit.h"

static const struct collect_list_entry *listed(size_t index, const char *path)
{
    assert_true(index < f.list.n);
    assert_string_equal(collect_list_path(&f.list, index), path);
    return &f.list.items[index];
}

static void a_list_has_everything_in_its_order(void **state)
{
    (void)state;
    want_list();
    put(COLLECT_ENTER, "lib", NULL);
    put(COLLECT_FILE, "file", "text");
    put(COLLECT_ENTER, "deep", NULL);
    put(COLLECT_LINK, "link", "target");
    put(COLLECT_LEAVE, NULL, NULL);
    put(COLLECT_GONE, "gone", NULL);
    put(COLLECT_LEAVE, NULL, NULL);
    put(COLLECT_OTHER, "pipe", NULL);
    put_entry(entry_of(COLLECT_SKIPPED, SKIP_LINK), "skipped");
    put(COLLECT_END, NULL, NULL);
    assert_arrived();
    assert_int_equal(f.list.n, 7);
    assert_int_equal(listed(0, "lib")->kind, COLLECT_ENTER);
    assert_int_equal(listed(1, "lib/file")->size, 4);
    assert_int_equal(listed(2, "lib/deep")->kind, COLLECT_ENTER);
    assert_int_equal(listed(3, "lib/deep/link")->kind, COLLECT_LINK);
    assert_int_equal(listed(4, "lib/gone")->kind, COLLECT_GONE);
    assert_int_equal(listed(5, "pipe")->kind, COLLECT_OTHER);
    assert_int_equal(listed(6, "skipped")->size, SKIP_LINK);
    assert_false(exists("lib/gone") || exists("pipe") || exists("skipped"));
    assert_content("lib/file", "text");
}

static void a_list_keeps_modes_times_and_flags(void **state)
{
    struct collect_entry dir = entry_of(COLLECT_ENTER, 0), file = entry_of(COLLECT_FILE, 0);

    (void)state;
    want_list();
    dir.mode = S_IFDIR | 01777;
    dir.flags = COLLECT_OPAQUE;
    put_entry(dir, "dir");
    file.mode = S_IFREG | 06755;
    file.mtime_ns = 5;
    put_entry(file, "file");
    put_piece(0, NULL);
    put(COLLECT_LEAVE, NULL, NULL);
    put(COLLECT_END, NULL, NULL);
    assert_arrived();
    assert_int_equal(listed(0, "dir")->mode, S_IFDIR | 01777);
    assert_int_equal(listed(0, "dir")->flags, COLLECT_OPAQUE);
    assert_int_equal(listed(1, "dir/file")->mode, S_IFREG | 06755);
    assert_int_equal(listed(1, "dir/file")->mtime_ns, 1000000000000000005);
    assert_int_equal(stat_of("dir").st_mode, S_IFDIR | 0700);
    assert_int_equal(stat_of("dir/file").st_mode, S_IFREG | 0600);
}

static void a_time_beyond_nanoseconds_is_none(void **state)
{
    struct collect_entry file = entry_of(COLLECT_FILE, 0);

    (void)state;
    want_list();
    file.mtime_s = INT64_MAX;
    put_entry(file, "file");
    put_piece(0, NULL);
    put(COLLECT_END, NULL, NULL);
    assert_arrived();
    assert_int_equal(listed(0, "file")->mtime_ns, 0);
}

static void paths_come_back_after_a_directory(void **state)
{
    (void)state;
    want_list();
    for (int i = 0; i < 3; i++) {
        static const char *const names[] = { "a-long-name", "b", "middling" };

        put(COLLECT_ENTER, names[i], NULL);
        put(COLLECT_FILE, "x", NULL);
        put(COLLECT_LEAVE, NULL, NULL);
    }
    put(COLLECT_END, NULL, NULL);
    assert_arrived();
    listed(1, "a-long-name/x");
    listed(3, "b/x");
    listed(5, "middling/x");
}

static void holes_stay_holes(void **state)
{
    struct stat st;

    (void)state;
    want_list();
    f.collect_reader.max_bytes = 8 << 20;
    put_entry(entry_of(COLLECT_FILE, 8 << 20), "sparse");
    put_piece(1 << 20, "one");
    put_piece(4 << 20, "two");
    put_piece(0, NULL);
    put(COLLECT_END, NULL, NULL);
    assert_arrived();
    st = stat_of("sparse");
    assert_int_equal(st.st_size, 8 << 20);
    assert_true(st.st_blocks * 512 < 1 << 20);
    assert_int_equal(f.collect_reader.bytes, 6); /* only these count */
}

static void a_file_that_is_all_hole(void **state)
{
    (void)state;
    want_list();
    put_entry(entry_of(COLLECT_FILE, 5 * MAX_BYTES), "sparse");
    put_piece(0, NULL);
    put(COLLECT_END, NULL, NULL);
    assert_arrived();
    assert_int_equal(stat_of("sparse").st_size, 5 * MAX_BYTES);
}

static void absurd_sizes_are_refused_all_the_same(void **state)
{
    (void)state;
    want_list();
    put_entry(entry_of(COLLECT_FILE, COLLECT_SIZE_PER_BYTE * MAX_BYTES), "all");
    put_piece(0, NULL);
    arrive(AT_ONCE);
    assert_int_equal(f.collect_reader.failure.code, 0);
    put_entry(entry_of(COLLECT_FILE, 1), "more");
    assert_not_taken(SBR_E_DENIED, "what the program left is too large");
    assert_false(exists("more"));
}

static void pieces_neither_overlap_nor_go_back_nor_over_the_end(void **state)
{
    static const struct collect_piece pieces[] = {
        { 2, 4 }, { 0, 1 }, { 8, 3 }, { 11, 1 }, { UINT64_MAX, 4 }, { 4, UINT64_MAX - 3 },
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(pieces); i++) {
        want_list();
        put_entry(entry_of(COLLECT_FILE, 10), "file");
        put_piece(0, "abc");
        buf_add(&f.stream, &pieces[i], sizeof(pieces[i]));
        assert_not_taken(SBR_E_DENIED, "arrived garbled");
        collect_reader_again();
    }
}

static void bytes_are_counted_by_pieces(void **state)
{
    char most[MAX_BYTES + 1];

    (void)state;
    want_list();
    memset(most, 'm', MAX_BYTES);
    most[MAX_BYTES] = '\0';
    put(COLLECT_FILE, "all", most);
    put(COLLECT_FILE, "empty", NULL);
    arrive(AT_ONCE);
    assert_int_equal(f.collect_reader.failure.code, 0);
    put(COLLECT_FILE, "more", "x");
    assert_not_taken(SBR_E_DENIED, "is too large; raise its limit 'disk'");
}

/* A second and a third part below directories beside the first. */
struct parts {
    struct collect_part at[3];
    struct collect_list lists[3];
};

static void parts_init(struct parts *parts)
{
    static const char *const names[] = { "part0", "part1", "part2" };

    *parts = (struct parts){ 0 };
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        assert_int_equal(mkdirat(f.tree_fd, names[i], 0700), 0);
        parts->at[i].dir_fd = openat(f.tree_fd, names[i], O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        parts->at[i].list = &parts->lists[i];
    }
    collect_reader_done(&f.collect_reader);
    collect_reader_init(&f.collect_reader, parts->at, ARRAY_LEN(names), MAX_BYTES, MAX_ENTRIES);
}

static void parts_done(struct parts *parts)
{
    for (size_t i = 0; i < ARRAY_LEN(parts->at); i++) {
        close(parts->at[i].dir_fd);
        collect_list_done(&parts->lists[i]);
    }
}

static void each_part_has_its_directory_and_list(void **state)
{
    struct parts parts;

    (void)state;
    parts_init(&parts);
    for (size_t i = 0; i < ARRAY_LEN(parts.at); i++) {
        put_part(i);
        put(COLLECT_ENTER, "dir", NULL);
        put(COLLECT_FILE, "file", "same name");
        put(COLLECT_LEAVE, NULL, NULL);
    }
    put(COLLECT_END, NULL, NULL);
    arrive(7);
    collect_reader_finish(&f.collect_reader);
    assert_true(f.collect_reader.complete);
    for (size_t i = 0; i < ARRAY_LEN(parts.at); i++) {
        assert_true(parts.at[i].complete);
        assert_int_equal(parts.lists[i].n, 2);
    }
    assert_content("part2/dir/file", "same name");
    parts_done(&parts);
}

static void a_part_that_fails_leaves_the_others_alone(void **state)
{
    struct parts parts;

    (void)state;
    parts_init(&parts);
    put_part(0);
    put(COLLECT_ENTER, "dir", NULL);
    put_entry(entry_of(COLLECT_FAILED, EFBIG), "giant");
    put_part(1);
    put(COLLECT_FILE, "file", "fine");
    put_part(2);
    put_entry(entry_of(COLLECT_FAILED, EDQUOT), "many");
    put(COLLECT_END, NULL, NULL);
    arrive(AT_ONCE);
    collect_reader_finish(&f.collect_reader);
    assert_false(f.collect_reader.complete);
    assert_refused(parts.at[0].failure.code, &parts.at[0].failure, SBR_E_DENIED,
                   "what the program left is too large; raise its limit 'disk'");
    assert_true(parts.at[1].complete);
    assert_int_equal(parts.at[1].failure.code, 0);
    assert_content("part1/file", "fine");
    assert_refused(parts.at[2].failure.code, &parts.at[2].failure, SBR_E_DENIED, "too many files");
    parts_done(&parts);
}

static void after_its_failure_a_part_is_over(void **state)
{
    (void)state;
    want_list();
    put_entry(entry_of(COLLECT_FAILED, EIO), "bad");
    put(COLLECT_FILE, "late", "x");
    arrive(AT_ONCE);
    assert_true(f.collect_reader.broken);
    assert_false(exists("late"));
}

static void parts_that_do_not_come_are_incomplete(void **state)
{
    struct parts parts;

    (void)state;
    parts_init(&parts);
    put_part(1);
    put(COLLECT_FILE, "file", "fine");
    put(COLLECT_END, NULL, NULL);
    arrive(AT_ONCE);
    collect_reader_finish(&f.collect_reader);
    assert_true(parts.at[1].complete);
    assert_refused(parts.at[0].failure.code, &parts.at[0].failure, SBR_E_DENIED,
                   "did not arrive whole");
    assert_refused(parts.at[2].failure.code, &parts.at[2].failure, SBR_E_DENIED,
                   "did not arrive whole");
    assert_int_equal(f.collect_reader.failure.code, 0); /* whoever did not want them */
    parts_done(&parts);
}

static void parts_come_in_their_order_and_once(void **state)
{
    static const uint64_t second[] = { 1, 0, 3, UINT64_MAX };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(second); i++) {
        struct parts parts;

        parts_init(&parts);
        put_part(1);
        put_entry(entry_of(COLLECT_PART, second[i]), NULL);
        arrive(AT_ONCE);
        collect_reader_finish(&f.collect_reader);
        assert_refused(f.collect_reader.failure.code, &f.collect_reader.failure, SBR_E_DENIED,
                       "arrived garbled");
        parts_done(&parts);
        collect_reader_again();
    }
}

static void nothing_comes_before_the_first_part(void **state)
{
    struct parts parts;

    (void)state;
    parts_init(&parts);
    put(COLLECT_FILE, "early", "x");
    arrive(AT_ONCE);
    assert_true(f.collect_reader.broken);
    parts_done(&parts);
}

static void a_part_does_not_begin_inside_a_directory(void **state)
{
    struct parts parts;

    (void)state;
    parts_init(&parts);
    put_part(0);
    put(COLLECT_ENTER, "dir", NULL);
    put_part(1);
    arrive(AT_ONCE);
    assert_true(f.collect_reader.broken);
    assert_false(parts.at[0].complete);
    parts_done(&parts);
}

static void a_large_list_is_made_fast(void **state)
{
    const size_t many = 300000;
    char name[16];

    (void)state;
    want_list();
    f.collect_reader.max_entries = many;
    put(COLLECT_ENTER, "dir", NULL);
    for (size_t i = 1; i < many; i++) {
        snprintf(name, sizeof(name), "%zu", i);
        put(COLLECT_GONE, name, NULL);
        if (f.stream.len > 1 << 20)
            arrive(AT_ONCE);
    }
    put(COLLECT_LEAVE, NULL, NULL);
    put(COLLECT_END, NULL, NULL);
    assert_arrived();
    assert_int_equal(f.list.n, many);
    listed(many - 1, "dir/299999");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        INTAKE_TEST(a_list_has_everything_in_its_order),
        INTAKE_TEST(a_list_keeps_modes_times_and_flags),
        INTAKE_TEST(a_time_beyond_nanoseconds_is_none),
        INTAKE_TEST(paths_come_back_after_a_directory),
        INTAKE_TEST(holes_stay_holes),
        INTAKE_TEST(a_file_that_is_all_hole),
        INTAKE_TEST(absurd_sizes_are_refused_all_the_same),
        INTAKE_TEST(pieces_neither_overlap_nor_go_back_nor_over_the_end),
        INTAKE_TEST(bytes_are_counted_by_pieces),
        INTAKE_TEST(each_part_has_its_directory_and_list),
        INTAKE_TEST(a_part_that_fails_leaves_the_others_alone),
        INTAKE_TEST(after_its_failure_a_part_is_over),
        INTAKE_TEST(parts_that_do_not_come_are_incomplete),
        INTAKE_TEST(parts_come_in_their_order_and_once),
        INTAKE_TEST(nothing_comes_before_the_first_part),
        INTAKE_TEST(a_part_does_not_begin_inside_a_directory),
        INTAKE_TEST(a_large_list_is_made_fast),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
