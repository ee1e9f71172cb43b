#include <stdio.h>

#include "plan/plan_root.h"
#include "plan_fixture.h"
#include "unit.h"

static struct plan_case c;
static sbr_error err;

static int set_up(void **state)
{
    (void)state;
    plan_case_init(&c);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    plan_case_done(&c);
    return 0;
}

static int refused(void)
{
    struct plan *plan = NULL;
    int r = planner_make(&c.in, &plan, &err);

    plan_free(plan);
    return r;
}

static void drop_code(void)
{
    assert_int_equal(request_set_text(&c.request->code, NULL, &err), 0);
}

static void assert_words(const char *const *words, const char *expected)
{
    char joined[500] = "";
    size_t used = 0;

    for (; *words; words++)
        used += (size_t)snprintf(joined + used, sizeof(joined) - used, "[%s]", *words);
    assert_string_equal(joined, expected);
}

static void code_becomes_the_file_that_its_language_names(void **state)
{
    struct plan *plan = plan_case_make(&c);
    const struct plan_op *op = plan_find_op(plan, "work/main.py");

    (void)state;
    assert_int_equal(op->kind, OP_PROGRAM);
    assert_int_equal(op->mode, 0644);
    assert_int_equal(op->len, 8);
    assert_memory_equal(op->data, "print(1)", 8);
    assert_words(plan->argv, "[/usr/bin/python3][-B][-s][/work/main.py]");
    assert_string_equal(plan->workdir, "/work");
    plan_free(plan);
}

static void the_first_file_is_the_program(void **state)
{
    struct plan *plan;

    (void)state;
    drop_code();
    assert_int_equal(request_add_file(c.request, "pkg/start.py", "x", 1, &err), 0);
    assert_int_equal(request_add_file(c.request, "pkg/other.py", "y", 1, &err), 0);
    c.request->files[1].executable = true;
    plan = plan_case_make(&c);
    assert_words(plan->argv, "[/usr/bin/python3][-B][-s][/work/pkg/start.py]");
    assert_int_equal(plan_find_op(plan, "work/pkg/start.py")->mode, 0644);
    assert_int_equal(plan_find_op(plan, "work/pkg/other.py")->mode, 0755);
    plan_free(plan);
}

static void files_beside_code_are_its_neighbours(void **state)
{
    struct plan *plan;

    (void)state;
    assert_int_equal(request_add_file(c.request, "data.txt", "x", 1, &err), 0);
    plan = plan_case_make(&c);
    assert_non_null(plan_find_op(plan, "work/data.txt"));
    assert_words(plan->argv, "[/usr/bin/python3][-B][-s][/work/main.py]");
    plan_free(plan);
}

static void a_file_may_not_have_the_name_of_the_code(void **state)
{
    (void)state;
    assert_int_equal(request_add_file(c.request, "main.py", "x", 1, &err), 0);
    assert_refused(refused(), &err, SBR_E_INVALID, "'main.py' has the name that the code");
}

/* Otherwise the run would fail inside, when the file is written where a directory is. */
static void a_file_may_not_be_below_the_name_of_the_code(void **state)
{
    (void)state;
    assert_int_equal(request_add_file(c.request, "main.py/x", "x", 1, &err), 0);
    assert_refused(refused(), &err, SBR_E_INVALID, "main.py");
}

static void arguments_follow_the_command(void **state)
{
    struct plan *plan;

    (void)state;
    assert_int_equal(request_add_arg(c.request, "-v", &err), 0);
    assert_int_equal(request_add_arg(c.request, "${source}", &err), 0); /* not ours to expand */
    plan = plan_case_make(&c);
    assert_words(plan->argv, "[/usr/bin/python3][-B][-s][/work/main.py][-v][${source}]");
    plan_free(plan);
}

static void without_a_language_the_arguments_are_the_command(void **state)
{
    struct plan *plan;

    (void)state;
    drop_code();
    c.in.language = NULL;
    assert_refused(refused(), &err, SBR_E_INVALID, "there is no command to run");
    assert_int_equal(request_add_arg(c.request, "ls", &err), 0);
    assert_int_equal(request_add_arg(c.request, "-l", &err), 0);
    plan = plan_case_make(&c);
    assert_words(plan->argv, "[ls][-l]");
    plan_free(plan);
}

static void an_empty_command_is_refused(void **state)
{
    (void)state;
    drop_code();
    c.in.language = NULL;
    assert_int_equal(request_add_arg(c.request, "", &err), 0);
    assert_refused(refused(), &err, SBR_E_INVALID, "there is no command to run");
}

static void a_language_needs_a_program_and_code_needs_a_language(void **state)
{
    (void)state;
    c.in.language = NULL;
    assert_refused(refused(), &err, SBR_E_INVALID, "code but no language");
    c.in.language = language_find("python");
    drop_code();
    assert_refused(refused(), &err, SBR_E_INVALID, "there is no program");
}

static void the_environment_is_small_and_known(void **state)
{
    struct plan *plan = plan_case_make(&c);

    (void)state;
    assert_words(plan->env, "[PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin]"
                            "[HOME=/work][LANG=C.UTF-8][USER=sandbox][PYTHONPATH=/driver]");
    plan_free(plan);
}

static void later_variables_replace_earlier_ones(void **state)
{
    static const char *language_env[] = { "HOME=/lang", "LANGUAGE_ONLY=1", "GONE=${deps}" };
    struct language language = *language_find("python");
    struct plan *plan;

    (void)state;
    language.env = (struct words){ language_env, ARRAY_LEN(language_env) };
    c.in.language = &language;
    assert_int_equal(request_add_env(c.request, "PATH=/mine", &err), 0);
    assert_int_equal(request_add_env(c.request, "NEW=1", &err), 0);
    assert_int_equal(request_add_env(c.request, "NEW=2", &err), 0);
    assert_int_equal(request_add_env(c.request, "LAN=prefix", &err), 0);
    plan = plan_case_make(&c);
    assert_words(plan->env, "[PATH=/mine][HOME=/lang][LANG=C.UTF-8][USER=sandbox]"
                            "[LANGUAGE_ONLY=1][NEW=2][LAN=prefix]");
    plan_free(plan);
}

static void the_work_directory_is_where_the_request_says(void **state)
{
    struct plan *plan;

    (void)state;
    assert_int_equal(request_set_workdir(c.request, "/tmp", &err), 0);
    plan = plan_case_make(&c);
    assert_string_equal(plan->workdir, "/tmp");
    plan_free(plan);
}

static void a_program_of_a_project_runs_where_it_stands(void **state)
{
    struct plan *plan;

    (void)state;
    drop_code();
    assert_int_equal(request_set_project(c.request, "/srv/app", &err), 0);
    assert_int_equal(request_set_program(c.request, "bin/go.py", &err), 0);
    assert_int_equal(request_add_file(c.request, "data.txt", "x", 1, &err), 0);
    plan = plan_case_make(&c);
    assert_words(plan->argv, "[/usr/bin/python3][-B][-s][/work/bin/go.py]");
    assert_null(plan_find_op(plan, "work/bin/go.py"));
    assert_non_null(plan_find_op(plan, "work/data.txt"));
    /* Modules of its root are found, and what tools keep at home is no change. */
    assert_words(plan->env, "[PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin]"
                            "[HOME=/tmp][LANG=C.UTF-8][USER=sandbox][PYTHONPATH=/driver:/work]");
    plan_free(plan);
}

static void code_beside_a_file_of_its_name_has_another(void **state)
{
    struct plan *plan;

    (void)state;
    assert_int_equal(request_set_project(c.request, "/srv/app", &err), 0);
    c.in.code_name = "sandbox_run_main.py";
    plan = plan_case_make(&c);
    assert_words(plan->argv, "[/usr/bin/python3][-B][-s][/work/sandbox_run_main.py]");
    assert_null(plan_find_op(plan, "work/main.py"));
    assert_int_equal(plan_find_op(plan, "work/sandbox_run_main.py")->kind, OP_PROGRAM);
    plan_free(plan);
}

#define BASE_ENV                                                                                   \
    "[PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin]"                          \
    "[HOME=/work][LANG=C.UTF-8][USER=sandbox]"

static void a_workspace_is_a_home(void **state)
{
    struct plan *plan;

    (void)state;
    assert_int_equal(request_set_workspace(c.request, "w", &err), 0);
    plan = plan_case_make(&c);
    assert_words(plan->env, "[PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin]"
                            "[HOME=/work][LANG=C.UTF-8][USER=sandbox][PYTHONPATH=/driver:/work]");
    plan_free(plan);
}

static void lines_are_written_at_once_unless_buffered(void **state)
{
    struct plan *plan;

    (void)state;
    plan = plan_case_make(&c);
    assert_words(plan->env, BASE_ENV "[PYTHONPATH=/driver]");
    assert_non_null(plan_find_op(plan, "driver/sitecustomize.py"));
    plan_free(plan);
    c.request->buffered = true;
    plan = plan_case_make(&c);
    assert_words(plan->env, BASE_ENV);
    plan_free(plan);
}

#define PROGRAM_TEST(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        PROGRAM_TEST(code_becomes_the_file_that_its_language_names),
        PROGRAM_TEST(the_first_file_is_the_program),
        PROGRAM_TEST(files_beside_code_are_its_neighbours),
        PROGRAM_TEST(a_file_may_not_have_the_name_of_the_code),
        PROGRAM_TEST(a_file_may_not_be_below_the_name_of_the_code),
        PROGRAM_TEST(arguments_follow_the_command),
        PROGRAM_TEST(without_a_language_the_arguments_are_the_command),
        PROGRAM_TEST(an_empty_command_is_refused),
        PROGRAM_TEST(a_language_needs_a_program_and_code_needs_a_language),
        PROGRAM_TEST(the_environment_is_small_and_known),
        PROGRAM_TEST(later_variables_replace_earlier_ones),
        PROGRAM_TEST(the_work_directory_is_where_the_request_says),
        PROGRAM_TEST(a_program_of_a_project_runs_where_it_stands),
        PROGRAM_TEST(code_beside_a_file_of_its_name_has_another),
        PROGRAM_TEST(a_workspace_is_a_home),
        PROGRAM_TEST(lines_are_written_at_once_unless_buffered),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
