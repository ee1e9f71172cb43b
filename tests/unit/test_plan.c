#include "plan/plan.h"

#include "unit.h"

static void an_empty_plan_can_be_freed(void **state)
{
    (void)state;
    plan_free(NULL);
    plan_free(plan_new());
}

static void operations_keep_their_order_however_many_there_are(void **state)
{
    struct plan *plan = plan_new();
    sbr_error err;

    (void)state;
    for (uint32_t i = 0; i < 1000; i++) {
        struct plan_op op = { .kind = OP_DIR, .to = "x", .mode = i };

        assert_int_equal(plan_add_op(plan, op, &err), 0);
        assert_int_equal(plan->n_ops, i + 1);
    }
    for (uint32_t i = 0; i < 1000; i++)
        assert_int_equal(plan->ops[i].mode, i);
    plan_free(plan);
}

static void memory_of_a_plan_is_zero_and_freed_with_it(void **state)
{
    struct plan *plan = plan_new();
    char *bytes = plan_alloc(plan, 100);
    char *text = plan_printf(plan, "%s-%d", "a", 7);

    (void)state;
    for (int i = 0; i < 100; i++)
        assert_int_equal(bytes[i], 0);
    assert_string_equal(text, "a-7");
    plan_free(plan);
}

static void a_list_has_whole_words_only(void **state)
{
    static const struct {
        const char *list, *name;
        bool has;
    } rows[] = {
        { "seccomp", "seccomp", true },
        { "landlock,seccomp", "seccomp", true },
        { "seccomp,landlock", "seccomp", true },
        { "a,b,c", "b", true },
        { "seccomp2", "seccomp", false },
        { "noseccomp", "seccomp", false },
        { "sec", "seccomp", false },
        { "", "seccomp", false },
        { ",", "seccomp", false },
        { ",seccomp", "seccomp", true },
        { "a, b", "b", false },
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        if (plan_list_has(rows[i].list, rows[i].name) != rows[i].has)
            fail_msg("'%s' and '%s'", rows[i].list, rows[i].name);
    assert_false(plan_list_has(NULL, "seccomp"));
}

static void every_operation_has_a_name_of_its_own(void **state)
{
    (void)state;
    for (int i = 0; i < N_OPS; i++) {
        assert_non_null(plan_op_name((enum op_kind)i));
        for (int k = 0; k < i; k++)
            assert_string_not_equal(plan_op_name((enum op_kind)i), plan_op_name((enum op_kind)k));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_empty_plan_can_be_freed),
        cmocka_unit_test(operations_keep_their_order_however_many_there_are),
        cmocka_unit_test(memory_of_a_plan_is_zero_and_freed_with_it),
        cmocka_unit_test(a_list_has_whole_words_only),
        cmocka_unit_test(every_operation_has_a_name_of_its_own),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
