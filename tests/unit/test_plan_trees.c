#include "../plan_trees.h"
#include "plan/plan_root.h"
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

static void add_volume(const char *spec)
{
    sbr_error err;

    assert_int_equal(request_add_volume(c.request, spec, &err), 0);
}

static void set_project(void)
{
    sbr_error err;

    assert_int_equal(request_set_project(c.request, "/home/me/project", &err), 0);
}

static const struct plan_rule *rule_of(const struct plan *plan, const char *path)
{
    for (size_t i = 0; i < plan->n_rules; i++)
        if (!strcmp(plan->rules[i].path, path))
            return &plan->rules[i];
    return NULL;
}

static bool has_filter(const struct plan *plan, const char *policy)
{
    for (size_t i = 0; i < plan->n_filters; i++)
        if (plan->filters[i].insns == policy_find(policy)->filter.insns)
            return true;
    return false;
}

static void only_what_is_written_to_has_a_rule(void **state)
{
    struct plan *plan;

    (void)state;
    add_volume("/srv/a:/a:ro");
    add_volume("/srv/b:/b:rw");
    add_volume("/srv/c:/c:cow");
    plan = plan_case_make(&c);
    assert_null(rule_of(plan, "/a"));
    assert_int_equal(rule_of(plan, "/b")->access, ACCESS_WRITE);
    assert_int_equal(rule_of(plan, "/c")->access, ACCESS_WRITE);
    assert_int_equal(plan_find_op(plan, "a")->flags, OP_PASSED | OP_VIEW | OP_VIEW_ONLY);
    assert_int_equal(plan_find_op(plan, "b")->flags, OP_PASSED | OP_WRITABLE);
    assert_int_equal(plan_find_op(plan, "c")->kind, OP_COW);
    assert_false(plan_has_tree(plan, "a"));
    assert_true(plan_has_tree(plan, "b"));
    assert_true(plan_has_tree(plan, "c"));
    plan_free(plan);
}

/* A file of the host's with such a bit lets whoever runs it become its owner. */
static void set_id_bits_are_refused_where_files_of_the_host_are_written(void **state)
{
    struct plan *plan;

    (void)state;
    add_volume("/srv/a:/a:ro");
    add_volume("/srv/c:/c:cow");
    plan = plan_case_make(&c);
    assert_false(has_filter(plan, "nosetid"));
    plan_free(plan);
    add_volume("/srv/b:/b:rw");
    plan = plan_case_make(&c);
    assert_true(has_filter(plan, "nosetid"));
    plan_free(plan);
    c.in.stage = STAGE_CHECK; /* does not see it */
    plan = plan_case_make(&c);
    assert_false(has_filter(plan, "nosetid"));
    plan_free(plan);
    c.in.stage = STAGE_RUN;
    c.in.test_without = "nosetid";
    plan = plan_case_make(&c);
    assert_false(has_filter(plan, "nosetid"));
    plan_free(plan);
}

/* Connecting asks for no right that a mount could take away. */
static void sockets_are_refused_where_inodes_of_the_host_are_shown(void **state)
{
    static const struct {
        const char *volumes[2];
        bool plain, hidden, missing;
    } rows[] = {
        { { "/srv/a:/a:ro" }, .hidden = false },
        { { "/srv/a:/a:cow" }, .hidden = false },
        { { "/srv/a:/a:rw" }, .hidden = true },
        { { "/srv/a:/a:rw+sockets" }, .hidden = false },
        { { "/srv/a:/a:ro" }, .plain = true, .hidden = true, .missing = true },
        { { "/srv/a:/a:ro+sockets" }, .plain = true, .hidden = false },
        { { "/srv/a:/a:rw", "/srv/b:/b:ro+sockets" }, .hidden = false },
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct plan *plan;

        plan_case_done(&c);
        plan_case_init(&c);
        for (size_t k = 0; k < 2 && rows[i].volumes[k]; k++)
            add_volume(rows[i].volumes[k]);
        c.plain = rows[i].plain;
        plan = plan_case_make(&c);
        assert_int_equal(has_filter(plan, "nosockets"), rows[i].hidden);
        assert_int_equal(isolation_lacks(&plan->isolation, MISSING_INODES), rows[i].missing);
        assert_int_equal(plan_awaits_mounts(plan),
                         !strcmp(rows[i].volumes[0], "/srv/a:/a:cow") ||
                             (!strcmp(rows[i].volumes[0], "/srv/a:/a:ro") && !rows[i].plain));
        plan_free(plan);
    }
}

static void a_project_takes_the_place_of_the_work_directory(void **state)
{
    struct plan *plan;
    size_t n = 0;

    (void)state;
    set_project();
    plan = plan_case_make(&c);
    for (size_t i = 0; i < plan->n_ops; i++)
        n += !strcmp(plan->ops[i].to, "work");
    assert_int_equal(n, 1);
    assert_int_equal(plan_find_op(plan, "work")->kind, OP_COW);
    assert_string_equal(plan_find_op(plan, "work")->from, "/home/me/project");
    assert_int_equal(rule_of(plan, "/work")->access, ACCESS_WRITE);
    assert_int_equal(plan_find_op(plan, "tmp")->kind, OP_SCRATCH);
    assert_true(isolation_has(&plan->isolation, "copy-on-write-overlay"));
    assert_false(isolation_has(&plan->isolation, "workspace-quota-tmpfs"));
    assert_int_equal(plan->n_collects, 0);
    plan_free(plan);
}

static void each_way_of_copy_on_write_has_its_operation(void **state)
{
    struct plan *plan;

    (void)state;
    set_project();
    c.request->diff = true;
    plan = plan_case_make(&c);
    assert_null(plan_find_op(plan, "work")->upper);
    assert_int_equal(plan->n_collects, 1);
    plan_free(plan);
    c.features.cow = COW_DISK;
    plan = plan_case_make(&c);
    assert_string_equal(plan_find_op(plan, "work")->upper, PLAN_TREES_UPPER);
    assert_true(isolation_has(&plan->isolation, "copy-on-write-disk"));
    assert_int_equal(plan->n_collects, 1);
    plan_free(plan);
    c.features.cow = COW_COPY;
    plan = plan_case_make(&c);
    assert_int_equal(plan_find_op(plan, "work")->kind, OP_BIND);
    assert_int_equal(plan_find_op(plan, "work")->flags, OP_PASSED | OP_WRITABLE | OP_OWN);
    assert_true(isolation_has(&plan->isolation, "copy-on-write-copy"));
    assert_int_equal(plan->n_collects, 0); /* the executor looks at the copy itself */
    plan_free(plan);
}

static void changes_are_collected_by_the_number_of_their_overlay(void **state)
{
    struct plan *plan;
    sbr_error err;

    (void)state;
    set_project();
    add_volume("/srv/a:/a:ro");
    add_volume("/srv/c:/c:cow");
    assert_int_equal(request_add_output(c.request, "*.png", &err), 0);
    c.request->diff = true;
    plan = plan_case_make(&c);
    assert_int_equal(plan->n_collects, 3);
    assert_int_equal(plan->collects[0].what, COLLECTS_CHANGES);
    assert_int_equal(plan->collects[0].cow, 0);
    assert_string_equal(plan->collects[0].path, "/work");
    assert_int_equal(plan->collects[1].what, COLLECTS_CHANGES);
    assert_int_equal(plan->collects[1].cow, 1);
    assert_string_equal(plan->collects[1].path, "/c");
    assert_int_equal(plan->collects[2].what, COLLECTS_OUTPUT);
    assert_string_equal(plan->collects[2].path, "/work/*.png");
    plan_free(plan);
    c.in.stage = STAGE_CHECK;
    c.request->diff = false;
    plan = plan_case_make(&c);
    assert_int_equal(plan->n_collects, 0);
    assert_non_null(plan_find_op(plan, "work"));
    assert_null(plan_find_op(plan, "c"));
    plan_free(plan);
}

static void a_workspace_says_what_bounds_it(void **state)
{
    struct plan *plan;
    sbr_error err;

    (void)state;
    assert_int_equal(request_set_workspace(c.request, "mine", &err), 0);
    plan = plan_case_make(&c);
    assert_true(isolation_has(&plan->isolation, "workspace-quota-tmpfs"));
    assert_int_equal(plan->n_collects, 1);
    plan_free(plan);
    c.features.cow = COW_DISK;
    plan = plan_case_make(&c);
    assert_false(isolation_has(&plan->isolation, "workspace-quota-tmpfs"));
    assert_true(isolation_lacks(&plan->isolation, "workspace quota by a file system of its own"));
    plan_free(plan);
}

/* Its id is nobody's on the host, and owners cannot be mapped. */
static void root_that_may_not_mount_writes_to_copies_alone(void **state)
{
    struct plan *plan;
    sbr_error err;

    (void)state;
    c.features.mounts = false;
    set_project();
    assert_null(plan_case_try(&c, &err));
    assert_refused(err.code, &err, SBR_E_UNSUPPORTED, "cannot be mapped");
    assert_string_equal(err.stage, "cow"); /* so that the executor goes on to the next way */
    c.features.cow = COW_COPY;
    plan = plan_case_make(&c);
    assert_int_equal(plan_find_op(plan, "work")->flags, OP_WRITABLE | OP_OWN);
    plan_free(plan);
    add_volume("/srv/b:/b:rw");
    assert_null(plan_case_try(&c, &err));
    assert_refused(err.code, &err, SBR_E_UNSUPPORTED, "as its owner");
    assert_string_equal(err.stage, "plan");
}

static void without_namespaces_trees_stay_where_they_are(void **state)
{
    struct plan *plan;
    sbr_error err;

    (void)state;
    c.features.user_namespaces = false;
    c.features.uid = 1000;
    c.features.privileged = false;
    c.in.run_dir = "/tmp/place";
    request_set_require(c.request, TIER_PROCESS);
    add_volume("/srv/b:/srv/b:rw");
    add_volume("/srv/r:/srv/r");
    plan = plan_case_make(&c);
    assert_int_equal(rule_of(plan, "/srv/b")->access, ACCESS_WRITE);
    assert_int_equal(rule_of(plan, "/srv/r")->access, ACCESS_READ);
    assert_true(has_filter(plan, "nosetid"));
    assert_true(has_filter(plan, "keeptimes"));
    assert_true(plan->n_filters <= PLAN_MAX_FILTERS);
    plan_free(plan);
    set_project();
    assert_null(plan_case_try(&c, &err));
    assert_refused(err.code, &err, SBR_E_UNSUPPORTED, "cannot be brought in copy-on-write");
}

#define TREE_TEST(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TREE_TEST(only_what_is_written_to_has_a_rule),
        TREE_TEST(set_id_bits_are_refused_where_files_of_the_host_are_written),
        TREE_TEST(sockets_are_refused_where_inodes_of_the_host_are_shown),
        TREE_TEST(a_project_takes_the_place_of_the_work_directory),
        TREE_TEST(each_way_of_copy_on_write_has_its_operation),
        TREE_TEST(changes_are_collected_by_the_number_of_their_overlay),
        TREE_TEST(a_workspace_says_what_bounds_it),
        TREE_TEST(root_that_may_not_mount_writes_to_copies_alone),
        TREE_TEST(without_namespaces_trees_stay_where_they_are),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
