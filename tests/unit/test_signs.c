/* Which files of a project are signs, of a directory and of a request. */
#include "work/signs.h"

#include <fcntl.h>
#include <unistd.h>

#include "tree_fixture.h"
#include "unit.h"
#include "work/test_runner.h"

static const char *runner_of(const struct signs *signs)
{
    const struct test_runner *runner;
    sbr_error err;

    return test_runner_find(signs, NULL, &runner, &err) < 0 ? "none" : runner->name;
}

static void the_nearest_sign_decides_and_results_have_none(void **state)
{
    struct tree_place place;
    struct signs signs = { .dir_fd = -1 };

    (void)state;
    tree_place_make(&place);
    signs.dir_fd = tree_open(&place, "a");
    tree_make(tree_at(&place, "a"),
              "d node_modules 755\nd node_modules/x 755\nf node_modules/x/a.test.js 644 x\n"
              "d .hidden 755\nf .hidden/test_a.py 644 unittest\n");
    assert_string_equal(runner_of(&signs), "none");
    tree_make(tree_at(&place, "a"),
              "d pkg 755\nd pkg/tests 755\nf pkg/tests/test_a.py 644 import pytest\n"
              "f pkg/Cargo.toml 644 x\n");
    assert_string_equal(runner_of(&signs), "pytest");
    assert_false(signs_have(&signs, SIGNS_NEAR, "test_*.py", ""));
    assert_true(signs_have(&signs, SIGNS_BELOW, "test_*.py", "pytest"));
    assert_false(signs_have(&signs, SIGNS_BELOW, "test_*.py", "unittest"));
    tree_make(tree_at(&place, "a"), "f pom.xml 644 <project/>\n");
    assert_string_equal(runner_of(&signs), "maven");
    close(signs.dir_fd);
    tree_place_remove(&place);
}

static void files_of_a_request_are_signs_as_well(void **state)
{
    static const char text[] = "package x";
    struct signs signs = { .dir_fd = -1 };
    sbr_request *req = NULL;
    sbr_error err;

    (void)state;
    assert_int_equal(sbr_request_new(NULL, NULL, &req, &err), 0);
    signs.req = req;
    assert_int_equal(request_add_file(req, "vendor/y/y_test.go", text, sizeof(text) - 1, &err), 0);
    assert_string_equal(runner_of(&signs), "none");
    assert_int_equal(request_add_file(req, "x/y/y_test.go", text, sizeof(text) - 1, &err), 0);
    assert_string_equal(runner_of(&signs), "go");
    assert_null(signs_read(&signs, "y_test.go"));
    sbr_request_free(req);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_nearest_sign_decides_and_results_have_none),
        cmocka_unit_test(files_of_a_request_are_signs_as_well),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
