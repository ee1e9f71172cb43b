/* How many sandboxes are kept ready. */
#include "unit.h"

#include "engine/pool_size.h"

#define SECOND 1000000ULL
#define START (1000 * SECOND)
#define MIB (1ULL << 20)

static const struct pool_limits limits = {
    .least = 4, .most = 64, .total = 200, .memory_bytes = 1000 * MIB, .idle_us = 600 * SECOND
};

static struct pool_demand demand_of(unsigned int n, uint64_t gap_us, uint64_t make_us)
{
    struct pool_demand demand = { .bytes = MIB };

    pool_size_made(&demand, make_us);
    for (unsigned int i = 0; i < n; i++)
        pool_size_arrived(&demand, START + i * gap_us);
    return demand;
}

static void what_nobody_wanted_is_not_kept(void **state)
{
    struct pool_demand demand = { .bytes = MIB };

    (void)state;
    assert_int_equal(pool_size_wanted(&demand, &limits, START), 0);
    demand.pinned = true;
    assert_int_equal(pool_size_wanted(&demand, &limits, START), 4);
}

static void one_run_is_enough_for_the_least(void **state)
{
    struct pool_demand demand = demand_of(1, 0, 2000);

    (void)state;
    assert_int_equal(pool_size_wanted(&demand, &limits, START), 4);
    assert_int_equal(pool_size_wanted(&demand, &limits, START + 599 * SECOND), 4);
    assert_int_equal(pool_size_wanted(&demand, &limits, START + 600 * SECOND), 0);
    demand.bytes = 100 * MIB; /* dear ones are fewer */
    assert_int_equal(pool_size_wanted(&demand, &limits, START), 2);
}

static void demand_grows_with_rate_and_time_to_make(void **state)
{
    struct pool_demand demand = demand_of(10000, 1280, 100000); /* the whole window, 781 a second */
    uint64_t end = START + 10000 * 1280;

    (void)state;
    assert_int_equal(pool_size_wanted(&demand, &limits, end), 64); /* 157, but for the limit */
    demand.make_us = 1;
    assert_in_range(pool_size_wanted(&demand, &limits, end), 64, 64); /* as many came at once: 78 */
    demand = demand_of(100, 128000, 1000000); /* 7.8 a second, a second each */
    assert_in_range(pool_size_wanted(&demand, &limits, START + 100 * 128000), 14, 17);
}

static void what_came_at_once_may_come_at_once_again(void **state)
{
    struct pool_demand demand = demand_of(30, 10, 1000);

    (void)state;
    assert_int_equal(pool_size_wanted(&demand, &limits, START + SECOND), 30);
    assert_int_equal(pool_size_wanted(&demand, &limits, START + POOL_WINDOW_US + SECOND), 4);
}

static void the_window_moves(void **state)
{
    struct pool_demand demand = demand_of(50, 10, 1000);

    (void)state;
    for (int i = 1; i < 300; i++) {
        pool_size_arrived(&demand, START + (uint64_t)i * SECOND);
        assert_in_range(pool_size_wanted(&demand, &limits, START + (uint64_t)i * SECOND), 4,
                        i * SECOND < POOL_WINDOW_US ? 50 : 4);
    }
}

static void the_time_to_make_one_is_learnt_slowly(void **state)
{
    struct pool_demand demand = { 0 };

    (void)state;
    pool_size_made(&demand, 0);
    assert_int_equal(demand.make_us, 1);
    demand.make_us = 0;
    pool_size_made(&demand, 8000);
    assert_int_equal(demand.make_us, 8000);
    pool_size_made(&demand, 16000);
    assert_int_equal(demand.make_us, 9000);
}

static void memory_and_number_are_shared_by_recency(void **state)
{
    struct pool_claim claims[] = { { .wanted = 64, .bytes = 10 * MIB },
                                   { .wanted = 64, .bytes = 10 * MIB },
                                   { .wanted = 4, .bytes = 10 * MIB } };
    struct pool_limits tight = limits;

    (void)state;
    pool_size_share(claims, 3, &limits); /* 100 fit */
    assert_int_equal(claims[0].target, 64);
    assert_int_equal(claims[1].target, 32);
    assert_int_equal(claims[2].target, 4);
    tight.memory_bytes = 50 * MIB;
    pool_size_share(claims, 3, &tight);
    assert_int_equal(claims[0].target, 4);
    assert_int_equal(claims[1].target, 1);
    assert_int_equal(claims[2].target, 0);
    tight = limits;
    tight.total = 10;
    pool_size_share(claims, 3, &tight);
    assert_int_equal(claims[0].target + claims[1].target + claims[2].target, 10);
    assert_int_equal(claims[2].target, 2);
}

static void nothing_is_shared_when_there_is_nothing(void **state)
{
    struct pool_claim claim = { .wanted = 8, .bytes = MIB };
    const struct pool_limits none = { .least = 4, .most = 8 };

    (void)state;
    pool_size_share(&claim, 1, &none);
    assert_int_equal(claim.target, 0);
    pool_size_share(&claim, 0, &none);
}

static void half_the_stock_is_low(void **state)
{
    (void)state;
    assert_false(pool_size_is_low(4, 4));
    assert_false(pool_size_is_low(1, 4));
    assert_true(pool_size_is_low(0, 4));
    assert_true(pool_size_is_low(1, 8));
    assert_false(pool_size_is_low(25, 100));
    assert_true(pool_size_is_low(24, 100));
    assert_true(pool_size_is_low(0, 1));
    assert_false(pool_size_is_low(0, 0));
}

static void a_runtime_that_boots_is_not_waited_for(void **state)
{
    (void)state;
    assert_true(pool_size_is_worth_waiting(false, 0));
    assert_false(pool_size_is_worth_waiting(true, 0));
    assert_true(pool_size_is_worth_waiting(true, 1));
}

static void nurseries_wear_out(void **state)
{
    (void)state;
    assert_false(pool_size_is_worn(1, SECOND));
    assert_true(pool_size_is_worn(POOL_RECYCLE_MADE, SECOND));
    assert_true(pool_size_is_worn(1, POOL_RECYCLE_US));
    assert_false(pool_size_is_worn(0, 10 * POOL_RECYCLE_US));
}

static void failures_are_tried_again_ever_later(void **state)
{
    uint64_t before = 0;

    (void)state;
    for (uint32_t n = 1; n < 100; n++) {
        uint64_t now = pool_size_back_off_us(n);

        assert_true(now >= before && now <= 120 * SECOND);
        before = now;
    }
    assert_int_equal(before, 120 * SECOND);
    assert_int_equal(pool_size_back_off_us(1), SECOND / 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_nobody_wanted_is_not_kept),
        cmocka_unit_test(one_run_is_enough_for_the_least),
        cmocka_unit_test(demand_grows_with_rate_and_time_to_make),
        cmocka_unit_test(what_came_at_once_may_come_at_once_again),
        cmocka_unit_test(the_window_moves),
        cmocka_unit_test(the_time_to_make_one_is_learnt_slowly),
        cmocka_unit_test(memory_and_number_are_shared_by_recency),
        cmocka_unit_test(nothing_is_shared_when_there_is_nothing),
        cmocka_unit_test(half_the_stock_is_low),
        cmocka_unit_test(a_runtime_that_boots_is_not_waited_for),
        cmocka_unit_test(nurseries_wear_out),
        cmocka_unit_test(failures_are_tried_again_ever_later),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
