#include "base/loop.h"

#include "unit.h"

#define SECOND 1000000

/* Somebody who asks for more without end, for ten seconds; what it cost. */
static uint64_t greed(struct pace *pace, uint64_t step_us)
{
    uint64_t now = 12345678, end = now + 10 * (uint64_t)SECOND, used = 0;

    while (now < end) {
        uint64_t rest;

        used += step_us;
        now += step_us; /* it takes as long as it uses */
        rest = pace_spend(pace, step_us, now);
        now += rest;
    }
    return used;
}

static void a_start_is_free(void **state)
{
    struct pace pace = { .share = 100, .burst_us = 5000 };

    (void)state;
    for (uint64_t now = 1000; now <= 5000; now += 1000)
        assert_int_equal(pace_spend(&pace, 1000, now), 0);
    assert_int_not_equal(pace_spend(&pace, 1000, 6000), 0);
}

static void greed_gets_its_share(void **state)
{
    static const uint64_t shares[] = { 50, 100, 500, 900 }, steps[] = { 100, 1000, 4000 };

    (void)state;
    for (size_t i = 0; i < 4; i++)
        for (size_t k = 0; k < 3; k++) {
            struct pace pace = { .share = shares[i], .burst_us = 5000 };
            uint64_t fair = 10 * (uint64_t)SECOND * shares[i] / 1000;

            assert_in_range(greed(&pace, steps[k]), fair * 9 / 10, fair * 11 / 10 + 10000);
        }
}

static void whoever_asks_for_less_never_waits(void **state)
{
    struct pace pace = { .share = 100, .burst_us = 5000 };

    (void)state;
    for (uint64_t now = SECOND; now < 20 * (uint64_t)SECOND; now += 10000)
        assert_int_equal(pace_spend(&pace, 900, now), 0);
}

static void a_pause_leaves_no_credit(void **state)
{
    struct pace pace = { .share = 100, .burst_us = 5000 };

    (void)state;
    assert_int_equal(pace_spend(&pace, 4000, SECOND), 0);
    assert_int_equal(pace_spend(&pace, 0, 3600 * (uint64_t)SECOND), 0);
    assert_int_equal(pace_spend(&pace, 5000, 3600 * (uint64_t)SECOND), 0);
    assert_int_not_equal(pace_spend(&pace, 1, 3600 * (uint64_t)SECOND), 0);
}

static void no_rest_is_endless(void **state)
{
    struct pace pace = { .share = 100, .burst_us = 5000 };

    (void)state;
    assert_in_range(pace_spend(&pace, UINT64_MAX, SECOND), 1, 3 * 5000 * 1000 / 100);
    assert_in_range(pace_spend(&pace, UINT64_MAX, SECOND), 1, 3 * 5000 * 1000 / 100);
}

static void without_a_share_there_is_no_bound(void **state)
{
    struct pace pace = { 0 };

    (void)state;
    assert_int_equal(pace_spend(&pace, UINT64_MAX, SECOND), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_start_is_free),
        cmocka_unit_test(greed_gets_its_share),
        cmocka_unit_test(whoever_asks_for_less_never_waits),
        cmocka_unit_test(a_pause_leaves_no_credit),
        cmocka_unit_test(no_rest_is_endless),
        cmocka_unit_test(without_a_share_there_is_no_bound),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
