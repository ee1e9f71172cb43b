#include "plan/plan_root.h"

#include "base/text.h"
#include "plan_fixture.h"
#include "unit.h"

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

static void every_path_is_below_the_new_root(void **state)
{
    struct plan *plan;
    sbr_error err;

    (void)state;
    assert_int_equal(request_add_volume(c.request, "/srv:/data/sub", &err), 0);
    plan = plan_case_make(&c);
    for (size_t i = 0; i < plan->n_ops; i++)
        if (!text_is_safe_relative_path(plan->ops[i].to, 4096))
            fail_msg("'%s' is not below the root", plan->ops[i].to);
    plan_free(plan);
}

static void parents_come_before_what_is_in_them(void **state)
{
    struct plan *plan = plan_case_make(&c);

    (void)state;
    for (size_t i = 0; i < plan->n_ops; i++) {
        const char *to = plan->ops[i].to;
        bool found = strchr(to, '/') == NULL;

        for (size_t k = 0; k < i && !found; k++) {
            size_t len = strlen(plan->ops[k].to);

            found = !strncmp(plan->ops[k].to, to, len) && to[len] == '/';
        }
        if (!found)
            fail_msg("nothing makes the directory of '%s'", to);
    }
    plan_free(plan);
}

static void links_into_usr_stay_links_and_directories_are_bound(void **state)
{
    struct plan *plan = plan_case_make(&c);
    const struct plan_op *op;

    (void)state;
    op = plan_find_op(plan, "usr");
    assert_int_equal(op->kind, OP_BIND);
    assert_string_equal(op->from, "/usr");
    op = plan_find_op(plan, "lib64");
    assert_int_equal(op->kind, OP_SYMLINK);
    assert_string_equal(op->from, "usr/lib64");
    op = plan_find_op(plan, "sbin");
    assert_int_equal(op->kind, OP_BIND);
    assert_string_equal(op->from, "/sbin");
    assert_null(plan_find_op(plan, "lib32"));
    plan_free(plan);
}

static void only_devices_that_do_no_harm_are_there(void **state)
{
    static const char *const harmless[] = { "dev/null", "dev/zero", "dev/full", "dev/random",
                                            "dev/urandom" };
    struct plan *plan = plan_case_make(&c);
    size_t n = 0;

    (void)state;
    for (size_t i = 0; i < plan->n_ops; i++) {
        if (plan->ops[i].kind != OP_DEVICE)
            continue;
        assert_string_equal(plan->ops[i].to, harmless[n]);
        assert_int_equal(plan->ops[i].device >> 32, 1); /* the kernel's memory devices */
        n++;
    }
    assert_int_equal(n, ARRAY_LEN(harmless));
    plan_free(plan);
}

static size_t count_ops(const struct plan *plan, enum op_kind kind)
{
    size_t n = 0;

    for (size_t i = 0; i < plan->n_ops; i++)
        n += plan->ops[i].kind == kind;
    return n;
}

static void the_policy_decides_how_much_of_procfs_is_seen(void **state)
{
    struct plan *plan = plan_case_make(&c);

    (void)state;
    assert_int_equal(plan_find_op(plan, "proc")->flags, 0);
    assert_true(count_ops(plan, OP_MASK) > 10);
    assert_non_null(plan_find_op(plan, "proc/kcore"));
    plan_free(plan);
    c.in.policy = policy_find("strict");
    plan = plan_case_make(&c);
    assert_int_equal(plan_find_op(plan, "proc")->flags, OP_PID_ONLY);
    assert_int_equal(count_ops(plan, OP_MASK), 0);
    plan_free(plan);
    c.in.policy = policy_find("default");
    c.in.test_without = "masks";
    plan = plan_case_make(&c);
    assert_int_equal(count_ops(plan, OP_MASK), 0);
    plan_free(plan);
}

static void a_mask_covers_with_something_that_was_made_before(void **state)
{
    struct plan *plan = plan_case_make(&c);

    (void)state;
    for (size_t i = 0; i < plan->n_ops; i++) {
        const struct plan_op *op = &plan->ops[i], *cover;

        if (op->kind != OP_MASK)
            continue;
        cover = plan_find_op(plan, op->from);
        assert_non_null(cover);
        assert_true(cover < op);
        assert_int_equal(cover->kind, OP_EMPTY);
    }
    plan_free(plan);
}

static void scratch_space_is_as_large_as_its_limit(void **state)
{
    struct plan *plan;
    sbr_error err;

    (void)state;
    assert_int_equal(limits_set(&c.request->limits, SBR_DISK_BYTES, MIB, &err), 0);
    assert_int_equal(limits_set(&c.request->limits, SBR_INODES, 50, &err), 0);
    plan = plan_case_make(&c);
    assert_int_equal(plan->scratch_bytes, MIB);
    assert_int_equal(plan->scratch_inodes, 50);
    plan_free(plan);
}

/* What can be written to and what landlock lets be written to are the same directories. */
static void scratch_directories_are_those_that_landlock_lets_be_written_to(void **state)
{
    struct plan *plan = plan_case_make(&c);
    size_t n = 0;

    (void)state;
    for (size_t i = 0; i < plan->n_rules; i++) {
        if (plan->rules[i].access != ACCESS_WRITE)
            continue;
        assert_int_equal(plan_find_op(plan, plan->rules[i].path + 1)->kind, OP_SCRATCH);
        n++;
    }
    assert_int_equal(count_ops(plan, OP_SCRATCH), n);
    assert_int_equal(n, 3);
    plan_free(plan);
}

static void volumes_come_last_and_are_bound(void **state)
{
    const struct plan_op *op;
    struct plan *plan;
    sbr_error err;

    (void)state;
    assert_int_equal(request_add_volume(c.request, "/srv/x:/data", &err), 0);
    plan = plan_case_make(&c);
    op = plan_find_op(plan, "data");
    assert_int_equal(op->kind, OP_BIND);
    assert_string_equal(op->from, "/srv/x");
    assert_true(op > plan_find_op(plan, "work"));
    assert_false(op->flags & OP_OPTIONAL);
    plan_free(plan);
}

/* An id of its own, which root gives to each run, may not be let through the host's directories. */
static void trees_are_passed_in_only_where_root_opens_them(void **state)
{
    struct plan *plan;
    sbr_error err;

    (void)state;
    assert_int_equal(request_add_volume(c.request, "/srv/x:/data", &err), 0);
    plan = plan_case_make(&c);
    assert_true(plan_find_op(plan, "data")->flags & OP_PASSED);
    plan_free(plan);
    c.features.privileged = false;
    plan = plan_case_make(&c);
    assert_false(plan_find_op(plan, "data")->flags & OP_PASSED);
    plan_free(plan);
}

#define ROOT_TEST(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        ROOT_TEST(every_path_is_below_the_new_root),
        ROOT_TEST(parents_come_before_what_is_in_them),
        ROOT_TEST(links_into_usr_stay_links_and_directories_are_bound),
        ROOT_TEST(only_devices_that_do_no_harm_are_there),
        ROOT_TEST(the_policy_decides_how_much_of_procfs_is_seen),
        ROOT_TEST(a_mask_covers_with_something_that_was_made_before),
        ROOT_TEST(scratch_space_is_as_large_as_its_limit),
        ROOT_TEST(scratch_directories_are_those_that_landlock_lets_be_written_to),
        ROOT_TEST(volumes_come_last_and_are_bound),
        ROOT_TEST(trees_are_passed_in_only_where_root_opens_them),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
