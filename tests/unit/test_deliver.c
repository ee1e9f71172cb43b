/* Collected outputs go to a directory of the host's, which may hold anything. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "changes/deliver.h"
#include "tree_fixture.h"
#include "unit.h"

static struct tree_place place;
static struct collected collected;
static struct output_files files;

static int set_up(void **state)
{
    (void)state;
    umask(022);
    tree_place_make(&place);
    collected = (struct collected){ .content_fd = tree_open(&place, "a") };
    files = (struct output_files){ 0 };
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    close(collected.content_fd);
    collect_list_done(&collected.list);
    output_files_done(&files);
    tree_place_remove(&place);
    return 0;
}

static void add(enum collect_kind kind, const char *path, uint32_t mode, uint64_t size)
{
    struct collect_list_entry entry = { .kind = kind, .mode = mode, .size = size };

    assert_int_equal(collect_list_add(&collected.list, entry, path), 0);
}

/* What the program left in /work/out, and what was not taken. */
static void fill(void)
{
    tree_make(tree_at(&place, "a"), "d work 700\nd work/out 700\nf work/out/a.txt 600 text\n"
                                    "d work/out/sub 700\nf work/out/sub/run 600 #!/bin/sh\n");
    add(COLLECT_ENTER, "work", S_IFDIR | 0755, 0);
    add(COLLECT_ENTER, "work/out", S_IFDIR | 0755, 0);
    add(COLLECT_FILE, "work/out/a.txt", S_IFREG | 04644, 4);
    add(COLLECT_ENTER, "work/out/sub", S_IFDIR | 0755, 0);
    add(COLLECT_FILE, "work/out/sub/run", S_IFREG | 0700, 9);
    add(COLLECT_SKIPPED, "work/out/link", S_IFLNK | 0777, SKIP_LINK);
    add(COLLECT_SKIPPED, "work/out/odd", S_IFREG | 0644, 77);
    add(COLLECT_OTHER, "work/out/pipe", S_IFIFO | 0644, 0);
}

static void deliver_to(const char *pattern, const char *dir)
{
    char whole[600];
    struct output_rule rule = { .pattern = (char *)pattern, .dir = NULL };
    sbr_error err = { 0 };

    if (dir) {
        snprintf(whole, sizeof(whole), "%s", tree_at(&place, dir));
        rule.dir = whole;
    }
    if (deliver(&rule, &collected, NULL, &files, &err) < 0)
        fail_msg("%s", err.message);
}

static void assert_tree(const char *name, const char *lines)
{
    char *told = tree_tell(tree_at(&place, name), false);

    assert_string_equal(told, lines);
    free(told);
}

static void files_go_below_the_fixed_part(void **state)
{
    (void)state;
    fill();
    deliver_to("/work/out/**", "b/new/er");
    assert_tree("b", "d new 755\nd new/er 755\nf new/er/a.txt 644 text\nd new/er/sub 755\n"
                     "f new/er/sub/run 755 #!/bin/sh\n");
    assert_int_equal(files.n, 5);
    assert_string_equal(files.items[0].path, "/work/out/a.txt");
    assert_string_equal(files.items[0].saved, tree_at(&place, "b/new/er/a.txt"));
    assert_string_equal(files.items[0].mime, "text/plain");
    assert_int_equal(files.items[0].size, 4);
    assert_null(files.items[0].skipped);
    assert_string_equal(files.items[1].saved, tree_at(&place, "b/new/er/sub/run"));
    for (size_t i = 2; i < 5; i++) {
        assert_null(files.items[i].saved);
        assert_non_null(files.items[i].skipped);
    }
    assert_non_null(strstr(files.items[2].skipped, "link"));
    assert_non_null(strstr(files.items[4].skipped, "pipe"));
}

static void what_others_execute_is_named(void **state)
{
    (void)state;
    tree_make(tree_at(&place, "a"), "d work 700\nd work/out 700\nd work/out/.git 700\n"
                                    "f work/out/.git/config 600 text\nf work/out/plain 600 text\n");
    add(COLLECT_FILE, "work/out/.git/config", S_IFREG | 0644, 4);
    add(COLLECT_FILE, "work/out/plain", S_IFREG | 0644, 4);
    deliver_to("/work/out/**", "b");
    deliver_to("/work/out", "b");
    assert_tree("b", "d out 755\nf out/plain 644 text\nf plain 644 text\n");
    assert_string_equal(files.items[0].path, "/work/out/.git/config");
    assert_non_null(strstr(files.items[0].skipped, "others execute"));
    deliver_to("/work/out/.git", "b");
    assert_tree("b", "d .git 755\nf .git/config 644 text\nd out 755\nf out/plain 644 text\n"
                     "f plain 644 text\n");
}

static void a_directory_keeps_its_name(void **state)
{
    (void)state;
    fill();
    deliver_to("/work/out", "b");
    assert_tree("b",
                "d out 755\nf out/a.txt 644 text\nd out/sub 755\nf out/sub/run 755 #!/bin/sh\n");
}

static void without_a_directory_they_are_listed(void **state)
{
    (void)state;
    fill();
    deliver_to("/work/out/**", NULL);
    assert_tree("b", "");
    assert_int_equal(files.n, 5);
    assert_null(files.items[0].saved);
    assert_null(files.items[0].skipped);
}

static void nothing_is_made_for_nothing(void **state)
{
    (void)state;
    deliver_to("/work/out/**", "b/none");
    assert_tree("b", "");
}

static void what_is_there_is_replaced_and_links_are_not_followed(void **state)
{
    (void)state;
    fill();
    tree_make(tree_at(&place, "b"),
              "f victim 644 old\nl a.txt victim\nd sub 755\nf sub/run 600 old\n");
    deliver_to("/work/out/**", "b");
    assert_tree("b", "f a.txt 644 text\nd sub 755\nf sub/run 755 #!/bin/sh\nf victim 644 old\n");
}

static void no_link_on_the_way_is_followed(void **state)
{
    (void)state;
    fill();
    tree_make(tree_at(&place, "b"),
              "d out 755\nd target 755\nl out/sub ../target\nd out/a.txt 755\n");
    deliver_to("/work/out", "b");
    assert_tree("b", "d out 755\nd out/a.txt 755\nl out/sub ../target\nd target 755\n");
    assert_non_null(strstr(files.items[0].skipped, "replace a directory"));
    assert_non_null(strstr(files.items[1].skipped, "through a link"));
}

static void holes_stay_holes(void **state)
{
    struct stat st;
    int fd;

    (void)state;
    tree_make(tree_at(&place, "a"), "d work 700\n");
    fd = openat(collected.content_fd, "work/big", O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    assert_int_equal(ftruncate(fd, 1LL << 33), 0);
    close(fd);
    add(COLLECT_FILE, "work/big", S_IFREG | 0644, 1ULL << 33);
    deliver_to("/work/big", "b");
    assert_int_equal(fstatat(place.top_fd, "b/big", &st, 0), 0);
    assert_int_equal(st.st_size, 1LL << 33);
    assert_true(st.st_blocks < 64);
}

static void a_directory_that_cannot_be_is_an_error(void **state)
{
    char pattern[] = "/work/out/**";
    struct output_rule rule = { .pattern = pattern };
    char dir[600];
    sbr_error err;

    (void)state;
    fill();
    tree_make(tree_at(&place, "b"), "f file 644 x\n");
    snprintf(dir, sizeof(dir), "%s/below", tree_at(&place, "b/file"));
    rule.dir = dir;
    assert_refused(deliver(&rule, &collected, NULL, &files, &err), &err, SBR_E_SYSTEM,
                   "cannot save to");
}

#define DELIVER_TEST(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        DELIVER_TEST(files_go_below_the_fixed_part),
        DELIVER_TEST(what_others_execute_is_named),
        DELIVER_TEST(a_directory_keeps_its_name),
        DELIVER_TEST(without_a_directory_they_are_listed),
        DELIVER_TEST(nothing_is_made_for_nothing),
        DELIVER_TEST(what_is_there_is_replaced_and_links_are_not_followed),
        DELIVER_TEST(no_link_on_the_way_is_followed),
        DELIVER_TEST(holes_stay_holes),
        DELIVER_TEST(a_directory_that_cannot_be_is_an_error),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
