#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/tree_remove.h"
#include "changes/apply.h"
#include "tree_fixture.h"
#include "unit.h"

#define ROUNDS 60

static struct tree_place place;

static int make_place(void **state)
{
    (void)state;
    umask(022);
    tree_place_make(&place);
    return 0;
}

static int remove_place(void **state)
{
    (void)state;
    tree_place_remove(&place);
    return 0;
}

/* `a` becomes what `b` is. */
static void bring_about(unsigned int flags)
{
    struct changes changes = { 0 };
    char *wanted = tree_tell(tree_at(&place, "b"), true), *got;
    sbr_error err = { 0 };
    int a, content;

    assert_int_equal(tree_remove(place.top_fd, "c"), 0);
    assert_int_equal(mkdirat(place.top_fd, "c", 0700), 0);
    tree_changes(tree_at(&place, "a"), tree_at(&place, "b"), &changes);
    tree_contents(tree_at(&place, "b"), &changes, tree_at(&place, "c"));
    a = tree_open(&place, "a");
    content = tree_open(&place, "c");
    if (apply_to(a, content, &changes, flags, &err) < 0)
        fail_msg("%s", err.message);
    got = tree_tell(tree_at(&place, "a"), true);
    assert_string_equal(got, wanted);
    if (apply_to(a, content, &changes, flags, &err) < 0) /* once more */
        fail_msg("%s", err.message);
    free(got);
    got = tree_tell(tree_at(&place, "a"), true);
    assert_string_equal(got, wanted);
    close(a);
    close(content);
    free(got);
    free(wanted);
    changes_done(&changes);
}

static void every_kind_of_change_is_brought_about(void **state)
{
    (void)state;
    tree_make(tree_at(&place, "a"), "f same 644 x\nf edited 644 old\nf gone 644 x\nd dir 755\n"
                                    "f dir/inner 644 x\nd todir 755\nf tofile 644 x\nl link one\n"
                                    "f mode 644 x\nd goes 755\nf goes/x 644 x\nf dirlink 600 x\n");
    tree_copy(tree_at(&place, "a"), tree_at(&place, "b"));
    for (const char *const *p = (const char *const[]){ "b/gone", "b/todir", "b/tofile", "b/link",
                                                       "b/goes", "b/dirlink", "b/dir", NULL };
         *p; p++)
        assert_int_equal(tree_remove(place.top_fd, *p), 0);
    tree_make(tree_at(&place, "b"), "f edited 644 new\nf todir 600 y\nd tofile 755\n"
                                    "f tofile/z 755 z\nl link two\nd new 700\nd new/er 755\n"
                                    "f new/er/file 640 n\nl dirlink same\nf dir 644 f\n");
    assert_int_equal(fchmodat(place.top_fd, "b/mode", 0755, 0), 0);
    bring_about(APPLY_NO_UNDO);
}

static void contents_can_be_moved_instead(void **state)
{
    (void)state;
    tree_make(tree_at(&place, "a"), "f one 644 1\nd d 755\n");
    tree_make(tree_at(&place, "b"), "f one 644 2\nd d 755\nf d/locked 400 x\n");
    bring_about(APPLY_NO_UNDO | APPLY_CONSUME);
    assert_int_equal(faccessat(place.top_fd, "c/one", F_OK, 0), -1);
}

static void locked_directories_are_written_to_and_locked_again(void **state)
{
    (void)state;
    tree_make(tree_at(&place, "a"), "d d 755\nf d/x 644 1\nf d/y 644 1\n");
    tree_make(tree_at(&place, "b"), "d d 755\nf d/x 644 2\nd e 755\nf e/f 644 x\n");
    assert_int_equal(fchmodat(place.top_fd, "a/d", 0555, 0), 0);
    assert_int_equal(fchmodat(place.top_fd, "b/d", 0555, 0), 0);
    assert_int_equal(fchmodat(place.top_fd, "b/e", 0555, 0), 0);
    bring_about(APPLY_NO_UNDO);
}

static void what_locks_its_owner_out_is_opened_and_closed_again(void **state)
{
    struct changes changes = { 0 };
    struct change edit = { .op = CHANGE_MODIFIED,
                           .path = strdup("d/e/f"),
                           .now = { NODE_FILE, 0644, 3, 5 },
                           .base = { NODE_FILE, 0644, 3, 3 } };
    char text[16] = "";
    struct stat st;
    sbr_error err = { 0 };
    int a, content;

    (void)state;
    tree_make(tree_at(&place, "a"), "d d 755\nd d/e 755\nf d/e/f 644 old\n");
    tree_make(tree_at(&place, "b"), "d d 755\nd d/e 755\nf d/e/f 600 new\n");
    assert_int_equal(changes_add(&changes, &edit, &err), 0);
    assert_int_equal(fchmodat(place.top_fd, "a/d/e", 0, 0), 0);
    assert_int_equal(fchmodat(place.top_fd, "a/d", 0, 0), 0);
    a = tree_open(&place, "a");
    content = tree_open(&place, "b");
    if (apply_to(a, content, &changes, APPLY_CONSUME, &err) < 0)
        fail_msg("%s", err.message);
    assert_int_equal(fstatat(a, "d", &st, 0), 0);
    assert_int_equal(st.st_mode & 07777, 0);
    assert_int_equal(fchmodat(a, "d", 0700, 0), 0);
    assert_int_equal(fstatat(a, "d/e", &st, 0), 0);
    assert_int_equal(st.st_mode & 07777, 0);
    assert_int_equal(fchmodat(a, "d/e", 0700, 0), 0);
    assert_int_equal(fd_read_small(a, "d/e/f", text, sizeof(text)), 3);
    assert_string_equal(text, "new");
    close(a);
    close(content);
    changes_done(&changes);
}

static void random_trees_become_each_other(void **state)
{
    (void)state;
    for (unsigned int round = 0; round < ROUNDS; round++) {
        unsigned int seed = round * 7919 + 1;

        remove_place(state);
        make_place(state);
        tree_random(tree_at(&place, "a"), &seed, 40);
        tree_copy(tree_at(&place, "a"), tree_at(&place, "b"));
        tree_mutate(tree_at(&place, "b"), &seed, 25);
        bring_about(round % 2 ? APPLY_CONSUME : 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(every_kind_of_change_is_brought_about, make_place,
                                        remove_place),
        cmocka_unit_test_setup_teardown(contents_can_be_moved_instead, make_place, remove_place),
        cmocka_unit_test_setup_teardown(locked_directories_are_written_to_and_locked_again,
                                        make_place, remove_place),
        cmocka_unit_test_setup_teardown(what_locks_its_owner_out_is_opened_and_closed_again,
                                        make_place, remove_place),
        cmocka_unit_test_setup_teardown(random_trees_become_each_other, make_place, remove_place),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
