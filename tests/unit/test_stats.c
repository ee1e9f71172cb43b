#include "work/stats.h"

#include "unit.h"

static struct stats of(const uint64_t *values, size_t n)
{
    struct samples samples = { 0 };
    struct stats stats;
    sbr_error err;

    for (size_t i = 0; i < n; i++)
        assert_int_equal(stats_add(&samples, values[i], &err), 0);
    stats = stats_of(&samples);
    stats_done(&samples);
    return stats;
}

static void figures_are_of_the_sorted_samples(void **state)
{
    const uint64_t odd[] = { 30, 10, 20 }, even[] = { 40, 10, 30, 20 };
    const uint64_t far[] = { 100, 101, 102, 103, 104, 105, 106, 9000 };
    struct stats stats = of(odd, 3);

    (void)state;
    assert_int_equal(stats.min, 10);
    assert_int_equal(stats.median, 20);
    assert_int_equal(stats.p95, 30);
    assert_int_equal(stats.spread_permille, 500);
    assert_int_equal(of(even, 4).median, 25);
    stats = of(far, 8);
    assert_int_equal(stats.outliers, 1);
    assert_int_equal(stats.max, 9000);
}

static void no_samples_have_no_figures(void **state)
{
    struct stats stats = of(NULL, 0);

    (void)state;
    assert_int_equal(stats.n + stats.median + stats.max + stats.outliers, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(figures_are_of_the_sorted_samples),
        cmocka_unit_test(no_samples_have_no_figures),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
