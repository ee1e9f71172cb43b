/* The same stages on a machine without namespaces: trees stay where they are, and rules of Landlock
 * say who may do what with them. */
#include "stage_fixture.h"
#include "unit.h"

#define PLACE "/var/tmp/sandbox-run-place"

static int set_up(void **state)
{
    stage_set_up(state);
    c.features.user_namespaces = false;
    c.features.uid = 1000;
    request_set_require(c.request, TIER_PROCESS);
    return 0;
}

static bool has_path(const struct plan *plan, const char *path, enum access_kind access)
{
    return has_rule(plan, path + 1, access);
}

static void nothing_is_installed_there(void **state)
{
    struct plan *plan = NULL;
    sbr_error err;

    (void)state;
    stage_case_enter(STAGE_INSTALL);
    assert_refused(planner_make(&c.in, &plan, &err), &err, SBR_E_UNSUPPORTED,
                   "without namespaces nothing is installed");
    assert_null(plan);
}

/* Its programs run as somebody to whom its store is closed. */
static void root_is_told_to_be_somebody_else(void **state)
{
    struct plan *plan = NULL;
    sbr_error err;

    (void)state;
    c.features.uid = 0;
    assert_refused(planner_make(&c.in, &plan, &err), &err, SBR_E_UNSUPPORTED,
                   "call as an ordinary user");
    assert_null(plan);
}

static void nothing_is_mounted(void **state)
{
    static const enum stage stages[] = { STAGE_PREPARE, STAGE_COMPILE, STAGE_CHECK, STAGE_RUN };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(stages); i++) {
        struct plan *plan;

        stage_case_enter(stages[i]);
        plan = plan_case_make(&c);
        for (size_t k = 0; k < plan->n_ops; k++)
            assert_true(plan->ops[k].kind != OP_BIND);
        plan_free(plan);
    }
}

static void layers_can_be_read_where_they_are(void **state)
{
    struct plan *plan = plan_case_make(&c);
    static const char *const trees[] = { "/cache/prepared", "/cache/deps", "/cache/build",
                                         "/etc/tool", "/home/somebody/tools" };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(trees); i++) {
        assert_true(has_path(plan, trees[i], ACCESS_READ));
        assert_false(has_path(plan, trees[i], ACCESS_WRITE));
    }
    assert_string_equal(plan->argv[0], "/cache/build/program");
    assert_string_equal(env_of(plan, "DEPS"), "/cache/deps");
    assert_string_equal(env_of(plan, "HOME_OF_TOOL"), "/home/somebody/tools");
    plan_free(plan);
}

static void a_layer_is_made_in_the_runs_own_place(void **state)
{
    struct plan *plan;

    (void)state;
    stage_case_enter(STAGE_COMPILE);
    plan = plan_case_make(&c);
    assert_string_equal(plan->collects[0].path, "build");
    assert_int_equal(plan_find_op(plan, "build")->kind, OP_SCRATCH);
    assert_true(has_path(plan, PLACE "/build", ACCESS_WRITE));
    assert_false(
        has_path(plan, "/cache/build", ACCESS_READ)); /* the old one is nobody's business */
    assert_true(has_word(plan->argv, PLACE "/build"));
    assert_true(has_word(plan->argv, PLACE "/work/main.s"));
    assert_string_equal(env_of(plan, "HOME"), PLACE "/work");
    assert_string_equal(env_of(plan, "TMPDIR"), PLACE "/tmp");
    plan_free(plan);
}

static void nothing_else_can_be_written(void **state)
{
    static const enum stage stages[] = { STAGE_PREPARE, STAGE_COMPILE, STAGE_CHECK, STAGE_RUN };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(stages); i++) {
        struct plan *plan;

        stage_case_enter(stages[i]);
        plan = plan_case_make(&c);
        for (size_t k = 0; k < plan->n_rules; k++)
            if (plan->rules[k].access == ACCESS_WRITE)
                assert_memory_equal(plan->rules[k].path, PLACE "/", sizeof(PLACE));
        plan_free(plan);
    }
}

static void drivers_can_only_be_read(void **state)
{
    struct plan *plan;

    (void)state;
    stage_case_enter(STAGE_COMPILE);
    plan = plan_case_make(&c);
    assert_non_null(plan_find_op(plan, "driver/build.sh"));
    assert_true(has_path(plan, PLACE "/driver", ACCESS_READ));
    assert_false(has_path(plan, PLACE "/driver", ACCESS_WRITE));
    plan_free(plan);
}

/* Landlock does not look at times and modes of files that are open for reading; the files of the
 * store are the user's own, and stay. */
static void what_landlock_does_not_keep_the_filter_does(void **state)
{
    const struct policy *keeptimes = policy_find("keeptimes");
    struct plan *plan = plan_case_make(&c);
    bool found = false;

    (void)state;
    for (size_t i = 0; i < plan->n_filters; i++)
        found |= !memcmp(&plan->filters[i], &keeptimes->filter, sizeof(keeptimes->filter));
    assert_true(found);
    plan_free(plan);
}

static void the_link_to_the_dependencies_is_in_the_place(void **state)
{
    struct plan *plan = plan_case_make(&c);

    (void)state;
    assert_string_equal(plan_find_op(plan, "node_modules")->from, "/cache/deps/node_modules");
    plan_free(plan);
}

static void there_are_never_more_trees_than_rules(void **state)
{
    static const char *trees[PLAN_MAX_RULES];
    struct plan *plan = NULL;
    sbr_error err;

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(trees); i++)
        trees[i] = "/etc/tool";
    c.in.needs = (struct words){ trees, ARRAY_LEN(trees) };
    assert_refused(planner_make(&c.in, &plan, &err), &err, SBR_E_INVALID, "more trees than rules");
}

#define PROCESS_TEST(test) cmocka_unit_test_setup_teardown(test, set_up, stage_tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        PROCESS_TEST(nothing_is_installed_there),
        PROCESS_TEST(root_is_told_to_be_somebody_else),
        PROCESS_TEST(nothing_is_mounted),
        PROCESS_TEST(layers_can_be_read_where_they_are),
        PROCESS_TEST(a_layer_is_made_in_the_runs_own_place),
        PROCESS_TEST(nothing_else_can_be_written),
        PROCESS_TEST(drivers_can_only_be_read),
        PROCESS_TEST(what_landlock_does_not_keep_the_filter_does),
        PROCESS_TEST(the_link_to_the_dependencies_is_in_the_place),
        PROCESS_TEST(there_are_never_more_trees_than_rules),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
