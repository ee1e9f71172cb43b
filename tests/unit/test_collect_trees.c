/* What init hands out of trees: all of a stage's, and what lies above a copy-on-write one. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/scope.h"
#include "collect_fixture.h"
#include "unit.h"

static void changes_are_files_links_and_directories(void **state)
{
    char opaque[64];

    (void)state;
    put_dir("work/new");
    put_file("work/new/file", "text");
    assert_int_equal(symlinkat("/etc/passwd", made.root, "work/link"), 0);
    assert_int_equal(mkfifoat(made.root, "work/pipe", 0600), 0);
    make_socket("work/socket");
    put_dir("work/opaque");
    snprintf(opaque, sizeof(opaque), "%s/root/work/opaque", made.disk_usage);
    assert_int_equal(setxattr(opaque, "user.overlay.opaque", "y", 1, 0), 0);
    collects(COLLECTS_CHANGES, "");
    take_out(false); /* whatever the end was */
    assert_whole();
    assert_int_equal(made.lists[0].n, 6);
    assert_kind("new", COLLECT_ENTER);
    assert_int_equal(find("new")->flags, 0);
    assert_file_holds("new/file", "text");
    assert_kind("link", COLLECT_LINK);
    assert_int_equal(find("link")->size, strlen("/etc/passwd"));
    assert_kind("pipe", COLLECT_OTHER);
    assert_kind("socket", COLLECT_OTHER);
    assert_int_equal(find("opaque")->flags, COLLECT_OPAQUE);
}

static void what_is_gone_is_told(void **state)
{
    (void)state;
    if (mknodat(made.root, "work/gone", S_IFCHR, 0) < 0) {
        assert_int_equal(errno, EPERM);
        print_message("/tmp is on an overlay, where nobody may make what marks a file as gone\n");
        skip();
    }
    collects(COLLECTS_CHANGES, "");
    take_out(false);
    assert_whole();
    assert_int_equal(made.lists[0].n, 1);
    assert_kind("gone", COLLECT_GONE);
}

static void a_device_is_not_what_is_gone(void **state)
{
    (void)state;
    if (mknodat(made.root, "work/null", S_IFCHR | 0600, makedev(1, 3)) < 0)
        skip();
    collects(COLLECTS_CHANGES, "");
    take_out(false);
    assert_whole();
    assert_kind("null", COLLECT_OTHER);
}

static void a_tree_is_handed_out_after_success_alone(void **state)
{
    (void)state;
    put_file("work/file", "text");
    made.parts[0].list = NULL;
    collects(COLLECTS_TREE, "work");
    collects(COLLECTS_OUTPUT, "/work/file");
    take_out(false);
    assert_false(made.parts[0].complete);
    assert_true(made.parts[1].complete);
    assert_int_equal(made.lists[1].n, 2);
}

static void a_tree_that_is_too_deep_fails_alone(void **state)
{
    char path[4096] = "work";

    (void)state;
    put_file("work/file", "text");
    for (int i = 0; i <= COLLECT_MAX_DEPTH; i++) {
        strcat(path, "/d");
        put_dir(path);
    }
    collects(COLLECTS_CHANGES, "");
    collects(COLLECTS_OUTPUT, "/work/file");
    take_out(true);
    assert_refused(made.parts[0].failure.code, &made.parts[0].failure, SBR_E_DENIED,
                   "in one another");
    assert_true(made.parts[1].complete);
}

static void what_is_too_large_is_told(void **state)
{
    (void)state;
    make_big(COLLECT_BYTES_PER_BYTE);
    collects(COLLECTS_CHANGES, "");
    take_out(true);
    assert_refused(made.parts[0].failure.code, &made.parts[0].failure, SBR_E_DENIED,
                   "too large; raise its limit 'disk'");
}

static void too_many_are_told(void **state)
{
    (void)state;
    made.plan.scratch_inodes = 3;
    for (char i = 'a'; i < 'a' + 7; i++)
        put_file((const char[]){ 'w', 'o', 'r', 'k', '/', i, '\0' }, "");
    collects(COLLECTS_CHANGES, "");
    take_out(true);
    assert_refused(made.parts[0].failure.code, &made.parts[0].failure, SBR_E_DENIED,
                   "too many files");
}

static void holes_are_not_sent(void **state)
{
    scoped_fd int fd = -1;
    struct stat st;

    (void)state;
    put_file("work/sparse", "start");
    fd = openat(made.root, "work/sparse", O_WRONLY | O_CLOEXEC);
    assert_int_equal(pwrite(fd, "middle", 6, 1 << 20), 6);
    assert_int_equal(ftruncate(fd, 16 << 20), 0);
    collects(COLLECTS_CHANGES, "");
    take_out(true);
    assert_whole();
    assert_int_equal(find("sparse")->size, 16 << 20);
    assert_file_holds("sparse", "start"); /* NULs follow */
    assert_int_equal(fstatat(made.parts[0].dir_fd, "sparse", &st, 0), 0);
    assert_int_equal(st.st_size, 16 << 20);
    assert_true(made.collect_reader.bytes < 64 * 1024);
}

static void what_nobody_wants_is_not_read(void **state)
{
    (void)state;
    put_file("work/file", "text");
    collects(COLLECTS_CHANGES, "");
    made.report->dropped = true;
    take_out(true);
    assert_false(made.parts[0].complete);
    assert_int_equal(made.lists[0].n, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        COLLECT_TEST(changes_are_files_links_and_directories),
        COLLECT_TEST(what_is_gone_is_told),
        COLLECT_TEST(a_device_is_not_what_is_gone),
        COLLECT_TEST(a_tree_is_handed_out_after_success_alone),
        COLLECT_TEST(a_tree_that_is_too_deep_fails_alone),
        COLLECT_TEST(what_is_too_large_is_told),
        COLLECT_TEST(too_many_are_told),
        COLLECT_TEST(holes_are_not_sent),
        COLLECT_TEST(what_nobody_wants_is_not_read),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
