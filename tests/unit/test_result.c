#include "model/result.h"

#include <stdlib.h>

#include "unit.h"

static void every_verdict_has_a_name_of_its_own(void **state)
{
    (void)state;
    for (int i = SBR_EXITED; i <= SBR_INSTALL_FAILED; i++) {
        assert_non_null(result_verdict_name((enum sbr_verdict)i));
        for (int k = SBR_EXITED; k < i; k++)
            assert_string_not_equal(result_verdict_name((enum sbr_verdict)i),
                                    result_verdict_name((enum sbr_verdict)k));
    }
}

static void only_exit_zero_is_success(void **state)
{
    (void)state;
    for (int verdict = SBR_EXITED; verdict <= SBR_INSTALL_FAILED; verdict++) {
        sbr_result result = { .verdict = (enum sbr_verdict)verdict };

        assert_int_equal(result_success(&result), verdict == SBR_EXITED);
        result.exit_code = 1;
        assert_false(result_success(&result));
    }
}

static void names_beyond_the_list_are_dropped(void **state)
{
    struct isolation isolation = { .tier = TIER_PROCESS };

    (void)state;
    for (int i = 0; i < 2 * ISOLATION_MAX; i++) {
        result_add_mechanism(&isolation, "m");
        result_add_missing(&isolation, "x");
    }
    assert_int_equal(isolation.n_mechanisms, ISOLATION_MAX);
    assert_int_equal(isolation.n_missing, ISOLATION_MAX);
    assert_string_equal(isolation.mechanisms[ISOLATION_MAX - 1], "m");
    assert_string_equal(isolation.missing[ISOLATION_MAX - 1], "x");
}

static void the_report_repeats_the_result(void **state)
{
    sbr_result *result = calloc(1, sizeof(*result));

    (void)state;
    assert_non_null(result);
    result->verdict = SBR_SIGNALED;
    result->exit_code = -1;
    result->signal = 9;
    result->usage = (struct usage){
        .wall_us = 5, .cpu_user_us = 2, .cpu_system_us = 1, .peak_memory_bytes = 7
    };
    result->out = (struct output){ .data = strdup("out"), .len = 3 };
    result_complete(result);
    assert_int_equal(result->report.struct_size, sizeof(sbr_report));
    assert_int_equal(result->report.verdict, SBR_SIGNALED);
    assert_int_equal(result->report.exit_code, -1);
    assert_int_equal(result->report.signal, 9);
    assert_int_equal(result->report.wall_us, 5);
    assert_int_equal(result->report.cpu_us, 3);
    assert_int_equal(result->report.peak_memory_bytes, 7);
    assert_ptr_equal(result->report.out, result->out.data);
    assert_int_equal(result->report.out_len, 3);
    assert_string_equal(result->report.errout, ""); /* never NULL */
    assert_int_equal(result->report.errout_len, 0);
    result_free(result);
    result_free(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_verdict_has_a_name_of_its_own),
        cmocka_unit_test(only_exit_zero_is_success),
        cmocka_unit_test(names_beyond_the_list_are_dropped),
        cmocka_unit_test(the_report_repeats_the_result),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
