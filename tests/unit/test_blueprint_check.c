/* Templates that somebody sent: the planner's own are taken, and one that differs in anything is
 * not. */

#include "base/text.h"
#include "plan/blueprint.h"
#include "plan/plan_image.h"
#include "stage_fixture.h"
#include "unit.h"

#define WORDS(...)                                                                                 \
    {                                                                                              \
        (const char *[]){ __VA_ARGS__ }, sizeof((const char *[]){ __VA_ARGS__ }) / sizeof(char *)  \
    }

static const struct warm_def warm = {
    .run = WORDS("${binary}", "${driver}/wait", "${deps}", "${memory_mb}"),
    .compile = WORDS("${binary}", "compile"),
};

static struct language warm_language;
static struct blueprint_claim claim;
static struct plan *plan, *blueprint;

static uint64_t identity(const char *path)
{
    return strlen(path) * 1000003u;
}

static bool is_layer(void *context, enum layer layer, const char *path)
{
    (void)context;
    return !strcmp(path, layer == LAYER_DEPS ? "/cache/deps" : "/cache/prepared");
}

static int set_up(void **state)
{
    stage_set_up(state);
    warm_language = stage_language;
    warm_language.warm = warm;
    c.in.language = &warm_language;
    claim = (struct blueprint_claim){ .identity = identity, .is_layer = is_layer };
    return 0;
}

static int tear_down(void **state)
{
    plan_free(blueprint);
    plan_free(plan);
    blueprint = plan = NULL;
    return stage_tear_down(state);
}

/* What a client has, and what it says of it. */
static void send_blueprint(void)
{
    sbr_error err;

    plan_free(blueprint);
    plan_free(plan);
    plan = plan_case_make(&c);
    assert_null(blueprint_refusal(plan));
    assert_int_equal(blueprint_make(plan, &c.in, &blueprint, &err), 0);
    blueprint_mark_sources(blueprint, identity);
    claim.language = c.in.language;
    claim.toolchain = c.in.toolchain;
    claim.needs = c.in.needs;
    claim.stage = c.in.stage;
    claim.policy = c.in.policy;
    claim.features = c.in.features;
    claim.memory_bytes = plan->limits.value[SBR_MEMORY_BYTES];
}

static void assert_taken(void)
{
    sbr_error err = { 0 };

    if (blueprint_check(blueprint, &claim, &err) < 0)
        fail_msg("refused: %s", err.message);
}

static void assert_not_taken(const char *what)
{
    sbr_error err = { 0 };

    if (blueprint_check(blueprint, &claim, &err) == 0)
        fail_msg("taken: %s", what);
    assert_int_not_equal(err.code, 0);
}

static void what_the_planner_makes_is_taken(void **state)
{
    static const enum stage stages[] = { STAGE_RUN, STAGE_COMPILE, STAGE_CHECK };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(stages); i++) {
        stage_case_enter(stages[i]);
        c.in.layers[LAYER_BUILD] = stages[i] == STAGE_RUN ? "/cache/build" : NULL;
        send_blueprint();
        assert_taken();
    }
}

static void what_a_run_can_choose_is_taken(void **state)
{
    sbr_error err;

    (void)state;
    assert_int_equal(request_add_output(c.request, "*.png", &err), 0);
    assert_int_equal(request_set_network(c.request, "localhost", &err), 0);
    assert_int_equal(request_add_env(c.request, "OTHER=1", &err), 0);
    assert_int_equal(limits_set(&c.request->limits, SBR_DISK_BYTES, 3 * MIB, &err), 0);
    assert_int_equal(limits_set(&c.request->limits, SBR_INODES, 777, &err), 0);
    assert_int_equal(limits_set(&c.request->limits, SBR_MEMORY_BYTES, 99 * MIB, &err), 0);
    assert_int_equal(limits_set(&c.request->limits, SBR_CPU_MILLIS, 500, &err), 0);
    c.in.layers[LAYER_DEPS] = NULL;
    send_blueprint();
    assert_taken();
    warm_language.warm.fixed_env = true;
    send_blueprint();
    assert_taken();
}

static void a_command_and_each_policy_are_taken(void **state)
{
    sbr_error err;

    (void)state;
    c.in.language = NULL;
    c.in.toolchain = NULL;
    c.in.needs = (struct words){ 0 };
    memset(c.in.layers, 0, sizeof(c.in.layers));
    assert_int_equal(request_add_arg(c.request, "true", &err), 0);
    for (size_t i = 0; policy_at(i); i++) {
        c.in.policy = policy_at(i);
        send_blueprint();
        assert_taken();
    }
}

static const struct policy_insn allow_all[] = { { 0x06, 0, 0, 0x7fff0000 } };
static const char *other_words[] = { "/bin/sh", "-c", "true", NULL };

/* Adds an operation to the blueprint and nothing else. */
static void add(struct plan_op op)
{
    sbr_error err;

    assert_int_equal(plan_add_op(blueprint, op, &err), 0);
}

static struct plan_op *op_of(const char *to)
{
    for (size_t i = 0; i < blueprint->n_ops; i++)
        if (!strcmp(blueprint->ops[i].to, to))
            return &blueprint->ops[i];
    fail_msg("no operation for %s", to);
    return NULL;
}

/* clang-format off */
#define CHANGE(name, ...) static void name(void) { __VA_ARGS__; }
CHANGE(other_source, op_of("usr")->from = "/root")
CHANGE(writable, op_of("usr")->flags |= OP_WRITABLE)
CHANGE(other_file, op_of("usr")->device++)
CHANGE(other_tools, op_of("toolchain/stagelang")->from = "/home/somebody/.ssh")
CHANGE(other_need, op_of("etc/tool")->from = "/etc/shadow")
CHANGE(other_layer, op_of("deps")->from = "/home/somebody")
CHANGE(layer_above, op_of("deps")->from = "/cache/deps/../../home")
CHANGE(whole_proc, op_of("proc")->flags ^= OP_PID_ONLY)
CHANGE(other_device, op_of("dev/null")->from = "/dev/sda")
CHANGE(other_driver, op_of("driver/build.sh")->data = "evil 0")
CHANGE(one_more_bind, add((struct plan_op){ .kind = OP_BIND, .from = "/root", .to = "root" }))
CHANGE(one_more_cow, add((struct plan_op){ .kind = OP_COW, .from = "/root", .to = "root" }))
CHANGE(one_more_dir, add((struct plan_op){ .kind = OP_DIR, .to = "extra", .mode = 0755 }))
CHANGE(one_program, add((struct plan_op){ .kind = OP_PROGRAM, .to = "work/x", .mode = 0755 }))
CHANGE(one_op_less, blueprint->n_ops--)
CHANGE(other_filter, blueprint->filters[0] = (struct policy_filter){ allow_all, 1 })
CHANGE(no_filter, blueprint->n_filters = 0)
CHANGE(weaker_filter, blueprint->filters[0] = policy_find("nosetid")->filter)
CHANGE(no_landlock, blueprint->landlock_abi = 0; blueprint->n_rules = 0)
CHANGE(fewer_rules, blueprint->n_rules--)
CHANGE(wider_rule, blueprint->rules[0].access = ACCESS_WRITE)
CHANGE(fewer_namespaces, blueprint->namespaces &= ~0x40000000ull)
CHANGE(no_namespaces, blueprint->namespaces = 0)
CHANGE(other_user, blueprint->inside_uid = 0)
CHANGE(other_name, blueprint->hostname = "other")
CHANGE(a_place, blueprint->run_dir = "/var/tmp/x")
CHANGE(other_directory, blueprint->workdir = "/")
CHANGE(a_way_out, blueprint->network = NETWORK_FULL)
CHANGE(a_port, blueprint->forward_ports[blueprint->n_forward_ports++] = 22)
CHANGE(unreported, blueprint->report = false)
CHANGE(supervised, blueprint->supervise = true)
CHANGE(no_groups, blueprint->cgroup_controllers = 0)
CHANGE(other_groups, blueprint->cgroup_kind = CGROUP_NONE)
CHANGE(endless_disk, blueprint->scratch_bytes = 0)
CHANGE(huge_disk, blueprint->scratch_bytes = UINT64_MAX)
CHANGE(endless_inodes, blueprint->scratch_inodes = 0)
CHANGE(other_command, blueprint->argv = other_words)
CHANGE(other_variables, blueprint->env = other_words)
CHANGE(as_a_zygote, blueprint->standby = STANDBY_ZYGOTE)
CHANGE(as_a_shell, blueprint->standby = STANDBY_SHELL)
CHANGE(a_limit, blueprint->n_rlimits = 1)
CHANGE(a_hook, blueprint->test_without = "seccomp,landlock")
CHANGE(changes_out, blueprint->collects[blueprint->n_collects++].what = COLLECTS_CHANGES)
CHANGE(tree_out, blueprint->collects[blueprint->n_collects++] = (struct plan_collect){ .path = "etc" })
CHANGE(other_memory, claim.memory_bytes = 5 * MIB)
CHANGE(endless_memory, claim.memory_bytes = 0)
CHANGE(other_stage, claim.stage = STAGE_COMPILE)
CHANGE(other_policy, claim.policy = policy_find("strict"))
CHANGE(no_language, claim.language = NULL; claim.toolchain = NULL; claim.needs.n = 0)

#define ROW(name) { #name, name }
static const struct {
    const char *name;
    void (*change)(void);
} changes[] = {
    ROW(other_source), ROW(writable), ROW(other_file), ROW(other_tools), ROW(other_need), ROW(other_layer),
    ROW(layer_above), ROW(whole_proc), ROW(other_device), ROW(other_driver), ROW(one_more_bind),
    ROW(one_more_cow), ROW(one_more_dir), ROW(one_program), ROW(one_op_less), ROW(other_filter),
    ROW(no_filter), ROW(weaker_filter), ROW(no_landlock), ROW(fewer_rules), ROW(wider_rule),
    ROW(fewer_namespaces), ROW(no_namespaces), ROW(other_user), ROW(other_name), ROW(a_place),
    ROW(other_directory), ROW(a_way_out), ROW(a_port), ROW(unreported), ROW(supervised),
    ROW(no_groups), ROW(other_groups), ROW(endless_disk), ROW(huge_disk), ROW(endless_inodes),
    ROW(other_command), ROW(other_variables), ROW(as_a_zygote), ROW(as_a_shell), ROW(a_limit),
    ROW(a_hook), ROW(changes_out), ROW(tree_out), ROW(other_memory), ROW(endless_memory),
    ROW(other_stage), ROW(other_policy), ROW(no_language),
};
/* clang-format on */

static void whatever_is_changed_it_is_not_taken(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(changes); i++) {
        send_blueprint();
        assert_taken();
        changes[i].change();
        assert_not_taken(changes[i].name);
    }
}

/* It runs nothing that a user wrote: its variables are the language's, whatever the language may
 * else. */
static void a_zygote_has_the_languages_variables(void **state)
{
    (void)state;
    warm_language.warm.zygote = warm_language.warm.run;
    warm_language.warm.fixed_env = true;
    c.in.layers[LAYER_DEPS] = NULL;
    send_blueprint();
    assert_int_equal(blueprint->standby, STANDBY_ZYGOTE);
    blueprint->env = other_words;
    assert_not_taken("variables of a zygote");
}

static void a_machine_without_the_means_takes_none(void **state)
{
    struct features poor;

    (void)state;
    send_blueprint();
    poor = *claim.features;
    claim.features = &poor;
    poor.landlock_abi = 1;
    assert_not_taken("Landlock of another version");
    poor = *c.in.features;
    poor.user_namespaces = false;
    assert_not_taken("no namespaces");
    poor = *c.in.features;
    poor.cgroup.usable = 0;
    assert_not_taken("no groups");
}

/* Of an image: the directories that it has, and no other of the host's. */
static void an_image_is_shown_as_it_is_and_by_no_zygote(void **state)
{
    static const struct string_list no_words;
    static struct plan_tree trees[] = {
        { .source = "/cache/image/tree/usr", .target = "/usr", .mode = VOLUME_COW, .image = true },
        { .source = "/cache/image/tree/etc", .target = "/etc", .mode = VOLUME_COW, .image = true },
    };
    static const struct plan_image_name names[] = { { "bin", "usr/bin" }, { "srv", NULL } };
    const struct plan_image image = { .names = names,
                                      .n_names = ARRAY_LEN(names),
                                      .env = &no_words,
                                      .command = &no_words,
                                      .path = "/usr/bin",
                                      .runs_objects = true,
                                      .kept = true };

    (void)state;
    warm_language.warm.zygote = warm.run;
    c.in.image = claim.image = &image;
    c.in.trees = claim.trees = trees;
    c.in.n_trees = claim.n_trees = ARRAY_LEN(trees);
    for (int read_only = 0; read_only < 2; read_only++) {
        c.request->read_only = read_only;
        send_blueprint();
        assert_taken();
        assert_int_equal(blueprint->standby, STANDBY_DRIVER);
        assert_true(plan_is_of_image(blueprint));
    }
    for (size_t i = 0; i < blueprint->n_ops; i++) {
        struct plan_op *op = &blueprint->ops[i], before = *op;

        if (op->kind != OP_COW)
            continue;
        op->from = "/root";
        assert_not_taken("a directory of the host in place of the image's");
        *op = before;
        op->upper = "/root";
        assert_not_taken("an upper layer on the host");
        *op = before;
        op->device++;
        assert_not_taken("another tree under the same name");
        *op = before;
        op->flags &= ~OP_IMAGE;
        assert_not_taken("a tree that is not the image's");
        *op = before;
    }
    claim.image = NULL;
    assert_not_taken("an image that the client did not name");
}

#define CHECK_TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CHECK_TEST(what_the_planner_makes_is_taken),
        CHECK_TEST(what_a_run_can_choose_is_taken),
        CHECK_TEST(a_command_and_each_policy_are_taken),
        CHECK_TEST(whatever_is_changed_it_is_not_taken),
        CHECK_TEST(a_zygote_has_the_languages_variables),
        CHECK_TEST(a_machine_without_the_means_takes_none),
        CHECK_TEST(an_image_is_shown_as_it_is_and_by_no_zygote),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
