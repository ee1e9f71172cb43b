#include "work/series.h"

#include <string.h>

#include "unit.h"

static void add(struct series *s, uint64_t wall_us, uint64_t cpu_us, uint64_t memory)
{
    const sbr_metrics metrics = {
        .wall_us = wall_us, .cpu_user_us = cpu_us, .memory_bytes = memory, .processes = 1
    };
    sbr_error err;

    assert_int_equal(series_add(s, &metrics, &err), 0);
}

static void rates_are_of_the_time_between_points(void **state)
{
    struct series s = { 0 };
    struct buf out;

    (void)state;
    add(&s, 10000, 5000, 100);
    add(&s, 20000, 15000, 700);
    add(&s, 20000, 99999, 9); /* the same moment */
    add(&s, 40000, 15000, 0);
    assert_int_equal(s.n, 3);
    assert_int_equal(series_value(&s, SERIES_CPU, 0), 0);
    assert_int_equal(series_value(&s, SERIES_CPU, 1), 1000);
    assert_int_equal(series_value(&s, SERIES_CPU, 2), 0);
    assert_int_equal(series_max(&s, SERIES_MEMORY), 700);
    buf_init(&out, 10000);
    series_draw(&s, SERIES_MEMORY, 80, &out);
    assert_string_equal(out.data, "▂█▁");
    out.len = 0;
    series_draw(&s, SERIES_MEMORY, 1, &out);
    assert_string_equal(out.data, "█");
    out.len = 0;
    series_write_svg(&s, "a <b> & c", &out);
    assert_non_null(strstr(out.data, "a &lt;b&gt; &amp; c"));
    assert_non_null(strstr(out.data, "<polyline"));
    buf_done(&out);
    series_done(&s);
}

static void no_points_make_an_empty_picture(void **state)
{
    struct series s = { 0 };
    struct buf out;

    (void)state;
    buf_init(&out, 10000);
    series_draw(&s, SERIES_CPU, 80, &out);
    assert_int_equal(out.len, 0);
    series_write_svg(&s, "", &out);
    assert_null(strstr(out.data, "<polyline"));
    buf_done(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rates_are_of_the_time_between_points),
        cmocka_unit_test(no_points_make_an_empty_picture),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
