#include "monitor/monitor.h"

#include <unistd.h>

#include "unit.h"

static void the_innermost_session_counts(void **state)
{
    (void)state;
    assert_int_equal(kernel_denials_parse(
                         "Name:\tsh\nNSpgid:\t9\t3\nNSsid:\t4711\t2\nVmPeak:\t1\n"),
                     2);
    assert_int_equal(kernel_denials_parse("Name:\tsh\nNSsid:\t4711\nVmPeak:\t1\n"), 4711);
    assert_int_equal(kernel_denials_parse("Name:\tsh\nNSsid:\t1\t2\t3"), 3);
}

static void a_name_is_no_session(void **state)
{
    (void)state;
    assert_int_equal(kernel_denials_parse("Name:\tNSsid:\t5\nNSsid:\t4711\t2\n"), 2);
    assert_int_equal(kernel_denials_parse("Name:\t\\nNSsid:\t5\n"), 0);
    assert_int_equal(kernel_denials_parse(""), 0);
    assert_int_equal(kernel_denials_parse("Name:\tsh\nNSsid:\n"), 0);
    assert_int_equal(kernel_denials_parse("Name:\tsh\nNSsid:\t99999999999999\n"), 0);
}

static void a_kernel_has_what_is_in_its_session(void **state)
{
    struct kernel_denials k = { .turn = 1 };
    struct init_report report = { .kernels = { 2 } };

    (void)state;
    assert_true(kernel_denials_is_own(&k, &report, getpid())); /* there is no other kernel */
    report.kernels[1] = (uint32_t)getsid(0);
    assert_true(kernel_denials_is_own(&k, &report, getpid()));
    k.turn = 0;
    assert_false(kernel_denials_is_own(&k, &report, getpid()));
    k.turn = 2; /* it has ended */
    assert_false(kernel_denials_is_own(&k, &report, getpid()));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_innermost_session_counts),
        cmocka_unit_test(a_name_is_no_session),
        cmocka_unit_test(a_kernel_has_what_is_in_its_session),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
