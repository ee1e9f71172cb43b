/* Files of a project that others fill, and change while they are read. */
#include "toolchain/project_file.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tree_fixture.h"
#include "unit.h"

#define ROUNDS 20000

static struct tree_place place;
static struct project_tree tree;
static sbr_request *req;
static sbr_error err;

/* `a` is the project, `b` lies outside. */
static int set_up(void **state)
{
    (void)state;
    tree_place_make(&place);
    tree_make(tree_at(&place, "a"), "d dir 755\nf dir/key 755 inside\nf .env 644 secret\n"
                                    "d out 755\nf out/x 644 hidden\nf .sandboxignore 644 out/\n");
    tree_make(tree_at(&place, "b"), "f key 644 outside\n");
    assert_int_equal(sbr_request_new(NULL, NULL, &req, &err), 0);
    assert_int_equal(project_file_begin(tree_at(&place, "a"), req, "test", &tree, &err), 0);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    project_file_end(&tree);
    sbr_request_free(req);
    tree_place_remove(&place);
    return 0;
}

/* What is read, or NULL: nothing, or an error. */
static char *text_of(const char *path)
{
    struct project_text text = { 0 };

    return project_file_read(&tree, path, &text, &err) > 0 ? text.data : NULL;
}

static void only_files_of_the_project_are_read(void **state)
{
    static const char *const none[] = { "nothing", "dir/key/x", ".env", "out/x" };
    static const char *const refused[] = { "leads",    "above/key", "pipe",       "dir",
                                           "up/b/key", "../b/key",  "/etc/passwd" };
    char *text = text_of("dir/key");
    struct project_text unused = { 0 };

    (void)state;
    assert_string_equal(text, "inside");
    free(text);
    assert_int_equal(symlinkat("../b/key", tree.fd, "leads"), 0);
    assert_int_equal(symlinkat("../b", tree.fd, "above"), 0);
    assert_int_equal(symlinkat("..", tree.fd, "up"), 0);
    assert_int_equal(mkfifoat(tree.fd, "pipe", 0600), 0);
    for (size_t i = 0; i < ARRAY_LEN(none); i++)
        assert_int_equal(project_file_read(&tree, none[i], &unused, &err), 0);
    for (size_t i = 0; i < ARRAY_LEN(refused); i++)
        assert_true(project_file_read(&tree, refused[i], &unused, &err) < 0);
    assert_null(unused.data);
    assert_int_equal(project_file_read_named(&tree, ".env", &unused, &err), 1);
    assert_string_equal(unused.data, "secret");
    free(unused.data);
}

static void what_is_read_is_bounded_in_all(void **state)
{
    struct project_text text = { 0 };
    struct listing list;

    (void)state;
    tree.bytes = strlen("inside") + 1;
    free(text_of("dir/key"));
    assert_int_equal(tree.bytes, 1);
    assert_true(project_file_read(&tree, "dir/key", &text, &err) < 0);
    tree.entries = 1;
    assert_true(project_file_list(&tree, "", &list, &err) < 0);
    listing_done(&list);
    assert_int_equal(project_file_list(&tree, "dir", &list, &err), 1);
    listing_done(&list);
    assert_int_equal(tree.entries, 0);
    tree.bytes = 1000;
    assert_true(project_file_read(&tree, "dir/key", &text, &err) < 0);
}

static atomic_bool done;

/* The directory and a link to the outside take turns under one name. */
static void *swap(void *context)
{
    (void)context;
    while (!atomic_load(&done))
        (void)!renameat2(tree.fd, "dir", tree.fd, "other", RENAME_EXCHANGE);
    return NULL;
}

static void a_directory_that_becomes_a_link_leads_nowhere(void **state)
{
    unsigned int inside = 0;
    pthread_t thread;

    (void)state;
    assert_int_equal(symlinkat("../b", tree.fd, "other"), 0);
    atomic_store(&done, false);
    assert_int_equal(pthread_create(&thread, NULL, swap, NULL), 0);
    for (unsigned int i = 0; i < ROUNDS; i++) {
        char *text = text_of("dir/key");
        struct listing list = { 0 };

        tree.bytes = tree.entries = 1000;
        if (text)
            assert_string_equal(text, "inside");
        inside += text != NULL;
        free(text);
        (void)!project_file_list(&tree, "dir", &list, &err);
        listing_done(&list);
    }
    atomic_store(&done, true);
    pthread_join(thread, NULL);
    assert_true(inside > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(only_files_of_the_project_are_read, set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_is_read_is_bounded_in_all, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_directory_that_becomes_a_link_leads_nowhere, set_up,
                                        tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
