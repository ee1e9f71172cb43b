#include "monitor/capture.h"

#include <stdlib.h>
#include <unistd.h>

#include "pipe_fixture.h"
#include "unit.h"

static struct pipe_fixture f;
static struct capture capture;
static int n_excess;

static void count_excess(void *context)
{
    (void)context;
    n_excess++;
}

static void start(uint64_t max, bool keep, struct forward *forward)
{
    sbr_error err;

    capture = (struct capture){
        .fd = f.read_end, .max = max, .keep = keep, .forward = forward, .excess = count_excess
    };
    assert_int_equal(capture_start(&capture, &f.loop, &err), 0);
}

static int set_up(void **state)
{
    (void)state;
    n_excess = 0;
    pipe_fixture_init(&f);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    capture_done(&capture);
    pipe_fixture_done(&f);
    return 0;
}

static void put(const char *text)
{
    assert_int_equal(write(f.write_end, text, strlen(text)), strlen(text));
}

static void assert_finished(const char *kept, uint64_t total, bool truncated)
{
    struct output out;

    capture_finish(&capture, &out);
    assert_int_equal(capture.fd, -1);
    assert_int_equal(out.total, total);
    assert_int_equal(out.truncated, truncated);
    assert_int_equal(out.len, kept ? strlen(kept) : 0);
    if (kept)
        assert_string_equal(out.data, kept);
    else
        assert_null(out.data);
    free(out.data);
}

static void output_is_kept_as_it_comes(void **state)
{
    (void)state;
    start(100, true, NULL);
    put("one ");
    pipe_fixture_turn(&f);
    put("two");
    pipe_fixture_turn(&f);
    assert_finished("one two", 7, false);
}

static void a_program_that_writes_nothing_has_empty_output(void **state)
{
    (void)state;
    start(100, true, NULL);
    pipe_fixture_close(&f.write_end);
    pipe_fixture_turn(&f);
    assert_int_equal(capture.fd, -1);
    assert_finished("", 0, false);
}

static void what_is_left_in_the_pipe_is_taken_at_the_end(void **state)
{
    (void)state;
    start(100, true, NULL);
    put("late");
    assert_finished("late", 4, false);
}

static void the_limit_itself_is_kept_whole(void **state)
{
    (void)state;
    start(5, true, NULL);
    put("12345");
    assert_finished("12345", 5, false);
}

static void what_is_beyond_the_limit_is_counted_and_dropped(void **state)
{
    (void)state;
    start(5, true, NULL);
    put("1234");
    pipe_fixture_turn(&f);
    put("567");
    pipe_fixture_turn(&f);
    put("8");
    assert_finished("12345", 8, true);
    assert_int_equal(n_excess, 0);
}

static void several_times_the_limit_is_too_much(void **state)
{
    (void)state;
    start(2, true, NULL);
    put("12345678"); /* four times is still endured */
    pipe_fixture_turn(&f);
    assert_int_equal(n_excess, 0);
    put("1234");
    pipe_fixture_turn(&f);
    assert_int_equal(n_excess, 1);
    assert_finished("12", 12, true);
}

static void output_that_is_not_kept_is_still_counted(void **state)
{
    (void)state;
    start(3, false, NULL);
    put("12345");
    pipe_fixture_turn(&f);
    assert_finished(NULL, 5, true);
}

static void output_is_passed_on_up_to_the_limit(void **state)
{
    struct pipe_fixture reader;
    struct forward forward;

    (void)state;
    pipe_fixture_init(&reader);
    forward_init(&forward, reader.write_end, 100);
    start(5, true, &forward);
    put("1234567");
    pipe_fixture_turn(&f);
    assert_string_equal(pipe_fixture_read(&reader), "12345");
    assert_finished("12345", 7, true);
    forward_done(&forward);
    pipe_fixture_done(&reader);
}

static void a_reader_that_left_is_passed_on_to_the_program(void **state)
{
    struct pipe_fixture reader;
    struct forward forward;

    (void)state;
    pipe_fixture_init(&reader);
    forward_init(&forward, reader.write_end, 100);
    pipe_fixture_close(&reader.read_end);
    start(100, false, &forward);
    put("x");
    pipe_fixture_turn(&f);
    assert_int_equal(capture.fd, -1); /* the supervisor closes its end */
    forward_done(&forward);
    pipe_fixture_done(&reader);
}

static void a_reader_that_left_does_not_end_what_is_kept(void **state)
{
    struct pipe_fixture reader;
    struct forward forward;

    (void)state;
    pipe_fixture_init(&reader);
    forward_init(&forward, reader.write_end, 100);
    pipe_fixture_close(&reader.read_end);
    start(100, true, &forward);
    put("one ");
    pipe_fixture_turn(&f);
    put("two");
    assert_finished("one two", 7, false);
    forward_done(&forward);
    pipe_fixture_done(&reader);
}

/* Somebody outside who has the other end, and writes whenever there is room again. */
static void write_more(void *context)
{
    (void)context;
    if (n_excess++ < 1000)
        put("more");
}

static void what_others_write_after_the_end_is_not_waited_for(void **state)
{
    sbr_error err;

    (void)state;
    capture = (struct capture){ .fd = f.read_end, .max = 1, .keep = true, .excess = write_more };
    assert_int_equal(capture_start(&capture, &f.loop, &err), 0);
    put("the program's own");
    assert_finished("t", strlen("the program's own"), true);
    assert_int_equal(n_excess, 1);
}

#define OUTPUT_TEST(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        OUTPUT_TEST(output_is_kept_as_it_comes),
        OUTPUT_TEST(a_program_that_writes_nothing_has_empty_output),
        OUTPUT_TEST(what_is_left_in_the_pipe_is_taken_at_the_end),
        OUTPUT_TEST(what_others_write_after_the_end_is_not_waited_for),
        OUTPUT_TEST(the_limit_itself_is_kept_whole),
        OUTPUT_TEST(what_is_beyond_the_limit_is_counted_and_dropped),
        OUTPUT_TEST(several_times_the_limit_is_too_much),
        OUTPUT_TEST(output_that_is_not_kept_is_still_counted),
        OUTPUT_TEST(output_is_passed_on_up_to_the_limit),
        OUTPUT_TEST(a_reader_that_left_is_passed_on_to_the_program),
        OUTPUT_TEST(a_reader_that_left_does_not_end_what_is_kept),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
