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
        assert_int_equal(fchownat(made.root, path, OTHER_UID, OTHER_UID, AT_SYMLINK_NOFOLLOW), 0);
    assert_int_equal(fchmodat(made.root, path, mode, 0), 0);
}

static void modes_do_not_lock_us_out(void **state)
{
    struct stat st;

    (void)state;
    put_file("work/file", "secret");
    put_dir("work/dir");
    put_file("work/dir/file", "deeper");
    give_away("work/dir/file", 0);
    give_away("work/dir", 0);
    give_away("work/file", 0);
    give_away("work", 0755);
    collects(COLLECTS_OUTPUT, "/work/**");
    made.as_user = true;
    take_out(true);
    assert_whole();
    assert_file_holds("work/file", "secret");
    assert_file_holds("work/dir/file", "deeper");
    assert_int_equal(find("work/dir")->mode, S_IFDIR);
    assert_int_equal(find("work/file")->mode, S_IFREG);
    assert_int_equal(fstatat(made.root, "work/dir", &st, 0), 0);
    assert_int_equal(st.st_mode, S_IFDIR); /* as it was */
}

static void outputs_are_files_that_match(void **state)
{
    (void)state;
    put_file("work/a.txt", "a");
    put_file("work/b.png", "b");
    put_dir("work/sub");
    put_file("work/sub/c.txt", "c");
    put_dir("work/empty");
    collects(COLLECTS_OUTPUT, "/work/*.txt");
    take_out(true);
    assert_whole();
    assert_int_equal(made.lists[0].n, 2);
    assert_kind("work", COLLECT_ENTER);
    assert_file_holds("work/a.txt", "a");
}

static void a_pattern_may_span_directories(void **state)
{
    (void)state;
    put_dir("work/one");
    put_dir("work/one/two");
    put_file("work/one/two/x.txt", "x");
    put_file("work/one/y.txt", "y");
    put_file("work/z.txt", "z");
    put_dir("work/none");
    put_file("work/none/file", "no");
    collects(COLLECTS_OUTPUT, "/work/**/*.txt");
    take_out(true);
    assert_whole();
    assert_file_holds("work/one/two/x.txt", "x");
    assert_file_holds("work/one/y.txt", "y");
    assert_file_holds("work/z.txt", "z");
    assert_null(find("work/none"));
}

static void a_directory_stands_for_what_is_in_it(void **state)
{
    (void)state;
    put_dir("work/dist");
    put_dir("work/dist/js");
    put_file("work/dist/js/app.js", "js");
    put_dir("work/dist/empty");
    collects(COLLECTS_OUTPUT, "/work/dist");
    take_out(true);
    assert_whole();
    assert_file_holds("work/dist/js/app.js", "js");
    assert_null(find("work/dist/empty"));
}

static void nothing_that_matches_is_nothing(void **state)
{
    (void)state;
    collects(COLLECTS_OUTPUT, "/work/none/*.txt");
    collects(COLLECTS_OUTPUT, "/work/none.txt");
    take_out(true);
    assert_whole();
    assert_int_equal(made.lists[0].n + made.lists[1].n, 0);
}

static void what_is_no_file_is_named_and_left(void **state)
{
    (void)state;
    assert_int_equal(symlinkat("/etc/passwd", made.root, "work/link"), 0);
    assert_int_equal(symlinkat("/proc/self/root", made.root, "work/root"), 0);
    assert_int_equal(mkfifoat(made.root, "work/pipe", 0600), 0);
    make_socket("work/socket");
    put_file("work/line\nbreak", "x");
    put_file("work/\033]0;title\007", "x");
    put_file("work/\xc2\x9b", "x");
    put_file("work/\xff\xfe", "bytes");
    put_dir("work/d\n");
    put_file("work/d\n/inside", "x");
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
    assert_file_holds("work/\xff\xfe", "bytes");
    assert_int_equal(made.lists[0].n, 10);
}

static void without_a_private_root_paths_are_as_inside(void **state)
{
    (void)state;
    put_file("work/file", "text");
    made.plan.run_dir = "/tmp/some[place]";
    collects(COLLECTS_OUTPUT, "/tmp/some[place]/work/*");
    collects(COLLECTS_OUTPUT, "/tmp/some[place]beside/*"); /* a path of the host */
    take_out(true);
    assert_whole();
    assert_file_holds("work/file", "text");
    assert_int_equal(made.lists[1].n, 0);
}

static void links_are_not_followed_on_the_way(void **state)
{
    (void)state;
    put_dir("elsewhere");
    put_file("elsewhere/file", "secret");
    assert_int_equal(symlinkat("../elsewhere", made.root, "work/link"), 0);
    collects(COLLECTS_OUTPUT, "/work/link/file");
    collects(COLLECTS_OUTPUT, "/work/*/file");
    take_out(true);
    assert_whole();
    assert_skipped("work/link", SKIP_LINK);
    assert_int_equal(made.lists[1].n, 0);
}

static void too_deep_is_skipped(void **state)
{
    char path[4096] = "work";

    (void)state;
    put_file("work/file", "text");
    for (int i = 0; i < COLLECT_MAX_DEPTH; i++) {
        strcat(path, "/d");
        put_dir(path);
    }
    collects(COLLECTS_OUTPUT, "/work/**");
    take_out(true);
    assert_whole();
    assert_file_holds("work/file", "text");
    assert_skipped(path, SKIP_DEPTH);
}

static void too_much_is_skipped_file_by_file(void **state)
{
    size_t collected = 0, skipped = 0;

    (void)state;
    make_big(9);
    collects(COLLECTS_OUTPUT, "/work/*");
    take_out(true);
    assert_whole();
    for (size_t i = 0; i < made.lists[0].n; i++) {
        collected += made.lists[0].items[i].kind == COLLECT_FILE;
        skipped += made.lists[0].items[i].kind == COLLECT_SKIPPED &&
                   made.lists[0].items[i].size == SKIP_TOO_MUCH;
    }
    assert_int_equal(collected, COLLECT_BYTES_PER_BYTE);
    assert_int_equal(collected + skipped, 10);
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
