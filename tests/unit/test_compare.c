/* What came out of the sandbox against the real tree. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/scope.h"
#include "changes/compare.h"
#include "tree_pair.h"
#include "unit.h"

#define NEVER INT64_MAX /* a run that starts after everything */

static struct compare_input input(void)
{
    return (struct compare_input){ .collected = &t.collected,
                                   .source_fd = t.base_fd,
                                   .started_ns = NEVER };
}

static void compare_all(const struct compare_input *in)
{
    sbr_error err = { 0 };

    if (compare(in, &t.changes, &err) < 0)
        fail_msg("%s", err.message);
}

static void compare_now(void)
{
    struct compare_input in = input();

    compare_all(&in);
}

static void each_kind_of_change_is_told(void **state)
{
    const struct change *c;

    (void)state;
    tree_file(t.base_fd, "same", "text", 0644);
    tree_file(t.base_fd, "other", "text", 0644);
    tree_file(t.base_fd, "size", "text", 0644);
    tree_file(t.base_fd, "mode", "text", 0644);
    tree_file(t.base_fd, "gone", "text", 0644);
    tree_file(t.base_fd, "untouched", "text", 0644);
    take_file("same", "text", 0644);
    take_file("other", "tex!", 0644);
    take_file("size", "texts", 0755);
    take_file("mode", "text", 0600);
    take_mark(COLLECT_GONE, "gone", 0);
    take_file("new", "12345", 0755);
    take_dir("dir", 0700, 0);
    take_mark(COLLECT_OTHER, "dir/pipe", S_IFIFO | 0600);
    take_mark(COLLECT_SKIPPED, "dir/skipped", 0);
    compare_now();
    assert_changes("created dir\ncreated dir/pipe\ndeleted gone\nmode mode\ncreated new\n"
                   "modified other\nmodified size\n");
    c = change_at("new");
    assert_int_equal(c->now.kind, NODE_FILE);
    assert_int_equal(c->now.mode, 0755);
    assert_int_equal(c->now.size, 5);
    assert_int_equal(c->base.kind, NODE_NONE);
    c = change_at("gone");
    assert_int_equal(c->now.kind, NODE_NONE);
    assert_int_equal(c->base.size, 4);
    assert_int_equal(change_at("size")->base.mode, 0644);
    assert_int_equal(change_at("size")->now.mode, 0755);
    assert_int_equal(change_at("dir/pipe")->now.kind, NODE_OTHER);
}

static void the_base_can_be_recognised_again(void **state)
{
    char sum[SHA256_HEX_SIZE];
    const struct change *c;
    struct stat st;

    (void)state;
    tree_file(t.base_fd, "f", "before", 0640);
    make_link(t.base_fd, "l", "there");
    take_file("f", "after", 0640);
    take_link("l", "elsewhere");
    compare_now();
    c = change_at("f");
    assert_int_equal(fstatat(t.base_fd, "f", &st, 0), 0);
    assert_true(c->base_ino == st.st_ino);
    assert_true(c->base_ctime_ns == st.st_ctim.tv_sec * 1000000000LL + st.st_ctim.tv_nsec);
    assert_true(c->base.mtime_ns == st.st_mtim.tv_sec * 1000000000LL + st.st_mtim.tv_nsec);
    sha256_hex("before", 6, sum);
    assert_string_equal(c->base_sum, sum);
    sha256_hex("there", 5, sum);
    assert_string_equal(change_at("l")->base_sum, sum);
    assert_false(c->raced);
}

static void nothing_is_read_for_sums_that_nobody_wants(void **state)
{
    struct compare_input in = input();

    (void)state;
    tree_file(t.base_fd, "f", "before", 0644);
    take_mark(COLLECT_GONE, "f", 0);
    in.no_sums = true;
    compare_all(&in);
    assert_string_equal(change_at("f")->base_sum, "");
}

static void what_changed_outside_during_the_run_is_told(void **state)
{
    struct compare_input in = input();
    struct stat st;

    (void)state;
    tree_file(t.base_fd, "f", "before", 0644);
    tree_dir(t.base_fd, "d", 0755);
    assert_int_equal(fstatat(t.base_fd, "f", &st, 0), 0);
    in.started_ns = st.st_ctim.tv_sec * 1000000000LL + st.st_ctim.tv_nsec;
    take_file("f", "after", 0644);
    take_dir("d", 0700, 0);
    take_file("new", "text", 0644);
    compare_all(&in);
    assert_true(change_at("f")->raced);
    assert_false(change_at("d")->raced);
    assert_false(change_at("new")->raced);
}

static void a_deleted_directory_goes_with_all_that_is_in_it(void **state)
{
    (void)state;
    tree_dir(t.base_fd, "d", 0755);
    tree_dir(t.base_fd, "d/e", 0755);
    tree_file(t.base_fd, "d/e/f", "text", 0644);
    make_link(t.base_fd, "d/up", "..");
    tree_file(t.base_fd, "stays", "text", 0644);
    take_mark(COLLECT_GONE, "d", 0);
    take_mark(COLLECT_GONE, "never-there", 0);
    compare_now();
    assert_changes("deleted d\ndeleted d/e\ndeleted d/e/f\ndeleted d/up\n");
    assert_int_equal(change_at("d/up")->base.kind, NODE_LINK);
}

static void an_opaque_directory_hides_what_it_does_not_have(void **state)
{
    (void)state;
    tree_dir(t.base_fd, "d", 0755);
    tree_dir(t.base_fd, "d/e", 0755);
    tree_file(t.base_fd, "d/e/same", "text", 0644);
    tree_file(t.base_fd, "d/e/old", "text", 0644);
    tree_file(t.base_fd, "d/marked", "text", 0644);
    tree_dir(t.base_fd, "d/gone", 0755);
    tree_file(t.base_fd, "d/gone/deep", "text", 0644);
    take_dir("d", 0755, COLLECT_OPAQUE);
    take_dir("d/e", 0755, 0); /* what is in an opaque directory is opaque by that */
    take_file("d/e/same", "text", 0644);
    take_file("d/e/new", "text", 0644);
    take_mark(COLLECT_GONE, "d/marked", 0);
    compare_now();
    assert_changes("created d/e/new\ndeleted d/e/old\ndeleted d/gone\ndeleted d/gone/deep\n"
                   "deleted d/marked\n");
}

static void directories_are_merged_and_their_times_do_not_count(void **state)
{
    (void)state;
    tree_dir(t.base_fd, "d", 0755);
    tree_file(t.base_fd, "d/kept", "text", 0644);
    tree_dir(t.base_fd, "locked", 0755);
    take_dir("d", 0755, 0);
    take_file("d/new", "text", 0644);
    take_dir("locked", 0500, 0);
    compare_now();
    assert_changes("created d/new\nmode locked\n");
}

static void kinds_can_change(void **state)
{
    (void)state;
    tree_dir(t.base_fd, "to-file", 0755);
    tree_file(t.base_fd, "to-file/below", "text", 0644);
    tree_file(t.base_fd, "to-dir", "text", 0644);
    tree_file(t.base_fd, "to-link", "text", 0644);
    make_link(t.base_fd, "link", "text");
    make_link(t.base_fd, "same-link", "text");
    take_file("to-file", "now a file", 0644);
    take_dir("to-dir", 0755, 0);
    take_file("to-dir/new", "text", 0644);
    take_link("to-link", "text");
    take_link("link", "another");
    take_link("same-link", "text");
    compare_now();
    assert_changes("modified link\nmodified to-dir\ncreated to-dir/new\nmodified to-file\n"
                   "deleted to-file/below\nmodified to-link\n");
    assert_int_equal(change_at("to-file")->base.kind, NODE_DIR);
    assert_int_equal(change_at("to-file")->now.kind, NODE_FILE);
    assert_int_equal(change_at("to-dir")->now.kind, NODE_DIR);
}

static void links_of_the_real_tree_are_not_followed(void **state)
{
    (void)state;
    tree_dir(t.disk_usage_fd, "outside", 0755);
    tree_file(t.disk_usage_fd, "outside/f", "secret", 0644);
    make_link(t.base_fd, "d", "../outside");
    make_link(t.base_fd, "gone", "../outside");
    take_dir("d", 0755, 0);
    take_file("d/f", "secret", 0644);
    take_mark(COLLECT_GONE, "gone", 0);
    compare_now();
    assert_changes("modified d\ncreated d/f\ndeleted gone\n");
}

static void a_pipe_in_the_real_tree_stops_nobody(void **state)
{
    (void)state;
    assert_int_equal(mkfifoat(t.base_fd, "pipe", 0644), 0);
    assert_int_equal(mkfifoat(t.base_fd, "replaced", 0644), 0);
    assert_int_equal(mkfifoat(t.base_fd, "same", 0644), 0);
    assert_int_equal(fchmodat(t.base_fd, "same", 0644, 0), 0);
    take_mark(COLLECT_GONE, "pipe", 0);
    take_file("replaced", "text", 0644);
    take_mark(COLLECT_OTHER, "same", S_IFIFO | 0644);
    compare_now();
    assert_changes("deleted pipe\nmodified replaced\n");
}

static void the_requests_own_files_are_no_changes(void **state)
{
    static const struct request_file own[] = {
        { .path = (char *)"main.py", .data = (char *)"print()", .len = 7 },
        { .path = (char *)"lib/deep/a.py", .data = (char *)"a", .len = 1 },
        { .path = (char *)"lib-b", .data = (char *)"b", .len = 1 },
        { .path = (char *)"used/a.py", .data = (char *)"a", .len = 1 },
        { .path = (char *)"edited.py", .data = (char *)"a", .len = 1 },
        { .path = (char *)"empty", .data = NULL, .len = 0 },
    };
    struct compare_input in = input();

    (void)state;
    in.own = own;
    in.n_own = ARRAY_LEN(own);
    tree_file(t.base_fd, "main.py", "the project's", 0644);
    take_file("main.py", "print()", 0644);
    take_dir("lib", 0755, 0);
    take_dir("lib/deep", 0755, 0);
    take_file("lib/deep/a.py", "a", 0644);
    take_file("lib-b", "b", 0644);
    take_dir("used", 0755, 0);
    take_file("used/a.py", "a", 0644);
    take_file("used/out", "a", 0644);
    take_file("edited.py", "b", 0644);
    take_file("empty", "", 0644);
    take_dir("lib-none", 0755, 0);
    compare_all(&in);
    assert_changes("created edited.py\ncreated lib-none\ncreated used\ncreated used/out\n");
}

static void renames_are_found_when_asked_for(void **state)
{
    struct compare_input in = input();

    (void)state;
    tree_file(t.base_fd, "old", "text", 0644);
    take_file("new", "text", 0755);
    take_mark(COLLECT_GONE, "old", 0);
    in.renames = true;
    compare_all(&in);
    assert_changes("renamed new from old\n");
    assert_int_equal(change_at("new")->base.mode, 0644);
    assert_int_equal(change_at("new")->now.mode, 0755);
}

static void a_list_out_of_order_is_refused(void **state)
{
    struct compare_input in = input();
    sbr_error err = { 0 };

    (void)state;
    tree_dir(t.collected.content_fd, "d", 0755);
    take_file("d/f", "text", 0644);
    assert_refused(compare(&in, &t.changes, &err), &err, SBR_E_BUG, "d/f");
}

static void files_that_cannot_be_read_are_compared_by_size_and_time(void **state)
{
    struct compare_input in = input();
    struct stat st;

    (void)state;
    tree_file(t.base_fd, "f", "text", 0644);
    tree_file(t.base_fd, "g", "text", 0644);
    assert_int_equal(fstatat(t.base_fd, "f", &st, 0), 0);
    take_file("f", "texT", 0644);
    take_file("g", "text", 0644);
    t.collected.list.items[0].mtime_ns = st.st_mtim.tv_sec * 1000000000LL + st.st_mtim.tv_nsec;
    /* As if nothing could be opened: root reads everything, so contents are taken away instead. */
    close(t.collected.content_fd);
    t.collected.content_fd = -1;
    compare_all(&in);
    assert_changes("modified g\n");
    t.collected.content_fd = openat(t.tree_fd, "0", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

static void holes_are_compared_without_reading_them(void **state)
{
    scoped_fd int base = -1, now = -1;
    const off_t huge = (off_t)1 << 40;

    (void)state;
    tree_file(t.base_fd, "same", "start", 0644);
    tree_file(t.base_fd, "end", "start", 0644);
    take_file("same", "start", 0644);
    take_file("end", "start", 0644);
    base = openat(t.base_fd, "same", O_RDWR | O_CLOEXEC);
    now = openat(t.collected.content_fd, "same", O_RDWR | O_CLOEXEC);
    assert_int_equal(ftruncate(base, huge), 0);
    assert_int_equal(ftruncate(now, huge), 0);
    close(base);
    close(now);
    base = openat(t.base_fd, "end", O_RDWR | O_CLOEXEC);
    now = openat(t.collected.content_fd, "end", O_RDWR | O_CLOEXEC);
    assert_int_equal(ftruncate(base, huge), 0);
    assert_int_equal(ftruncate(now, huge), 0);
    assert_int_equal(pwrite(now, "x", 1, huge - 1), 1);
    t.collected.list.items[0].size = t.collected.list.items[1].size = (uint64_t)huge;
    compare_now();
    assert_changes("modified end\n");
    assert_string_equal(change_at("end")->base_sum, "");
}

int main(void)
{
#define WITH_TREES(test) cmocka_unit_test_setup_teardown(test, pair_set_up, pair_tear_down)
    const struct CMUnitTest tests[] = {
        WITH_TREES(each_kind_of_change_is_told),
        WITH_TREES(the_base_can_be_recognised_again),
        WITH_TREES(nothing_is_read_for_sums_that_nobody_wants),
        WITH_TREES(what_changed_outside_during_the_run_is_told),
        WITH_TREES(a_deleted_directory_goes_with_all_that_is_in_it),
        WITH_TREES(an_opaque_directory_hides_what_it_does_not_have),
        WITH_TREES(directories_are_merged_and_their_times_do_not_count),
        WITH_TREES(kinds_can_change),
        WITH_TREES(links_of_the_real_tree_are_not_followed),
        WITH_TREES(a_pipe_in_the_real_tree_stops_nobody),
        WITH_TREES(the_requests_own_files_are_no_changes),
        WITH_TREES(renames_are_found_when_asked_for),
        WITH_TREES(a_list_out_of_order_is_refused),
        WITH_TREES(files_that_cannot_be_read_are_compared_by_size_and_time),
        WITH_TREES(holes_are_compared_without_reading_them),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
