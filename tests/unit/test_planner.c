#include "plan/planner.h"

#include <linux/sched.h>
#include <sys/resource.h>

#include "base/text.h"
#include "plan_fixture.h"
#include "unit.h"

#define ALL_NAMESPACES                                                                             \
    (CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWNET | CLONE_NEWIPC | CLONE_NEWUTS |     \
     CLONE_NEWCGROUP)

static struct plan_case c;

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

static int refused(sbr_error *err)
{
    struct plan *plan = NULL;
    int r = planner_make(&c.in, &plan, err);

    if (r == 0)
        plan_free(plan);
    else
        assert_null(plan);
    return r;
}

static void a_plan_never_grants_more_than_its_policy(void **state)
{
    static const char *const writable[] = { "/work", "/tmp", "/dev/shm" };

    (void)state;
    for (const struct policy *const *policy = policy_table; *policy; policy++) {
        struct plan *plan;

        c.in.policy = *policy;
        plan = plan_case_make(&c);
        assert_int_equal(plan->n_filters, 1);
        assert_ptr_equal(plan->filters[0].insns, (*policy)->filter.insns);
        assert_int_equal(plan->filters[0].len, (*policy)->filter.len);
        assert_true(plan->filters[0].len > 0);
        assert_true(plan->namespaces == ALL_NAMESPACES);
        assert_int_equal(plan->inside_uid, INSIDE_UID);
        assert_int_equal(plan->inside_gid, INSIDE_GID);
        for (size_t i = 0; i < plan->n_rules; i++) {
            bool known = plan->rules[i].access != ACCESS_WRITE;

            for (size_t k = 0; k < ARRAY_LEN(writable); k++)
                known |= !strcmp(plan->rules[i].path, writable[k]);
            assert_true(known);
        }
        plan_free(plan);
    }
}

static void a_complete_machine_gives_a_container(void **state)
{
    static const char *const mechanisms[] = {
        "user-namespace",  "mount-namespace",   "pid-namespace",    "network-namespace",
        "ipc-namespace",   "uts-namespace",     "cgroup-namespace", "memory-cgroup",
        "pids-cgroup",     "cpu-accounting",    "rlimits",          "private-root",
        "no-capabilities", "no-new-privileges", "landlock",         "seccomp",
    };
    struct plan *plan = plan_case_make(&c);

    (void)state;
    assert_int_equal(plan->isolation.tier, TIER_CONTAINER);
    assert_int_equal(plan->isolation.n_missing, 0);
    for (size_t i = 0; i < ARRAY_LEN(mechanisms); i++)
        if (!isolation_has(&plan->isolation, mechanisms[i]))
            fail_msg("there is no %s", mechanisms[i]);
    assert_int_equal(plan->isolation.n_mechanisms, ARRAY_LEN(mechanisms));
    assert_false(plan->supervise);
    plan_free(plan);
}

static void the_tier_follows_from_what_the_machine_has(void **state)
{
    static const struct {
        bool user_namespaces;
        uint32_t usable;
        int landlock;
        uint64_t cpus; /* 0: no quota was asked for */
        enum tier tier;
        bool supervise;
    } rows[] = {
        { true, ALL_CONTROLLERS, 3, 0, TIER_CONTAINER, false },
        { true, ALL_CONTROLLERS, 0, 0, TIER_CONTAINER, false },
        { true, ALL_CONTROLLERS, 1, 1000, TIER_CONTAINER, false },
        { true, ALL_CONTROLLERS & ~(1u << CG_CPU), 3, 0, TIER_CONTAINER, false },
        { true, ALL_CONTROLLERS & ~(1u << CG_CPU), 3, 1000, TIER_REDUCED, true },
        { true, ALL_CONTROLLERS & ~(1u << CG_MEMORY), 3, 0, TIER_REDUCED, true },
        { true, ALL_CONTROLLERS & ~(1u << CG_PIDS), 3, 0, TIER_REDUCED, true },
        { true, ALL_CONTROLLERS & ~(1u << CG_CPUACCT), 3, 0, TIER_REDUCED, true },
        { true, 0, 3, 0, TIER_REDUCED, true },
        { false, 0, 3, 0, TIER_PROCESS, true },
        { false, ALL_CONTROLLERS, 7, 0, TIER_PROCESS, true },
    };
    sbr_error err;

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct plan *plan;

        plan_case_done(&c);
        plan_case_init(&c);
        c.in.run_dir = "/tmp/place";
        c.features.user_namespaces = rows[i].user_namespaces;
        c.features.cgroup.usable = rows[i].usable;
        c.features.landlock_abi = rows[i].landlock;
        if (rows[i].cpus)
            assert_int_equal(limits_set(&c.request->limits, SBR_CPU_MILLIS, rows[i].cpus, &err), 0);
        c.request->require = rows[i].tier;
        plan = plan_case_make(&c);
        assert_int_equal(plan->isolation.tier, rows[i].tier);
        assert_int_equal(plan->supervise, rows[i].supervise);
        assert_int_equal(isolation_has(&plan->isolation, "landlock"), rows[i].landlock > 0);
        assert_int_equal(isolation_lacks(&plan->isolation, "landlock"), rows[i].landlock == 0);
        plan_free(plan);
        if (rows[i].tier == TIER_CONTAINER)
            continue;
        c.request->require = (enum tier)(rows[i].tier + 1);
        assert_refused(refused(&err), &err, SBR_E_UNSUPPORTED, request_tier_name(rows[i].tier));
    }
}

static void a_refusal_says_what_is_missing_and_the_two_ways_on(void **state)
{
    sbr_error err;

    (void)state;
    c.features.cgroup.usable &= ~(1u << CG_MEMORY);
    assert_int_equal(refused(&err), SBR_E_UNSUPPORTED);
    assert_string_equal(err.stage, "plan");
    assert_string_equal(
        err.message, "this machine gives isolation 'reduced', not 'container' (missing: memory "
                     "limit of the whole tree by cgroup); `sandbox-run doctor` says how to get it, "
                     "--allow-degraded runs without");
}

static void a_refusal_ends_with_the_way_on_however_much_is_missing(void **state)
{
    sbr_error err;

    (void)state;
    c.features = (struct features){
        .user_namespaces = true, .proc = true, .seccomp = true, .machine = complete_machine.machine
    };
    assert_int_equal(limits_set(&c.request->limits, SBR_CPU_MILLIS, 1000, &err), 0);
    assert_refused(refused(&err), &err, SBR_E_UNSUPPORTED, "--allow-degraded runs without");
}

/* What is done to the tree of files must happen in a mount namespace of its own, or it happens to
 * the host. */
static void no_mount_is_planned_without_a_mount_namespace(void **state)
{
    struct plan *plan = NULL;
    sbr_error err;

    (void)state;
    c.in.run_dir = "/tmp/place";
    c.features.user_namespaces = false;
    c.request->require = TIER_PROCESS;
    assert_int_equal(planner_make(&c.in, &plan, &err), 0);
    assert_int_equal(plan->isolation.tier, TIER_PROCESS);
    assert_true(isolation_lacks(&plan->isolation, "mount-namespace"));
    assert_false(isolation_has(&plan->isolation, "private-root"));
    for (size_t i = 0; i < plan->n_ops; i++)
        assert_true(plan->ops[i].kind == OP_PROGRAM || plan->ops[i].kind == OP_SCRATCH);
    for (size_t i = 0; i < plan->n_rules; i++)
        if (plan->rules[i].access == ACCESS_WRITE)
            assert_memory_equal(plan->rules[i].path, "/tmp/place/", strlen("/tmp/place/"));
    plan_free(plan);
}

static void nothing_runs_where_nothing_guards_the_files(void **state)
{
    sbr_error err;

    (void)state;
    c.in.run_dir = "/tmp/place";
    c.features.user_namespaces = false;
    c.features.landlock_abi = 0;
    c.request->require = TIER_PROCESS;
    assert_refused(refused(&err), &err, SBR_E_UNSUPPORTED, "nor Landlock");
}

static void signals_are_refused_unless_landlock_keeps_them_inside(void **state)
{
    (void)state;
    c.in.run_dir = "/tmp/place";
    c.features.user_namespaces = false;
    c.request->require = TIER_PROCESS;
    for (int abi = 1; abi <= 7; abi++) {
        struct plan *plan;

        c.features.landlock_abi = abi;
        plan = plan_case_make(&c);
        assert_int_equal(plan->n_filters, abi < 6 ? 3 : 2);
        plan_free(plan);
    }
}

static void a_filter_that_the_kernel_cannot_take_is_not_claimed(void **state)
{
    struct plan *plan = NULL;
    sbr_error err;

    (void)state;
    c.features.seccomp = false;
    c.request->require = TIER_PROCESS;
    if (planner_make(&c.in, &plan, &err) != 0)
        return;
    assert_false(isolation_has(&plan->isolation, "seccomp"));
    assert_true(isolation_lacks(&plan->isolation, "seccomp"));
    plan_free(plan);
}

static void controllers_are_used_only_when_they_are_wanted(void **state)
{
    const uint32_t always = 1u << CG_MEMORY | 1u << CG_PIDS | 1u << CG_CPUACCT;
    struct plan *plan = plan_case_make(&c);
    sbr_error err;

    (void)state;
    assert_int_equal(plan->cgroup_kind, CGROUP_V2);
    assert_int_equal(plan->cgroup_controllers, always);
    assert_false(isolation_has(&plan->isolation, "cpu-cgroup"));
    plan_free(plan);
    assert_int_equal(limits_set(&c.request->limits, SBR_CPU_MILLIS, 500, &err), 0);
    plan = plan_case_make(&c);
    assert_int_equal(plan->cgroup_controllers, always | 1u << CG_CPU);
    assert_true(isolation_has(&plan->isolation, "cpu-cgroup"));
    plan_free(plan);
}

static uint64_t rlimit_of(const struct plan *plan, uint32_t resource)
{
    for (size_t i = 0; i < plan->n_rlimits; i++) {
        if (plan->rlimits[i].resource != resource)
            continue;
        assert_true(plan->rlimits[i].soft == plan->rlimits[i].hard);
        return plan->rlimits[i].hard;
    }
    fail_msg("no limit of resource %u", resource);
    return 0;
}

static void limits_of_each_process_follow_from_those_of_the_run(void **state)
{
    struct plan *plan;
    sbr_error err;

    (void)state;
    assert_int_equal(limits_set(&c.request->limits, SBR_CPU_MS, 1500, &err), 0);
    assert_int_equal(limits_set(&c.request->limits, SBR_PIDS, 7, &err), 0);
    assert_int_equal(limits_set(&c.request->limits, SBR_OPEN_FILES, 99, &err), 0);
    assert_int_equal(limits_set(&c.request->limits, SBR_DISK_BYTES, MIB, &err), 0);
    plan = plan_case_make(&c);
    assert_true(rlimit_of(plan, RLIMIT_CORE) <= 1);
    assert_int_equal(rlimit_of(plan, RLIMIT_CPU), 3);        /* rounded up, and one to spare */
    assert_int_equal(rlimit_of(plan, RLIMIT_NPROC), 7 + 16); /* the cgroup answers first */
    assert_int_equal(rlimit_of(plan, RLIMIT_NOFILE), 99);
    assert_int_equal(rlimit_of(plan, RLIMIT_FSIZE), MIB);
    assert_int_equal(plan->cpu_ms, 1500);
    assert_true(rlimit_of(plan, RLIMIT_DATA) == RLIM_INFINITY);
    assert_true(rlimit_of(plan, RLIMIT_AS) == RLIM_INFINITY);
    plan_free(plan);
}

static void without_a_memory_group_each_process_is_limited(void **state)
{
    struct plan *plan;

    (void)state;
    c.features.cgroup.usable &= ~(1u << CG_MEMORY);
    c.request->require = TIER_REDUCED;
    plan = plan_case_make(&c);
    /* Init looks at the whole tree; this bounds what happens between two looks. */
    assert_in_range(rlimit_of(plan, RLIMIT_DATA), plan->memory_bytes, 8 * plan->memory_bytes);
    assert_true(plan->memory_bytes == plan->limits.value[SBR_MEMORY_BYTES]);
    assert_true(rlimit_of(plan, RLIMIT_CPU) == RLIM_INFINITY);
    plan_free(plan);
}

static void presets_are_lowered_to_the_machine_and_wishes_refused(void **state)
{
    struct plan *plan;
    sbr_error err;

    (void)state;
    c.features.machine.memory_bytes = 100 * MIB;
    plan = plan_case_make(&c);
    assert_true(plan->limits.value[SBR_MEMORY_BYTES] == 100 * MIB);
    assert_true(plan->memory_bytes == 100 * MIB);
    assert_true(c.request->limits.value[SBR_MEMORY_BYTES] == 512 * MIB); /* left alone */
    plan_free(plan);
    assert_int_equal(limits_set(&c.request->limits, SBR_MEMORY_BYTES, 200 * MIB, &err), 0);
    assert_refused(refused(&err), &err, SBR_E_INVALID, "is more than this machine has");
}

static void what_a_test_leaves_out_is_not_claimed(void **state)
{
    static const char *const names[] = { "user-namespace", "network-namespace", "memory-cgroup",
                                         "pids-cgroup",    "landlock",          "seccomp" };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        struct plan *plan;

        c.in.test_without = names[i];
        plan = plan_case_make(&c);
        if (isolation_has(&plan->isolation, names[i]))
            fail_msg("%s is left out and claimed", names[i]);
        plan_free(plan);
    }
}

static void landlock_comes_in_the_version_of_the_kernel(void **state)
{
    struct plan *plan = plan_case_make(&c);

    (void)state;
    assert_int_equal(plan->landlock_abi, 3);
    assert_true(plan->n_rules > 0);
    plan_free(plan);
    c.features.landlock_abi = 0;
    plan = plan_case_make(&c);
    assert_int_equal(plan->landlock_abi, 0);
    assert_int_equal(plan->n_rules, 0);
    plan_free(plan);
}

#define PLANNER_TEST(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        PLANNER_TEST(a_plan_never_grants_more_than_its_policy),
        PLANNER_TEST(a_complete_machine_gives_a_container),
        PLANNER_TEST(the_tier_follows_from_what_the_machine_has),
        PLANNER_TEST(a_refusal_says_what_is_missing_and_the_two_ways_on),
        PLANNER_TEST(a_refusal_ends_with_the_way_on_however_much_is_missing),
        PLANNER_TEST(no_mount_is_planned_without_a_mount_namespace),
        PLANNER_TEST(nothing_runs_where_nothing_guards_the_files),
        PLANNER_TEST(signals_are_refused_unless_landlock_keeps_them_inside),
        PLANNER_TEST(a_filter_that_the_kernel_cannot_take_is_not_claimed),
        PLANNER_TEST(controllers_are_used_only_when_they_are_wanted),
        PLANNER_TEST(limits_of_each_process_follow_from_those_of_the_run),
        PLANNER_TEST(without_a_memory_group_each_process_is_limited),
        PLANNER_TEST(presets_are_lowered_to_the_machine_and_wishes_refused),
        PLANNER_TEST(what_a_test_leaves_out_is_not_claimed),
        PLANNER_TEST(landlock_comes_in_the_version_of_the_kernel),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
