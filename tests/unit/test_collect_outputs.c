/* What init hands out by a pattern, and what it leaves. */
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "collect_fixture.h"
#include "unit.h"

/* Root is held up by no mode, so the walker is an ordinary user here. */
static void give_away(const char *path, mode_t mode)
{
    if (geteuid() == 0)
        assert_int_equal(fchownat(f.root, path, OTHER_UID, OTHER_UID, AT_SYMLINK_NOFOLLOW), 0);
    assert_int_equal(fchmodat(f.root, path, mode, 0), 0);
}

static void modes_do_not_lock_us_out(void **state)
{
    struct stat st;

    (void)state;
    make_file("work/file", "secret");
    make_dir("work/dir");
    make_file("work/dir/file", "deeper");
    give_away("work/dir/file", 0);
    give_away("work/dir", 0);
    give_away("work/file", 0);
    give_away("work", 0755);
    collects(COLLECTS_OUTPUT, "/work/**");
    f.as_user = true;
    take_out(true);
    assert_whole();
    assert_content("work/file", "secret");
    assert_content("work/dir/file", "deeper");
    assert_int_equal(find("work/dir")->mode, S_IFDIR);
    assert_int_equal(find("work/file")->mode, S_IFREG);
    assert_int_equal(fstatat(f.root, "work/dir", &st, 0), 0);
    assert_int_equal(st.st_mode, S_IFDIR); /* as it was */
}

static void outputs_are_files_that_match(void **state)
{
    (void)state;
    make_file("work/a.txt", "a");
    make_file("work/b.png", "b");
    make_dir("work/sub");
    make_file("work/sub/c.txt", "c");
    make_dir("work/empty");
    collects(COLLECTS_OUTPUT, "/work/*.txt");
    take_out(true);
    assert_whole();
    assert_int_equal(f.lists[0].n, 2);
    assert_kind("work", COLLECT_ENTER);
    assert_content("work/a.txt", "a");
}

static void a_pattern_may_span_directories(void **state)
{
    (void)state;
    make_dir("work/one");
    make_dir("work/one/two");
    make_file("work/one/two/x.txt", "x");
    make_file("work/one/y.txt", "y");
    make_file("work/z.txt", "z");
    make_dir("work/none");
    make_file("work/none/file", "no");
    collects(COLLECTS_OUTPUT, "/work/**/*.txt");
    take_out(true);
    assert_whole();
    assert_content("work/one/two/x.txt", "x");
    assert_content("work/one/y.txt", "y");
    assert_content("work/z.txt", "z");
    assert_null(find("work/none"));
}

static void a_directory_stands_for_what_is_in_it(void **state)
{
    (void)state;
    make_dir("work/dist");
    make_dir("work/dist/js");
    make_file("work/dist/js/app.js", "js");
    make_dir("work/dist/empty");
    collects(COLLECTS_OUTPUT, "/work/dist");
    take_out(true);
    assert_whole();
    assert_content("work/dist/js/app.js", "js");
    assert_null(find("work/dist/empty"));
}

static void nothing_that_matches_is_nothing(void **state)
{
    (void)state;
    collects(COLLECTS_OUTPUT, "/work/none/*.txt");
    collects(COLLECTS_OUTPUT, "/work/none.txt");
    take_out(true);
    assert_whole();
    assert_int_equal(f.lists[0].n + f.lists[1].n, 0);
}

static void what_is_no_file_is_named_and_left(void **state)
{
    (void)state;
    assert_int_equal(symlinkat("/etc/passwd", f.root, "work/link"), 0);
    assert_int_equal(symlinkat("/proc/self/root", f.root, "work/root"), 0);
    assert_int_equal(mkfifoat(f.root, "work/pipe", 0600), 0);
    make_socket("work/socket");
    make_file("work/line\nbreak", "x");
    make_file("work/\033]0;title\007", "x");
    make_file("work/\xc2\x9b", "x");
    make_file("work/\xff\xfe", "bytes");
    make_dir("work/d\n");
    make_file("work/d\n/inside", "x");
    collects(COLLECTS_OUTPUT, "/work/*");
    take_out(true);
    assert_whole();
    assert_skipped("work/link", SKIP_LINK);
    assert_skipped("work/root", SKIP_LINK);
    assert_skipped("work/pipe", SKIP_OTHER);
    assert_skipped("work/socket", SKIP_OTHER);
    assert_skipped("work/line\nbreak", SKIP_NAME);
    assert_skipped("work/\033]0;title\007", SKIP_NAME);
    assert_skipped("work/\xc2\x9b", SKIP_NAME);
    assert_skipped("work/d\n", SKIP_NAME);
    assert_content("work/\xff\xfe", "bytes");
    assert_int_equal(f.lists[0].n, 10);
}

static void without_a_private_root_paths_are_as_inside(void **state)
{
    (void)state;
    make_file("work/file", "text");
    f.plan.place = "/tmp/some[place]";
    collects(COLLECTS_OUTPUT, "/tmp/some[place]/work/*");
    collects(COLLECTS_OUTPUT, "/tmp/some[place]beside/*"); /* a path of the host */
    take_out(true);
    assert_whole();
    assert_content("work/file", "text");
    assert_int_equal(f.lists[1].n, 0);
}

static void links_are_not_followed_on_the_way(void **state)
{
    (void)state;
    make_dir("elsewhere");
    make_file("elsewhere/file", "secret");
    assert_int_equal(symlinkat("../elsewhere", f.root, "work/link"), 0);
    collects(COLLECTS_OUTPUT, "/work/link/file");
    collects(COLLECTS_OUTPUT, "/work/*/file");
    take_out(true);
    assert_whole();
    assert_skipped("work/link", SKIP_LINK);
    assert_int_equal(f.lists[1].n, 0);
}

static void too_deep_is_skipped(void **state)
{
    char path[4096] = "work";

    (void)state;
    make_file("work/file", "text");
    for (int i = 0; i < COLLECT_MAX_DEPTH; i++) {
        strcat(path, "/d");
        make_dir(path);
    }
    collects(COLLECTS_OUTPUT, "/work/**");
    take_out(true);
    assert_whole();
    assert_content("work/file", "text");
    assert_skipped(path, SKIP_DEPTH);
}

static void too_much_is_skipped_file_by_file(void **state)
{
    size_t taken = 0, skipped = 0;

    (void)state;
    make_big(9);
    collects(COLLECTS_OUTPUT, "/work/*");
    take_out(true);
    assert_whole();
    for (size_t i = 0; i < f.lists[0].n; i++) {
        taken += f.lists[0].items[i].kind == COLLECT_FILE;
        skipped += f.lists[0].items[i].kind == COLLECT_SKIPPED &&
                   f.lists[0].items[i].size == SKIP_TOO_MUCH;
    }
    assert_int_equal(taken, COLLECT_BYTES_PER_BYTE);
    assert_int_equal(taken + skipped, 10);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        COLLECT_TEST(modes_do_not_lock_us_out),
        COLLECT_TEST(outputs_are_files_that_match),
        COLLECT_TEST(a_pattern_may_span_directories),
        COLLECT_TEST(a_directory_stands_for_what_is_in_it),
        COLLECT_TEST(nothing_that_matches_is_nothing),
        COLLECT_TEST(what_is_no_file_is_named_and_left),
        COLLECT_TEST(without_a_private_root_paths_are_as_inside),
        COLLECT_TEST(links_are_not_followed_on_the_way),
        COLLECT_TEST(too_deep_is_skipped),
        COLLECT_TEST(too_much_is_skipped_file_by_file),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
