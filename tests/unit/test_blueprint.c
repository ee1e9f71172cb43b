/* What of a plan is prepared ahead, and which runs can share it. */
#include "plan/blueprint.h"

#include "base/text.h"
#include "stage_fixture.h"
#include "unit.h"

#define WORDS(...)                                                                                 \
    {                                                                                              \
        (const char *[]){ __VA_ARGS__ }, sizeof((const char *[]){ __VA_ARGS__ }) / sizeof(char *)  \
    }

static const struct warm_def warm = {
    .run = WORDS("${binary}", "${driver}/wait", "${source}", "${deps}"),
    .compile = WORDS("${binary}", "compile", "${sources}", "${compile_args}"),
};

/* The same language with programs that wait for others. */
static struct language warm_language;

static int set_up(void **state)
{
    stage_set_up(state);
    warm_language = stage_language;
    warm_language.warm = warm;
    c.in.language = &warm_language;
    return 0;
}

/* The blueprint owns nothing of the plan's, so both are kept; the caller frees both. */
static struct plan *blueprint_of(struct plan *plan)
{
    struct plan *blueprint = NULL;
    sbr_error err = { 0 };

    assert_null(blueprint_refusal(plan));
    assert_int_equal(blueprint_make(plan, &c.in, &blueprint, &err), 0);
    return blueprint;
}

static void key_now(char key[SHA256_HEX_SIZE])
{
    struct plan *plan = plan_case_make(&c), *blueprint = blueprint_of(plan);
    sbr_error err;

    assert_int_equal(blueprint_key(blueprint, key, &err), 0);
    plan_free(blueprint);
    plan_free(plan);
}

static void assert_same_key(const char *before)
{
    char key[SHA256_HEX_SIZE];

    key_now(key);
    assert_string_equal(key, before);
}

static void assert_other_key(const char *before)
{
    char key[SHA256_HEX_SIZE];

    key_now(key);
    assert_string_not_equal(key, before);
}

static void a_blueprint_has_nothing_of_the_program(void **state)
{
    struct plan *plan, *blueprint;

    (void)state;
    plan = plan_case_make(&c);
    blueprint = blueprint_of(plan);
    for (size_t i = 0; i < blueprint->n_ops; i++)
        assert_int_not_equal(blueprint->ops[i].kind, OP_PROGRAM);
    assert_false(has_op_below(blueprint, "work/"));
    assert_int_equal(blueprint->n_rlimits, 0);
    assert_string_equal(blueprint->workdir, "/work");
    assert_non_null(plan_find_op(blueprint, "work"));
    assert_non_null(plan_find_op(blueprint, "driver/build.sh"));
    plan_free(blueprint);
    plan_free(plan);
}

static void a_blueprint_can_be_encoded_and_decoded(void **state)
{
    struct plan *plan, *blueprint, *copy = NULL;
    struct buf bytes;
    sbr_error err;

    (void)state;
    plan = plan_case_make(&c);
    blueprint = blueprint_of(plan);
    buf_init(&bytes, MIB);
    assert_int_equal(plan_encode(blueprint, &bytes, &err), 0);
    assert_int_equal(plan_decode(bytes.data, bytes.len, &copy, &err), 0);
    assert_int_equal(copy->standby, STANDBY_DRIVER);
    assert_int_equal(copy->n_ops, blueprint->n_ops);
    plan_free(copy);
    buf_done(&bytes);
    plan_free(blueprint);
    plan_free(plan);
}

static void the_compiled_program_comes_later(void **state)
{
    struct plan *plan, *blueprint;
    const struct plan_op *op;

    (void)state;
    plan = plan_case_make(&c);
    blueprint = blueprint_of(plan);
    op = plan_find_op(blueprint, "build");
    assert_non_null(op);
    assert_int_equal(op->kind, OP_SCRATCH);
    assert_int_equal(op->flags, OP_APART);
    assert_false(has_rule(blueprint, "build", ACCESS_WRITE));
    assert_int_equal(plan_find_op(blueprint, "deps")->kind, OP_BIND);
    plan_free(blueprint);
    plan_free(plan);
}

static void a_compiler_writes_where_it_always_does(void **state)
{
    struct plan *plan, *blueprint;

    (void)state;
    stage_case_enter(STAGE_COMPILE);
    plan = plan_case_make(&c);
    blueprint = blueprint_of(plan);
    assert_int_equal(plan_find_op(blueprint, "build")->flags, 0);
    assert_int_equal(blueprint->n_collects, 1);
    assert_string_equal(blueprint->argv[1], "compile");
    assert_null(blueprint->argv[2]); /* what is compiled is not known */
    assert_string_equal(env_of(blueprint, "STAGE"), "compile");
    plan_free(blueprint);
    plan_free(plan);
}

static void a_driver_is_started_with_the_languages_environment(void **state)
{
    struct plan *plan, *blueprint;
    sbr_error err;

    (void)state;
    assert_int_equal(request_add_env(c.request, "DEPS=mine", &err), 0);
    assert_int_equal(request_add_env(c.request, "OTHER=1", &err), 0);
    plan = plan_case_make(&c);
    blueprint = blueprint_of(plan);
    assert_int_equal(blueprint->standby, STANDBY_DRIVER);
    assert_string_equal(blueprint->argv[1], "/driver/wait");
    assert_string_equal(blueprint->argv[2], "/deps"); /* the program's file is not known */
    assert_null(blueprint->argv[3]);
    assert_string_equal(env_of(blueprint, "DEPS"), "/deps");
    assert_null(env_of(blueprint, "OTHER"));
    assert_non_null(env_of(blueprint, "PATH"));
    plan_free(blueprint);
    plan_free(plan);
}

static void a_driver_that_cannot_change_its_environment_has_it_all(void **state)
{
    char key[SHA256_HEX_SIZE];
    struct plan *plan, *blueprint;
    sbr_error err;

    (void)state;
    warm_language.warm.fixed_env = true;
    key_now(key);
    assert_int_equal(request_add_env(c.request, "OTHER=1", &err), 0);
    plan = plan_case_make(&c);
    blueprint = blueprint_of(plan);
    assert_string_equal(env_of(blueprint, "OTHER"), "1");
    assert_other_key(key);
    plan_free(blueprint);
    plan_free(plan);
}

static void only_a_run_is_forked_from_a_zygote(void **state)
{
    static const struct {
        enum stage stage;
        enum standby_kind standby;
    } rows[] = { { STAGE_RUN, STANDBY_ZYGOTE },
                 { STAGE_COMPILE, STANDBY_DRIVER },
                 { STAGE_CHECK, STANDBY_SHELL } };

    (void)state;
    warm_language.warm.zygote = warm_language.warm.run;
    c.in.layers[LAYER_DEPS] = NULL;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct plan *plan, *blueprint;

        stage_case_enter(rows[i].stage);
        plan = plan_case_make(&c);
        blueprint = blueprint_of(plan);
        assert_int_equal(blueprint->standby, rows[i].standby);
        plan_free(blueprint);
        plan_free(plan);
    }
}

/* A runtime may run what a variable says, and a zygote runs nothing of a user. */
static void a_zygote_sees_no_variable_of_a_user(void **state)
{
    struct plan *plan, *blueprint;
    sbr_error err;

    (void)state;
    warm_language.warm.zygote = warm_language.warm.run;
    warm_language.warm.fixed_env = true;
    c.in.layers[LAYER_DEPS] = NULL;
    assert_int_equal(request_add_env(c.request, "OTHER=1", &err), 0);
    plan = plan_case_make(&c);
    blueprint = blueprint_of(plan);
    assert_int_equal(blueprint->standby, STANDBY_ZYGOTE);
    assert_null(env_of(blueprint, "OTHER"));
    plan_free(blueprint);
    plan_free(plan);
}

/* It runs nothing that somebody else wrote, and packages have files that run by themselves. */
static void a_zygote_sees_no_dependencies(void **state)
{
    struct plan *plan, *blueprint;

    (void)state;
    warm_language.warm.zygote = warm_language.warm.run;
    plan = plan_case_make(&c);
    blueprint = blueprint_of(plan);
    assert_non_null(plan_find_op(blueprint, "deps"));
    assert_int_equal(blueprint->standby, STANDBY_DRIVER);
    plan_free(blueprint);
    warm_language.warm.run.n = 0; /* then it has no driver for such a run */
    blueprint = blueprint_of(plan);
    assert_int_equal(blueprint->standby, STANDBY_SHELL);
    plan_free(blueprint);
    plan_free(plan);
}

static void without_a_driver_nothing_is_started_ahead(void **state)
{
    struct plan *plan, *blueprint;

    (void)state;
    c.in.language = &stage_language;
    plan = plan_case_make(&c);
    blueprint = blueprint_of(plan);
    assert_int_equal(blueprint->standby, STANDBY_SHELL);
    assert_string_equal(blueprint->argv[0], "-");
    assert_null(blueprint->argv[1]);
    assert_null(blueprint->env[0]);
    plan_free(blueprint);
    plan_free(plan);
}

static void what_differs_from_run_to_run_is_in_no_key(void **state)
{
    char key[SHA256_HEX_SIZE];
    sbr_error err;

    (void)state;
    key_now(key);
    assert_int_equal(request_add_file(c.request, "more.s", "yy", 2, &err), 0);
    assert_same_key(key);
    assert_int_equal(request_add_arg(c.request, "argument", &err), 0);
    assert_same_key(key);
    assert_int_equal(request_add_env(c.request, "A=b", &err), 0);
    assert_same_key(key);
    assert_int_equal(request_set_workdir(c.request, "/tmp", &err), 0);
    assert_same_key(key);
    c.in.layers[LAYER_BUILD] = "/cache/another";
    assert_same_key(key);
}

static void limits_that_groups_hold_are_in_no_key(void **state)
{
    static const enum sbr_limit late[] = { SBR_WALL_MS, SBR_CPU_MS, SBR_PIDS, SBR_OPEN_FILES,
                                           SBR_OUTPUT_BYTES };
    char key[SHA256_HEX_SIZE];
    sbr_error err;

    (void)state;
    key_now(key);
    for (size_t i = 0; i < ARRAY_LEN(late); i++) {
        assert_int_equal(limits_set(&c.request->limits, late[i], 77, &err), 0);
        assert_same_key(key);
    }
    assert_int_equal(limits_set(&c.request->limits, SBR_MEMORY_BYTES, 77 * MIB, &err), 0);
    assert_same_key(key);
}

static void memory_counts_where_a_driver_is_started_with_it(void **state)
{
    static const char *command[] = { "${binary}", "--heap=${memory_mb}" };
    char key[SHA256_HEX_SIZE];
    sbr_error err;

    (void)state;
    warm_language.warm.run = (struct words){ command, 2 };
    key_now(key);
    assert_int_equal(limits_set(&c.request->limits, SBR_MEMORY_BYTES, 77 * MIB, &err), 0);
    assert_other_key(key);
}

static void what_the_sandbox_is_made_of_is_in_the_key(void **state)
{
    static const struct toolchain other = { .binary = "/opt/tools/bin/tool",
                                            .home = "/opt/tools",
                                            .tree = "/opt/tools" };
    const struct toolchain *tools = c.in.toolchain;
    char key[SHA256_HEX_SIZE];
    sbr_error err;

    (void)state;
    key_now(key);
    c.in.policy = policy_find("strict");
    assert_other_key(key);
    c.in.policy = policy_find(NULL);
    assert_same_key(key);
    c.in.toolchain = &other;
    assert_other_key(key);
    c.in.toolchain = tools;
    c.in.layers[LAYER_DEPS] = "/cache/other";
    assert_other_key(key);
    c.in.layers[LAYER_DEPS] = "/cache/deps";
    assert_int_equal(request_set_network(c.request, "localhost", &err), 0);
    assert_other_key(key);
    assert_int_equal(request_set_network(c.request, "none", &err), 0);
    assert_same_key(key);
    assert_int_equal(limits_set(&c.request->limits, SBR_DISK_BYTES, 77 * MIB, &err), 0);
    assert_other_key(key);
}

static void the_groups_are_in_the_key(void **state)
{
    char key[SHA256_HEX_SIZE];
    sbr_error err;

    (void)state;
    key_now(key);
    assert_int_equal(limits_set(&c.request->limits, SBR_CPU_MILLIS, 500, &err), 0);
    assert_other_key(key); /* one controller more */
}

static void outputs_are_collected_from_parked_runs_too(void **state)
{
    char key[SHA256_HEX_SIZE];
    sbr_error err;

    (void)state;
    key_now(key);
    assert_int_equal(request_add_output(c.request, "*.png", &err), 0);
    assert_other_key(key);
}

static void assert_not_parked(const char *word)
{
    struct plan *plan = plan_case_make(&c), *blueprint = NULL;
    const char *why = blueprint_refusal(plan);
    sbr_error err = { 0 };

    if (!why) {
        assert_int_equal(blueprint_make(plan, &c.in, &blueprint, &err), SBR_E_UNSUPPORTED);
        assert_null(blueprint);
        why = err.message;
    }
    if (!strstr(why, word))
        fail_msg("'%s' does not say '%s'", why, word);
    plan_free(plan);
}

static void trees_of_the_host_are_not_parked(void **state)
{
    static const char *const volumes[] = { "/data:/data:ro", "/data:/data:rw", "/data:/data:cow" };
    sbr_error err;

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(volumes); i++) {
        assert_int_equal(request_add_volume(c.request, volumes[i], &err), 0);
        assert_not_parked("tree of the host's");
        stage_tear_down(state);
        set_up(state);
    }
    assert_int_equal(request_set_project(c.request, "/home/somebody/project", &err), 0);
    assert_not_parked("tree of the host's");
}

static void ways_out_are_not_parked(void **state)
{
    sbr_error err;

    (void)state;
    assert_int_equal(request_set_network(c.request, "full", &err), 0);
    assert_not_parked("egress");
    stage_case_enter(STAGE_INSTALL);
    assert_not_parked("egress");
}

static void machines_that_lack_something_park_nothing(void **state)
{
    (void)state;
    request_set_require(c.request, TIER_PROCESS);
    c.features.cgroup = (struct cgroup_features){ .kind = CGROUP_NONE };
    assert_not_parked("cgroups");
    c.features = complete_machine;
    c.features.user_namespaces = false;
    c.features.uid = 1000;
    assert_not_parked("private root");
    c.features = complete_machine;
    c.in.test_without = "ipc-namespace";
    assert_not_parked("namespace");
    c.in.test_without = NULL;
    c.in.test_fail = "landlock";
    assert_not_parked("test");
}

#define BLUEPRINT_TEST(name) cmocka_unit_test_setup_teardown(name, set_up, stage_tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        BLUEPRINT_TEST(a_blueprint_has_nothing_of_the_program),
        BLUEPRINT_TEST(a_blueprint_can_be_encoded_and_decoded),
        BLUEPRINT_TEST(the_compiled_program_comes_later),
        BLUEPRINT_TEST(a_compiler_writes_where_it_always_does),
        BLUEPRINT_TEST(a_driver_is_started_with_the_languages_environment),
        BLUEPRINT_TEST(a_driver_that_cannot_change_its_environment_has_it_all),
        BLUEPRINT_TEST(only_a_run_is_forked_from_a_zygote),
        BLUEPRINT_TEST(a_zygote_sees_no_variable_of_a_user),
        BLUEPRINT_TEST(a_zygote_sees_no_dependencies),
        BLUEPRINT_TEST(without_a_driver_nothing_is_started_ahead),
        BLUEPRINT_TEST(what_differs_from_run_to_run_is_in_no_key),
        BLUEPRINT_TEST(limits_that_groups_hold_are_in_no_key),
        BLUEPRINT_TEST(memory_counts_where_a_driver_is_started_with_it),
        BLUEPRINT_TEST(what_the_sandbox_is_made_of_is_in_the_key),
        BLUEPRINT_TEST(the_groups_are_in_the_key),
        BLUEPRINT_TEST(outputs_are_collected_from_parked_runs_too),
        BLUEPRINT_TEST(trees_of_the_host_are_not_parked),
        BLUEPRINT_TEST(ways_out_are_not_parked),
        BLUEPRINT_TEST(machines_that_lack_something_park_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
