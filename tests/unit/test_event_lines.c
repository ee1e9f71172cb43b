#include "lib/event_lines.h"

#include <string.h>

#include "unit.h"

static struct event_lines lines;
static struct buf out;

static int set_up(void **state)
{
    (void)state;
    lines = (struct event_lines){ 0 };
    buf_init(&out, 1 << 20);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    buf_done(&out);
    return 0;
}

/* The last line, from its first field after the time on. */
static const char *last(void)
{
    const char *at;

    assert_false(out.failed);
    assert_true(out.len > 0 && out.data[out.len - 1] == '\n');
    for (at = out.data + out.len - 1; at > out.data && at[-1] != '\n'; at--)
        continue;
    at = strstr(at, "\"time_ms\":");
    assert_non_null(at);
    return strchr(at, ',') + 1;
}

static void put(int stream, const char *data)
{
    event_lines_output(&lines, stream, data, strlen(data), &out);
}

static void text_is_text_and_the_rest_is_base64(void **state)
{
    (void)state;
    put(SBR_STDOUT, "gr\xc3\xbc\xc3\x9f\n");
    assert_string_equal(last(), "\"data\":\"gr\xc3\xbc\xc3\x9f\\n\"}\n");
    assert_non_null(strstr(out.data, "{\"type\":\"stdout\",\"seq\":0,"));
    put(SBR_STDERR, "\xff\xfe");
    assert_string_equal(last(), "\"data_b64\":\"//4=\"}\n");
    assert_non_null(strstr(out.data, "{\"type\":\"stderr\",\"seq\":1,"));
}

static void a_split_character_waits_for_its_rest(void **state)
{
    size_t before;

    (void)state;
    put(SBR_STDOUT, "a\xf0\x9f");
    assert_string_equal(last(), "\"data\":\"a\"}\n");
    before = out.len;
    put(SBR_STDOUT, "\x98");
    assert_int_equal(out.len, before); /* three bytes of four */
    put(SBR_STDERR, "x");              /* the other stream has its own */
    assert_string_equal(last(), "\"data\":\"x\"}\n");
    put(SBR_STDOUT, "\x80z");
    assert_string_equal(last(), "\"data\":\"\xf0\x9f\x98\x80z\"}\n");
}

static void what_never_becomes_a_character_comes_out(void **state)
{
    (void)state;
    put(SBR_STDOUT, "\xe2\x82");
    assert_int_equal(out.len, 0);
    put(SBR_STDOUT, "x");
    assert_string_equal(last(), "\"data_b64\":\"4oJ4\"}\n");
    put(SBR_STDOUT, "\xc3");
    event_lines_end(&lines, "{\"schema\":1}", &out);
    assert_string_equal(last(), "\"result\":{\"schema\":1}}\n");
    assert_non_null(strstr(out.data, "\"data_b64\":\"ww==\"}"));
}

static void events_have_their_fields(void **state)
{
    sbr_metrics metrics = { .known = SBR_METRIC_MEMORY, .memory_bytes = 5, .wall_us = 1500 };
    sbr_event stage = { .type = SBR_EVENT_STAGE, .stage = "compile" },
              queue = { .type = SBR_EVENT_QUEUE, .stage = "run", .queue_before = 3 },
              stdin_room = { .type = SBR_EVENT_STDIN },
              measured = { .type = SBR_EVENT_METRICS, .stage = "run", .metrics = &metrics };
    size_t before;

    (void)state;
    event_lines_event(&lines, &stage, &out);
    assert_string_equal(last(), "\"stage\":\"compile\"}\n");
    event_lines_event(&lines, &queue, &out);
    assert_string_equal(last(), "\"stage\":\"run\",\"before\":3}\n");
    event_lines_event(&lines, &measured, &out);
    assert_non_null(strstr(last(), "\"wall_ms\":1.5,\"cpu_user_ms\":null"));
    assert_non_null(strstr(last(), "\"memory_bytes\":5,\"peak_memory_bytes\":null"));
    before = out.len;
    event_lines_event(&lines, &stdin_room, &out);
    assert_int_equal(out.len, before);
    assert_int_equal(lines.seq, 3);
}

static void without_memory_for_a_result_the_failure_is_seen(void **state)
{
    (void)state;
    event_lines_end(&lines, NULL, &out);
    assert_true(out.failed);
}

#define LINES_TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        LINES_TEST(text_is_text_and_the_rest_is_base64),
        LINES_TEST(a_split_character_waits_for_its_rest),
        LINES_TEST(what_never_becomes_a_character_comes_out),
        LINES_TEST(events_have_their_fields),
        LINES_TEST(without_memory_for_a_result_the_failure_is_seen),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
