/* Cases of a directory that others fill. */
#include "work/golden_cases.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tree_fixture.h"
#include "unit.h"

static struct tree_place place;
static sbr_request *req;
static sbr_error err;

static int set_up(void **state)
{
    (void)state;
    tree_place_make(&place);
    tree_make(
        tree_at(&place, "a"),
        "d golden 755\nf golden/command 644 cat\nd golden/one 755\nf golden/one/stdout 644 x\n"
        "d golden/one/input 755\nd golden/one/input/deep 755\nf golden/one/input/deep/f 755 in\n"
        "d golden/two 755\nf golden/two/status 644 3\nf golden/two/command 644 false\n");
    tree_make(tree_at(&place, "b"), "f key 644 outside\n");
    return sbr_request_new(NULL, NULL, &req, &err);
}

static int tear_down(void **state)
{
    (void)state;
    sbr_request_free(req);
    tree_place_remove(&place);
    return 0;
}

static int load(struct golden_cases *ret)
{
    struct project_tree tree;
    int r = project_file_begin(tree_at(&place, "a"), req, "golden", &tree, &err);

    if (r == 0)
        r = golden_cases_load(&tree, "golden", ret, &err);
    project_file_end(&tree);
    return r;
}

static void cases_have_what_their_files_say(void **state)
{
    struct golden_cases cases;

    (void)state;
    assert_int_equal(load(&cases), 0);
    assert_int_equal(cases.n, 2);
    assert_string_equal(cases.items[0].name, "one");
    assert_string_equal(cases.items[0].command, "cat");
    assert_string_equal(cases.items[0].out.data, "x");
    assert_int_equal(cases.items[0].n_inputs, 1);
    assert_string_equal(cases.items[0].inputs[0].path, "deep/f");
    assert_true(cases.items[0].inputs[0].executable);
    assert_string_equal(cases.items[1].command, "false");
    assert_int_equal(cases.items[1].status, 3);
    golden_cases_done(&cases);
}

/* Every name that a case can have, as a link to a file, to a directory, and as a pipe. */
static void no_part_of_a_case_is_a_link_or_a_pipe(void **state)
{
    static const char *const names[] = { "stdin",     "stdout", "stderr",      "status",
                                         "command",   "input",  "normalize",   "tree",
                                         "input/key", "tree/k", "input/deep/f" };
    static const char *const targets[] = { "b/key", "b", NULL };
    int fd = tree_open(&place, "a");

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(names); i++)
        for (size_t k = 0; k < ARRAY_LEN(targets); k++) {
            struct golden_cases cases = { 0 };
            char path[100];

            snprintf(path, sizeof(path), "golden/three/%s", names[i]);
            assert_int_equal(mkdirat(fd, "golden/three", 0755), 0);
            (void)mkdirat(fd, "golden/three/input", 0755);
            (void)mkdirat(fd, "golden/three/input/deep", 0755);
            (void)mkdirat(fd, "golden/three/tree", 0755);
            (void)unlinkat(fd, path, AT_REMOVEDIR);
            if (!strcmp(names[i], "input")) {
                (void)unlinkat(fd, "golden/three/input/deep", AT_REMOVEDIR);
                (void)unlinkat(fd, path, AT_REMOVEDIR);
            }
            assert_int_equal(targets[k] ? symlinkat(tree_at(&place, targets[k]), fd, path)
                                        : mkfifoat(fd, path, 0600),
                             0);
            /* A pipe in the place of a directory is none; everything else is refused. */
            if (targets[k] || (strcmp(names[i], "input") != 0 && strcmp(names[i], "tree") != 0))
                assert_true(load(&cases) < 0);
            else
                assert_int_equal(load(&cases), 0);
            golden_cases_done(&cases);
            (void)unlinkat(fd, path, 0);
            (void)unlinkat(fd, "golden/three/input/deep", AT_REMOVEDIR);
            (void)unlinkat(fd, "golden/three/input", AT_REMOVEDIR);
            (void)unlinkat(fd, "golden/three/tree", AT_REMOVEDIR);
            assert_int_equal(unlinkat(fd, "golden/three", AT_REMOVEDIR), 0);
        }
    close(fd);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(cases_have_what_their_files_say, set_up, tear_down),
        cmocka_unit_test_setup_teardown(no_part_of_a_case_is_a_link_or_a_pipe, set_up, tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
