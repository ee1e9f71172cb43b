/* Which created file is which deleted one. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "changes/compare.h"
#include "tree_pair.h"
#include "unit.h"

static void add(enum change_op op, const char *path, const char *text)
{
    struct node node = { .kind = NODE_FILE, .mode = 0644, .size = strlen(text) };
    bool created = op == CHANGE_CREATED;
    struct change change = { .op = op, .path = strdup(path) };
    sbr_error err;

    *(created ? &change.now : &change.base) = node;
    tree_file(created ? t.collected.content_fd : t.base_fd, path, text, 0644);
    assert_int_equal(changes_add(&t.changes, &change, &err), 0);
}

static void find(size_t first)
{
    sbr_error err;

    assert_int_equal(renames_find(&t.changes, first, t.base_fd, t.collected.content_fd, &err), 0);
    changes_sort(&t.changes);
}

static void equal_content_makes_a_rename(void **state)
{
    (void)state;
    add(CHANGE_CREATED, "new", "content");
    add(CHANGE_DELETED, "old", "content");
    add(CHANGE_CREATED, "other", "tnetnoc");
    add(CHANGE_DELETED, "longer", "content, and more");
    find(0);
    assert_changes("deleted longer\nrenamed new from old\ncreated other\n");
    assert_int_equal(change_at("new")->base.size, 7);
    assert_int_equal(strlen(change_at("new")->base_sum), SHA256_HEX_SIZE - 1);
}

static void empty_files_are_never_renamed(void **state)
{
    (void)state;
    add(CHANGE_CREATED, "new", "");
    add(CHANGE_DELETED, "old", "");
    find(0);
    assert_changes("created new\ndeleted old\n");
}

static void the_same_name_is_preferred(void **state)
{
    (void)state;
    tree_dir(t.base_fd, "from", 0755);
    tree_dir(t.collected.content_fd, "to", 0755);
    add(CHANGE_DELETED, "from/a", "text");
    add(CHANGE_DELETED, "from/b", "text");
    add(CHANGE_DELETED, "from/c", "text");
    add(CHANGE_CREATED, "to/b", "text");
    add(CHANGE_CREATED, "to/c", "text");
    find(0);
    assert_changes("deleted from/a\nrenamed to/b from from/b\nrenamed to/c from from/c\n");
}

static void each_deleted_file_is_used_once(void **state)
{
    (void)state;
    add(CHANGE_DELETED, "old", "text");
    add(CHANGE_CREATED, "copy1", "text");
    add(CHANGE_CREATED, "copy2", "text");
    find(0);
    assert_changes("renamed copy1 from old\ncreated copy2\n");
}

static void earlier_changes_are_left_alone(void **state)
{
    (void)state;
    add(CHANGE_DELETED, "old", "text");
    add(CHANGE_CREATED, "new", "text");
    find(1);
    assert_changes("created new\ndeleted old\n");
}

static void what_vanished_is_no_rename(void **state)
{
    (void)state;
    add(CHANGE_DELETED, "old", "text");
    add(CHANGE_CREATED, "new", "text");
    assert_int_equal(unlinkat(t.base_fd, "old", 0), 0);
    find(0);
    assert_changes("created new\ndeleted old\n");
}

static void a_known_sum_spares_the_reading(void **state)
{
    (void)state;
    add(CHANGE_DELETED, "old", "text");
    add(CHANGE_CREATED, "new", "text");
    sha256_hex("text", 4, t.changes.items[0].base_sum);
    assert_int_equal(unlinkat(t.base_fd, "old", 0), 0);
    find(0);
    assert_changes("renamed new from old\n");
}

static void many_equal_files_find_each_other_in_time(void **state)
{
    enum { MANY = 1000 };
    char name[32];
    size_t renamed = 0;

    (void)state;
    for (int i = 0; i < MANY; i++) {
        snprintf(name, sizeof(name), "old%d", i);
        add(CHANGE_DELETED, name, "all the same");
        snprintf(name, sizeof(name), "new%d", i);
        add(CHANGE_CREATED, name, "all the same");
    }
    find(0);
    assert_int_equal(t.changes.n, MANY);
    for (size_t i = 0; i < t.changes.n; i++)
        renamed += t.changes.items[i].op == CHANGE_RENAMED;
    assert_int_equal(renamed, MANY);
}

int main(void)
{
#define WITH_TREES(test) cmocka_unit_test_setup_teardown(test, pair_set_up, pair_tear_down)
    const struct CMUnitTest tests[] = {
        WITH_TREES(equal_content_makes_a_rename),
        WITH_TREES(empty_files_are_never_renamed),
        WITH_TREES(the_same_name_is_preferred),
        WITH_TREES(each_deleted_file_is_used_once),
        WITH_TREES(earlier_changes_are_left_alone),
        WITH_TREES(what_vanished_is_no_rename),
        WITH_TREES(a_known_sum_spares_the_reading),
        WITH_TREES(many_equal_files_find_each_other_in_time),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
