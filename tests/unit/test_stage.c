/* What each stage of a language is given, on a machine with namespaces. */
#include "plan/stage.h"

#include "base/text.h"
#include "stage_fixture.h"
#include "unit.h"

static void stages_have_the_names_of_the_result(void **state)
{
    (void)state;
    assert_string_equal(stage_name(STAGE_PREPARE), "prepare");
    assert_string_equal(stage_name(STAGE_INSTALL), "dependencies");
    assert_string_equal(stage_name(STAGE_COMPILE), "compile");
    assert_string_equal(stage_name(STAGE_CHECK), "check");
    assert_string_equal(stage_name(STAGE_RUN), "run");
}

static void the_programs_own_stage_has_no_part_of_the_file(void **state)
{
    (void)state;
    assert_null(stage_def(&stage_language, STAGE_RUN));
    assert_null(stage_def(NULL, STAGE_COMPILE));
    assert_ptr_equal(stage_def(&stage_language, STAGE_INSTALL), &stage_language.install);
}

/* One stage after the other: where it may write, and what is read-only there. */
static void each_layer_is_written_by_its_maker_alone(void **state)
{
    static const struct {
        const char *inside;
        enum layer layer;
        enum stage maker;
    } rows[] = {
        { "prepared", LAYER_PREPARED, STAGE_PREPARE },
        { "deps", LAYER_DEPS, STAGE_INSTALL },
        { "build", LAYER_BUILD, STAGE_COMPILE },
    };

    (void)state;
    for (enum stage stage = 0; stage < N_STAGES; stage++) {
        struct plan *plan;

        stage_case_enter(stage);
        plan = plan_case_make(&c);
        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
            const struct plan_op *op = plan_find_op(plan, rows[i].inside);
            bool checks = stage == STAGE_CHECK && rows[i].layer == LAYER_BUILD;

            assert_non_null(op);
            if (stage == rows[i].maker || checks) {
                assert_int_equal(op->kind, OP_SCRATCH);
                assert_true(has_rule(plan, rows[i].inside, ACCESS_WRITE));
            } else {
                assert_int_equal(op->kind, OP_BIND);
                assert_false(op->flags & OP_WRITABLE);
                assert_string_equal(op->from, c.in.layers[rows[i].layer]);
                assert_false(has_rule(plan, rows[i].inside, ACCESS_WRITE));
            }
        }
        plan_free(plan);
    }
}

static void only_what_becomes_a_layer_is_collected(void **state)
{
    static const char *const taken[N_STAGES] = {
        [STAGE_PREPARE] = "prepared", [STAGE_INSTALL] = "deps", [STAGE_COMPILE] = "build"
    };

    (void)state;
    for (enum stage stage = 0; stage < N_STAGES; stage++) {
        struct plan *plan;

        stage_case_enter(stage);
        plan = plan_case_make(&c);
        if (taken[stage])
            assert_string_equal(plan->collects[0].path, taken[stage]);
        else
            assert_int_equal(plan->n_collects, 0);
        plan_free(plan);
    }
}

static void a_layer_that_is_not_there_is_not_mounted(void **state)
{
    struct plan *plan;

    (void)state;
    c.in.layers[LAYER_DEPS] = NULL;
    plan = plan_case_make(&c);
    assert_null(plan_find_op(plan, "deps"));
    assert_null(plan_find_op(plan, "node_modules"));
    assert_null(env_of(plan, "DEPS"));
    plan_free(plan);
}

static void only_a_stage_that_says_so_has_a_network(void **state)
{
    (void)state;
    for (enum stage stage = 0; stage < N_STAGES; stage++) {
        struct plan *plan;
        bool expected = stage == STAGE_INSTALL;

        stage_case_enter(stage);
        plan = plan_case_make(&c);
        assert_int_equal(plan->network, expected ? NETWORK_ALLOW : NETWORK_NONE);
        assert_true(isolation_has(&plan->isolation, "network-namespace"));
        assert_int_equal(isolation_has(&plan->isolation, "egress"), expected);
        assert_string_equal(plan->policy->name, expected ? "network" : "default");
        assert_int_equal(plan_find_op(plan, "etc/ssl/certs") != NULL, expected);
        plan_free(plan);
    }
}

/* Registries, proxies, tokens: for the installer, and for nobody else. */
static void a_clients_configuration_is_for_the_installer_alone(void **state)
{
    (void)state;
    for (enum stage stage = 0; stage < N_STAGES; stage++) {
        struct plan *plan;
        const struct plan_op *op;

        stage_case_enter(stage);
        plan = plan_case_make(&c);
        op = plan_find_op(plan, "work/.netrc");
        assert_int_equal(op != NULL, stage == STAGE_INSTALL);
        if (op) {
            assert_int_equal(op->kind, OP_PROGRAM);
            assert_int_equal(op->mode, 0600);
            assert_string_equal(env_of(plan, "REGISTRY"), "https://example.invalid");
        } else {
            assert_null(env_of(plan, "REGISTRY"));
        }
        plan_free(plan);
    }
}

/* A password may well have these letters in it. */
static void a_clients_configuration_is_no_text_of_ours(void **state)
{
    struct plan *plan;

    (void)state;
    stage_case_enter(STAGE_INSTALL);
    plan = plan_case_make(&c);
    assert_string_equal(env_of(plan, "TOKEN"), "a${prepared}b${source}");
    plan_free(plan);
}

static void an_installer_sees_the_manifests_and_nothing_else_of_the_program(void **state)
{
    struct plan *plan;

    (void)state;
    stage_case_enter(STAGE_INSTALL);
    plan = plan_case_make(&c);
    assert_non_null(plan_find_op(plan, "work/deps.txt"));
    assert_non_null(plan_find_op(plan, "work/deps.lock"));
    assert_null(plan_find_op(plan, "work/main.s"));
    assert_null(plan_find_op(plan, "work/other.s"));
    assert_null(plan_find_op(plan, "work/sub/deps.txt")); /* only the project's own */
    plan_free(plan);
}

static void what_is_shared_by_all_programs_sees_none(void **state)
{
    struct plan *plan;

    (void)state;
    stage_case_enter(STAGE_PREPARE);
    plan = plan_case_make(&c);
    assert_false(has_op_below(plan, "work/"));
    plan_free(plan);
}

static void compiling_checking_and_running_see_the_whole_program(void **state)
{
    static const enum stage stages[] = { STAGE_COMPILE, STAGE_CHECK, STAGE_RUN };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(stages); i++) {
        struct plan *plan;

        stage_case_enter(stages[i]);
        plan = plan_case_make(&c);
        assert_non_null(plan_find_op(plan, "work/main.s"));
        assert_non_null(plan_find_op(plan, "work/sub/deps.txt"));
        plan_free(plan);
    }
}

static void what_the_request_says_is_for_the_program_alone(void **state)
{
    sbr_error err;

    (void)state;
    assert_int_equal(request_add_env(c.request, "SECRET=1", &err), 0);
    assert_int_equal(request_add_env(c.request, "PATH=/work/evil", &err), 0);
    assert_int_equal(request_add_arg(c.request, "argument", &err), 0);
    assert_int_equal(request_set_workdir(c.request, "/tmp", &err), 0);
    for (enum stage stage = 0; stage < N_STAGES; stage++) {
        struct plan *plan;
        bool runs = stage == STAGE_RUN;

        stage_case_enter(stage);
        plan = plan_case_make(&c);
        assert_int_equal(env_of(plan, "SECRET") != NULL, runs);
        assert_int_equal(strcmp(env_of(plan, "PATH"), "/work/evil") == 0, runs);
        assert_int_equal(has_word(plan->argv, "argument"), runs);
        assert_string_equal(plan->workdir, runs ? "/tmp" : "/work");
        plan_free(plan);
    }
}

/* They are the user's data: an installer with a network could carry them away, and a layer that was
 * made with them would be kept for runs without. */
static void volumes_are_for_the_program_alone(void **state)
{
    static const struct plan_tree tree = { .source = "/srv", .target = "/data", .mode = VOLUME_RO };

    (void)state;
    c.in.trees = &tree;
    c.in.n_trees = 1;
    for (enum stage stage = 0; stage < N_STAGES; stage++) {
        struct plan *plan;

        stage_case_enter(stage);
        plan = plan_case_make(&c);
        assert_int_equal(plan_find_op(plan, "data") != NULL, stage == STAGE_RUN);
        plan_free(plan);
    }
}

/* Manifests of the project are for the installer, which does not see the project itself. */
static void an_installer_is_told_what_the_project_needs(void **state)
{
    static const struct request_file lists[] = {
        { .path = (char *)"deps.lock", .data = (char *)"of the project", .len = 14 },
        { .path = (char *)"unknown", .data = (char *)"", .len = 0 },
    };
    sbr_error err;

    (void)state;
    assert_int_equal(request_set_project(c.request, "/srv/app", &err), 0);
    for (enum stage stage = 0; stage < N_STAGES; stage++) {
        const struct plan_op *op;
        struct plan *plan;

        stage_case_enter(stage);
        c.in.manifests = lists;
        c.in.n_manifests = ARRAY_LEN(lists);
        plan = plan_case_make(&c);
        op = plan_find_op(plan, "work/deps.lock");
        assert_null(plan_find_op(plan, "work/unknown"));
        /* A file of the request of that name hides the project's. */
        if (op && op->len == 14)
            assert_int_equal(stage, STAGE_INSTALL);
        assert_string_equal(env_of(plan, "HOME"),
                            stage == STAGE_INSTALL || stage == STAGE_PREPARE ? "/work" : "/tmp");
        plan_free(plan);
    }
}

static void an_installer_is_told_what_to_install(void **state)
{
    sbr_error err;

    (void)state;
    assert_int_equal(request_add_dep(c.request, "left-pad@1.0", &err), 0);
    for (enum stage stage = 0; stage < N_STAGES; stage++) {
        struct plan *plan;

        stage_case_enter(stage);
        plan = plan_case_make(&c);
        assert_int_equal(has_word(plan->argv, "left-pad@1.0"), stage == STAGE_INSTALL);
        plan_free(plan);
    }
}

static void arguments_of_the_compiler_are_no_names_of_ours(void **state)
{
    sbr_error err;
    struct plan *plan;

    (void)state;
    assert_int_equal(request_add_compile_arg(c.request, "-D${deps}", &err), 0);
    stage_case_enter(STAGE_COMPILE);
    plan = plan_case_make(&c);
    assert_true(has_word(plan->argv, "-D${deps}"));
    plan_free(plan);
}

static void all_sources_are_named_the_main_one_first(void **state)
{
    struct plan *plan;

    (void)state;
    stage_case_enter(STAGE_COMPILE);
    plan = plan_case_make(&c);
    assert_string_equal(plan->argv[0], "/toolchain/stagelang/bin/tool");
    assert_string_equal(plan->argv[1], "/work/main.s");
    assert_string_equal(plan->argv[2], "/work/other.s");
    assert_string_equal(plan->argv[3], "/build");
    assert_null(plan->argv[4]);
    plan_free(plan);
}

static void a_toolchain_elsewhere_has_a_neutral_name(void **state)
{
    struct plan *plan = plan_case_make(&c);
    const struct plan_op *op = plan_find_op(plan, "toolchain/stagelang");

    (void)state;
    assert_int_equal(op->kind, OP_BIND);
    assert_string_equal(op->from, "/home/somebody/tools");
    assert_false(op->flags & OP_WRITABLE);
    assert_string_equal(env_of(plan, "HOME_OF_TOOL"), "/toolchain/stagelang");
    for (size_t i = 0; plan->argv[i]; i++)
        assert_null(strstr(plan->argv[i], "somebody"));
    for (size_t i = 0; plan->env[i]; i++)
        assert_null(strstr(plan->env[i], "somebody"));
    plan_free(plan);
}

static void a_binary_without_a_home_comes_alone(void **state)
{
    static const struct toolchain alone = { .binary = "/opt/tool", .tree = "/opt/tool" };
    struct plan *plan;

    (void)state;
    c.in.toolchain = &alone;
    plan = plan_case_make(&c);
    assert_string_equal(plan_find_op(plan, "toolchain/stagelang/bin/tool")->from, "/opt/tool");
    assert_null(plan_find_op(plan, "toolchain/stagelang"));
    assert_null(env_of(plan, "HOME_OF_TOOL"));
    plan_free(plan);
}

static void a_toolchain_of_the_system_is_not_mounted_twice(void **state)
{
    static const struct toolchain system = { .binary = "/usr/bin/tool", .home = "/usr" };
    struct plan *plan;

    (void)state;
    c.in.toolchain = &system;
    stage_case_enter(STAGE_COMPILE);
    plan = plan_case_make(&c);
    assert_false(has_op_below(plan, "toolchain"));
    assert_string_equal(plan->argv[0], "/usr/bin/tool");
    plan_free(plan);
}

static void what_a_tool_needs_keeps_its_place(void **state)
{
    struct plan *plan = plan_case_make(&c);

    (void)state;
    assert_string_equal(plan_find_op(plan, "etc/tool")->from, "/etc/tool");
    assert_false(plan_find_op(plan, "etc/tool")->flags & OP_WRITABLE);
    plan_free(plan);
}

/* Root's own store is closed to the user that runs inside: the supervisor passes the trees in. */
static void roots_trees_are_passed_in(void **state)
{
    static const char *const trees[] = { "prepared", "deps", "build", "toolchain/stagelang",
                                         "etc/tool" };

    (void)state;
    for (int privileged = 0; privileged < 2; privileged++) {
        struct plan *plan;

        c.features.privileged = privileged;
        plan = plan_case_make(&c);
        for (size_t i = 0; i < ARRAY_LEN(trees); i++)
            assert_int_equal(!!(plan_find_op(plan, trees[i])->flags & OP_PASSED), privileged);
        plan_free(plan);
    }
}

static void drivers_are_ours_where_a_command_names_them(void **state)
{
    (void)state;
    for (enum stage stage = 0; stage < N_STAGES; stage++) {
        const struct plan_op *op;
        struct plan *plan;

        stage_case_enter(stage);
        plan = plan_case_make(&c);
        assert_int_equal(plan_find_op(plan, "driver")->kind, OP_DIR);
        assert_false(has_rule(plan, "driver", ACCESS_WRITE));
        op = plan_find_op(plan, "driver/build.sh");
        assert_int_equal(!!op, stage == STAGE_COMPILE);
        if (op) {
            assert_int_equal(op->kind, OP_FILE); /* in the root, which becomes read-only */
            assert_int_equal(op->mode, 0555);
            assert_memory_equal(op->data, "exit 0", 6);
        }
        plan_free(plan);
    }
}

static void a_name_in_the_root_leads_to_the_dependencies(void **state)
{
    struct plan *plan = plan_case_make(&c);

    (void)state;
    assert_int_equal(plan_find_op(plan, "node_modules")->kind, OP_SYMLINK);
    assert_string_equal(plan_find_op(plan, "node_modules")->from, "/deps/node_modules");
    plan_free(plan);
    stage_case_enter(STAGE_INSTALL);
    plan = plan_case_make(&c);
    assert_null(plan_find_op(plan, "node_modules"));
    plan_free(plan);
}

static void a_stage_has_its_own_variables(void **state)
{
    struct plan *plan;

    (void)state;
    stage_case_enter(STAGE_COMPILE);
    plan = plan_case_make(&c);
    assert_string_equal(env_of(plan, "STAGE"), "compile");
    assert_string_equal(env_of(plan, "DEPS"), "/deps");
    assert_string_equal(env_of(plan, "HOME"), "/work");
    plan_free(plan);
    plan = (stage_case_enter(STAGE_RUN), plan_case_make(&c));
    assert_null(env_of(plan, "STAGE"));
    plan_free(plan);
}

static void a_stage_has_the_limits_that_it_is_given(void **state)
{
    struct limits limits;
    struct plan *plan;

    (void)state;
    limits_init(&limits);
    limits.value[SBR_MEMORY_BYTES] = 3 * GIB;
    c.in.limits = &limits;
    plan = plan_case_make(&c);
    assert_int_equal(plan->limits.value[SBR_MEMORY_BYTES], 3 * GIB);
    assert_string_equal(env_of(plan, "MEMORY"), "3072");
    plan_free(plan);
}

/* A command of the user's with the language's tools: words before it make the layers known. */
static void a_command_has_the_words_of_the_language_before_it_where_there_is_a_layer(void **state)
{
    static const char *const command[] = { "env", "DEPS=${deps}", "sh" };
    struct language language = stage_language;
    struct plan *plan;
    sbr_error err;

    (void)state;
    assert_int_equal(request_add_arg(c.request, "list", &err), 0);
    language.run = (struct words){ (const char **)command, ARRAY_LEN(command) };
    language.is_tools = true;
    stage_case_enter(STAGE_RUN);
    c.in.language = &language;
    plan = plan_case_make(&c);
    assert_string_equal(plan->argv[1], "DEPS=/deps");
    assert_string_equal(plan->argv[2], "sh");
    plan_free(plan);
    c.in.layers[LAYER_DEPS] = c.in.layers[LAYER_PREPARED] = c.in.layers[LAYER_BUILD] = NULL;
    plan = plan_case_make(&c);
    assert_string_equal(plan->argv[0], "list");
    plan_free(plan);
}

#define STAGE_TEST(test) cmocka_unit_test_setup_teardown(test, stage_set_up, stage_tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        STAGE_TEST(stages_have_the_names_of_the_result),
        STAGE_TEST(the_programs_own_stage_has_no_part_of_the_file),
        STAGE_TEST(each_layer_is_written_by_its_maker_alone),
        STAGE_TEST(only_what_becomes_a_layer_is_collected),
        STAGE_TEST(a_layer_that_is_not_there_is_not_mounted),
        STAGE_TEST(only_a_stage_that_says_so_has_a_network),
        STAGE_TEST(a_clients_configuration_is_for_the_installer_alone),
        STAGE_TEST(a_clients_configuration_is_no_text_of_ours),
        STAGE_TEST(an_installer_sees_the_manifests_and_nothing_else_of_the_program),
        STAGE_TEST(what_is_shared_by_all_programs_sees_none),
        STAGE_TEST(compiling_checking_and_running_see_the_whole_program),
        STAGE_TEST(what_the_request_says_is_for_the_program_alone),
        STAGE_TEST(volumes_are_for_the_program_alone),
        STAGE_TEST(an_installer_is_told_what_the_project_needs),
        STAGE_TEST(an_installer_is_told_what_to_install),
        STAGE_TEST(arguments_of_the_compiler_are_no_names_of_ours),
        STAGE_TEST(all_sources_are_named_the_main_one_first),
        STAGE_TEST(a_toolchain_elsewhere_has_a_neutral_name),
        STAGE_TEST(a_binary_without_a_home_comes_alone),
        STAGE_TEST(a_toolchain_of_the_system_is_not_mounted_twice),
        STAGE_TEST(what_a_tool_needs_keeps_its_place),
        STAGE_TEST(roots_trees_are_passed_in),
        STAGE_TEST(drivers_are_ours_where_a_command_names_them),
        STAGE_TEST(a_name_in_the_root_leads_to_the_dependencies),
        STAGE_TEST(a_stage_has_its_own_variables),
        STAGE_TEST(a_stage_has_the_limits_that_it_is_given),
        STAGE_TEST(a_command_has_the_words_of_the_language_before_it_where_there_is_a_layer),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
