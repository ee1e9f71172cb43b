/* Changes for people's eyes. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/scope.h"
#include "base/text.h"
#include "changes/compare.h"
#include "changes/textdiff.h"
#include "tree_pair.h"
#include "unit.h"

static struct diff_options options;

static int set_up(void **state)
{
    options = (struct diff_options){ .max_file = 1000, .max_bytes = 100000 };
    return pair_set_up(state);
}

static void compare_now(void)
{
    struct compare_input in = {
        .collected = &t.collected, .source_fd = t.base_fd, .started_ns = INT64_MAX, .renames = true
    };
    sbr_error err;

    assert_int_equal(compare(&in, &t.changes, &err), 0);
}

/* The caller frees it. */
static char *shown(void)
{
    struct buf out;
    sbr_error err;

    buf_init(&out, SIZE_MAX / 2);
    assert_int_equal(changes_diff(&t.changes, t.tree_fd, &options, &out, &err), 0);
    return buf_take(&out, NULL);
}

static void assert_shown(const char *expected)
{
    scoped_free char *text = shown();

    assert_string_equal(text, expected);
}

static void assert_has(const char *part)
{
    scoped_free char *text = shown();

    if (!strstr(text, part))
        fail_msg("'%s' should have '%s'", text, part);
}

static void it_looks_as_that_of_git(void **state)
{
    (void)state;
    tree_file(t.base_fd, "both", "1\n2\n", 0644);
    tree_file(t.base_fd, "gone", "x\n", 0600);
    tree_file(t.base_fd, "mode", "x\ny\n", 0644);
    tree_file(t.base_fd, "old", "moved\n", 0644);
    make_link(t.base_fd, "link", "a");
    take_file("both", "1\n3\n", 0755);
    take_mark(COLLECT_GONE, "gone", 0);
    take_link("link", "b");
    take_file("mode", "x\ny\n", 0755);
    take_file("name with spaces", "new\n", 0644);
    take_file("new", "moved\n", 0644);
    take_mark(COLLECT_GONE, "old", 0);
    take_file("void", "", 0644);
    compare_now();
    assert_shown("others execute what follows (file that becomes executable): both\n"
                 "diff --git a/both b/both\nold mode 100644\nnew mode 100755\n"
                 "--- a/both\n+++ b/both\n@@ -1,2 +1,2 @@\n 1\n-2\n+3\n"
                 "diff --git a/gone b/gone\ndeleted file mode 100600\n"
                 "--- a/gone\n+++ /dev/null\n@@ -1 +0,0 @@\n-x\n"
                 "diff --git a/link b/link\n--- a/link\n+++ b/link\n@@ -1 +1 @@\n"
                 "-a\n\\ No newline at end of file\n+b\n\\ No newline at end of file\n"
                 "others execute what follows (file that becomes executable): mode\n"
                 "diff --git a/mode b/mode\nold mode 100644\nnew mode 100755\n"
                 "diff --git a/name with spaces b/name with spaces\nnew file mode 100644\n"
                 "--- /dev/null\n+++ b/name with spaces\t\n@@ -0,0 +1 @@\n+new\n"
                 "diff --git a/old b/new\nsimilarity index 100%\nrename from old\nrename to new\n"
                 "diff --git a/void b/void\nnew file mode 100644\n");
}

static void what_is_no_text_is_named_with_its_size(void **state)
{
    scoped_fd int fd = -1;
    char large[2001];

    (void)state;
    memset(large, 'x', 2000);
    large[2000] = '\0';
    tree_file(t.base_fd, "large", "small", 0644);
    take_file("large", large, 0644);
    take_file("binary", "abc", 0644);
    fd = openat(t.collected.content_fd, "binary", O_WRONLY | O_CLOEXEC);
    assert_int_equal(pwrite(fd, "\0", 1, 1), 1);
    take_mark(COLLECT_OTHER, "pipe", S_IFIFO | 0644);
    take_dir("dir", 0755, 0);
    compare_now();
    assert_shown("diff --git a/binary b/binary\nnew file mode 100644\nbinary, 3 bytes\n"
                 "created directory dir\n"
                 "diff --git a/large b/large\ntoo large to be shown, 5 bytes -> 2 KiB\n"
                 "created pipe: a pipe, socket or device\n");
}

static void deleted_directories_with_much_in_them_take_one_line(void **state)
{
    char name[32];

    (void)state;
    tree_dir(t.base_fd, "few", 0755);
    tree_file(t.base_fd, "few/f", "x\n", 0644);
    tree_dir(t.base_fd, "many", 0755);
    tree_dir(t.base_fd, "many/sub", 0755);
    for (int i = 0; i < 12; i++) {
        snprintf(name, sizeof(name), "many/sub/%d", i);
        tree_file(t.base_fd, name, "1234567890", 0644);
    }
    tree_file(t.base_fd, "many-", "y\n", 0644);
    take_mark(COLLECT_GONE, "few", 0);
    take_mark(COLLECT_GONE, "many", 0);
    take_mark(COLLECT_GONE, "many-", 0);
    compare_now();
    assert_int_equal(t.changes.n, 17);
    assert_shown("deleted directory few\n"
                 "diff --git a/few/f b/few/f\ndeleted file mode 100644\n"
                 "--- a/few/f\n+++ /dev/null\n@@ -1 +0,0 @@\n-x\n"
                 "deleted directory many with 12 files, 120 bytes\n"
                 "diff --git a/many- b/many-\ndeleted file mode 100644\n"
                 "--- a/many-\n+++ /dev/null\n@@ -1 +0,0 @@\n-y\n");
}

static void another_kind_is_shown_as_gone_and_new(void **state)
{
    (void)state;
    tree_dir(t.base_fd, "d", 0755);
    tree_file(t.base_fd, "f", "x\n", 0644);
    take_file("d", "y\n", 0644);
    take_dir("f", 0755, 0);
    compare_now();
    assert_shown("deleted directory d\n"
                 "diff --git a/d b/d\nnew file mode 100644\n--- /dev/null\n+++ b/d\n"
                 "@@ -0,0 +1 @@\n+y\n"
                 "diff --git a/f b/f\ndeleted file mode 100644\n--- a/f\n+++ /dev/null\n"
                 "@@ -1 +0,0 @@\n-x\ncreated directory f\n");
}

static void control_characters_are_seen_and_not_obeyed(void **state)
{
    (void)state;
    take_file("evil\n\x1b[2J", "\x1b[31mred\ttab\r\n\xff\xe2\x80\xae\n", 0644);
    compare_now();
    assert_shown("diff --git \"a/evil\\n\\033[2J\" \"b/evil\\n\\033[2J\"\nnew file mode 100644\n"
                 "--- /dev/null\n+++ \"b/evil\\n\\033[2J\"\n@@ -0,0 +1,2 @@\n"
                 "+\\x1b[31mred\ttab\\r\n+\\xff\\xe2\\x80\\xae\n");
}

static void names_are_quoted_only_where_they_must_be(void **state)
{
    static const struct {
        const char *name, *expected;
    } names[] = {
        { "plain", "plain" },
        { "\xc3\xa9\\\"", "\xc3\xa9\\\"" },
        { "a\tb\\", "\"a\\tb\\\\\"" },
        { "\xff\"", "\"\\377\\\"\"" },
        { "", "" },
    };
    struct buf out;

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        buf_init(&out, 1000);
        visible_put_name(&out, names[i].name);
        assert_string_equal(out.data ? out.data : "", names[i].expected);
        buf_done(&out);
    }
}

static void a_very_long_line_is_cut(void **state)
{
    char *line = calloc(1, 10001);
    struct buf out;

    (void)state;
    assert_non_null(line);
    memset(line, 'x', 10000);
    buf_init(&out, 100000);
    visible_put(&out, line, 10000);
    assert_string_equal(out.data + 4000, "... (6000 more bytes)");
    buf_done(&out);
    free(line);
}

static void colours_are_for_terminals(void **state)
{
    (void)state;
    tree_file(t.base_fd, "f", "1\n2\n", 0644);
    take_file("f", "1\n3\n", 0644);
    compare_now();
    options.color = true;
    assert_shown("\x1b[1mdiff --git a/f b/f\x1b[0m\n\x1b[1m--- a/f\x1b[0m\n\x1b[1m+++ b/f\x1b[0m\n"
                 "\x1b[36m@@ -1,2 +1,2 @@\x1b[0m\n 1\n\x1b[31m-2\x1b[0m\n\x1b[32m+3\x1b[0m\n");
}

static void what_was_changed_since_is_not_compared(void **state)
{
    scoped_fd int fd = -1;

    (void)state;
    tree_file(t.base_fd, "f", "1\n2\n", 0644);
    take_file("f", "1\n3\n", 0644);
    compare_now();
    fd = openat(t.base_fd, "f", O_WRONLY | O_CLOEXEC);
    /* Touched, but the same: its sum says so. */
    assert_int_equal(futimens(fd, NULL), 0);
    assert_has("-2\n+3\n");
    assert_int_equal(pwrite(fd, "9", 1, 0), 1);
    assert_has("the real one was changed since and is not compared, 4 bytes\n");
    assert_int_equal(unlinkat(t.base_fd, "f", 0), 0);
    assert_has("the real one was changed since");
}

static void a_race_is_told(void **state)
{
    (void)state;
    tree_file(t.base_fd, "f", "1\n", 0644);
    take_file("f", "2\n", 0644);
    compare_now();
    t.changes.items[0].raced = true;
    assert_has("+2\nthe real one was changed while the program ran\n");
}

static void other_trees_are_named_by_where_they_are_inside(void **state)
{
    (void)state;
    take_file("f", "1\n", 0644);
    take_dir("d", 0755, 0);
    compare_now();
    free(t.changes.roots[0].target);
    t.changes.roots[0].target = strdup("/data");
    assert_has("diff --git a/data/f b/data/f\n");
    assert_has("created directory /data/d\n");
}

static void too_much_is_cut_and_told(void **state)
{
    char name[32];

    (void)state;
    for (int i = 0; i < 50; i++) {
        snprintf(name, sizeof(name), "f%02d", i);
        take_file(name, "some text that takes a little room\n", 0644);
    }
    compare_now();
    options.max_bytes = 500;
    assert_has("and 45 more changes, not shown\n");
    assert_has("too many lines differ to be shown here\n");
    options.max_bytes = 0;
    assert_has("+++ b/f49\n");
}

static void long_files_are_cut_or_named(void **state)
{
    (void)state;
    tree_file(t.base_fd, "changed", "1\n2\n3\n4\n5\n", 0644);
    tree_file(t.base_fd, "gone", "1\n2\n3\n4\n5\n6", 0644);
    tree_file(t.base_fd, "short", "1\n2\n3\n4\n", 0644);
    take_file("changed", "one\n2\n3\n4\nfive\n", 0644);
    take_mark(COLLECT_GONE, "gone", 0);
    take_mark(COLLECT_GONE, "short", 0);
    compare_now();
    options.max_lines = 5;
    assert_shown(
        "diff --git a/changed b/changed\n--- a/changed\n+++ b/changed\n"
        "@@ -1,5 +1,5 @@\n-1\n+one\n 2\n 3\n... 3 more lines\n"
        "diff --git a/gone b/gone\ndeleted file mode 100644\n6 lines, 11 bytes\n"
        "diff --git a/short b/short\ndeleted file mode 100644\n--- a/short\n+++ /dev/null\n"
        "@@ -1,4 +0,0 @@\n-1\n-2\n-3\n-4\n");
}

int main(void)
{
#define WITH_TREES(test) cmocka_unit_test_setup_teardown(test, set_up, pair_tear_down)
    const struct CMUnitTest tests[] = {
        WITH_TREES(it_looks_as_that_of_git),
        WITH_TREES(what_is_no_text_is_named_with_its_size),
        WITH_TREES(deleted_directories_with_much_in_them_take_one_line),
        WITH_TREES(another_kind_is_shown_as_gone_and_new),
        WITH_TREES(control_characters_are_seen_and_not_obeyed),
        cmocka_unit_test(names_are_quoted_only_where_they_must_be),
        cmocka_unit_test(a_very_long_line_is_cut),
        WITH_TREES(colours_are_for_terminals),
        WITH_TREES(what_was_changed_since_is_not_compared),
        WITH_TREES(a_race_is_told),
        WITH_TREES(other_trees_are_named_by_where_they_are_inside),
        WITH_TREES(too_much_is_cut_and_told),
        WITH_TREES(long_files_are_cut_or_named),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
