/* The events of a run: numbered, bounded, the oldest go first. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "http/execution.h"

static void add(struct event_log *log, const char *text)
{
    struct buf lines;

    buf_init(&lines, 1000);
    buf_add_text(&lines, text);
    assert_int_equal(event_log_add(log, &lines), 0);
    buf_done(&lines);
}

static void numbers_lines(void **state)
{
    struct event_log log;

    (void)state;
    event_log_init(&log, 100);
    assert_null(event_log_get(&log, 0));
    add(&log, "a\nbb\n");
    add(&log, "ccc\n");
    assert_int_equal(event_log_next(&log), 3);
    assert_string_equal(event_log_get(&log, 0)->text, "a");
    assert_string_equal(event_log_get(&log, 2)->text, "ccc");
    assert_int_equal(event_log_get(&log, 1)->len, 2);
    assert_null(event_log_get(&log, 3));
    event_log_done(&log);
}

static void drops_the_oldest(void **state)
{
    struct event_log log;
    char line[32];

    (void)state;
    event_log_init(&log, 50);
    for (int i = 0; i < 1000; i++) {
        snprintf(line, sizeof(line), "%09d\n", i);
        add(&log, line);
        assert_true(log.bytes <= 50);
    }
    assert_int_equal(event_log_next(&log), 1000);
    assert_int_equal(log.first, 995);
    assert_null(event_log_get(&log, 994));
    assert_string_equal(event_log_get(&log, 995)->text, "000000995");
    assert_string_equal(event_log_get(&log, 999)->text, "000000999");
    event_log_done(&log);
}

static void counts_what_a_reader_has_not_read(void **state)
{
    struct event_log log;

    (void)state;
    event_log_init(&log, 10);
    assert_int_equal(event_log_unread(&log, 0), 0);
    add(&log, "1\n22\n333\n");
    assert_int_equal(event_log_unread(&log, 0), 6);
    assert_int_equal(event_log_unread(&log, 2), 3);
    assert_int_equal(event_log_unread(&log, 3), 0);
    assert_int_equal(event_log_unread(&log, 9), 0);
    add(&log, "55555\n");
    assert_int_equal(event_log_unread(&log, 0), 10);
    assert_int_equal(event_log_unread(&log, 2), 8);
    event_log_done(&log);
}

static void keeps_the_newest_however_long(void **state)
{
    struct event_log log;

    (void)state;
    event_log_init(&log, 4);
    add(&log, "a\nthis is longer\n");
    assert_int_equal(log.first, 1);
    assert_string_equal(event_log_get(&log, 1)->text, "this is longer");
    event_log_done(&log);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_lines),
        cmocka_unit_test(drops_the_oldest),
        cmocka_unit_test(counts_what_a_reader_has_not_read),
        cmocka_unit_test(keeps_the_newest_however_long),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
