#include "monitor/capture.h"

#include <fcntl.h>
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
    struct output out = { 0 };

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

static void ignore_bytes(void *context, const char *data, size_t len)
{
    (void)context;
    (void)data;
    (void)len;
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

static void what_is_beyond_the_limit_ends_the_run_once(void **state)
{
    (void)state;
    start(5, true, NULL);
    put("12345");
    pipe_fixture_turn(&f);
    assert_int_equal(n_excess, 0); /* the limit itself is allowed */
    put("6");
    pipe_fixture_turn(&f);
    assert_int_equal(n_excess, 1);
    put("78");
    pipe_fixture_turn(&f);
    assert_int_equal(n_excess, 1);
    assert_finished("12345", 8, true);
    assert_true(capture.over);
}

static void excess_that_is_seen_after_the_end_ends_nothing(void **state)
{
    (void)state;
    start(5, true, NULL);
    put("123456");
    assert_finished("12345", 6, true);
    assert_int_equal(n_excess, 0);
    assert_true(capture.over);
}

/* The pipe of a reader that does not read; the program is held up and loses nothing. */
/* A program's terminal comes later than its run begins. */
static void a_terminal_that_comes_while_nothing_is_wanted_waits(void **state)
{
    struct pipe_fixture terminal;

    (void)state;
    pipe_fixture_init(&terminal);
    start(LIMIT_NONE, true, NULL);
    capture_stop(&capture, true);
    assert_int_equal(capture_switch(&capture, fcntl(terminal.read_end, F_DUPFD_CLOEXEC, 0)), 0);
    assert_int_equal(write(terminal.write_end, "later", 5), 5);
    assert_int_equal(loop_turn(&f.loop, 0), 0);
    capture_stop(&capture, false);
    pipe_fixture_turn(&f);
    assert_finished("later", 5, false);
    pipe_fixture_done(&terminal);
}

static void a_stopped_reader_holds_the_program_up(void **state)
{
    struct pipe_fixture reader;
    struct forward forward;
    size_t size, got = 0;
    struct output out = { 0 };

    (void)state;
    pipe_fixture_init(&reader);
    size = pipe_fixture_shrink(&reader);
    forward_init(&forward, reader.write_end);
    start(LIMIT_NONE, false, &forward);
    capture.sink = (struct capture_sink){ ignore_bytes, NULL }; /* no splice */
    for (size_t i = 0; i < 2 * size; i++)
        put("x");
    pipe_fixture_turn(&f);
    assert_true(capture.held);
    assert_false(capture.watch.on);
    put("y"); /* stays in the program's pipe */
    while (capture.held) {
        got += strlen(pipe_fixture_read(&reader));
        pipe_fixture_turn(&f);
    }
    capture_finish(&capture, &out);
    forward_end(&forward);
    got += strlen(pipe_fixture_read(&reader));
    assert_int_equal(got, 2 * size + 1);
    assert_int_equal(out.total, got);
    assert_false(out.truncated);
    forward_done(&forward);
    pipe_fixture_done(&reader);
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
    forward_init(&forward, reader.write_end);
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
    forward_init(&forward, reader.write_end);
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
    forward_init(&forward, reader.write_end);
    pipe_fixture_close(&reader.read_end);
    start(100, true, &forward);
    put("one ");
    pipe_fixture_turn(&f);
    put("two");
    assert_finished("one two", 7, false);
    forward_done(&forward);
    pipe_fixture_done(&reader);
}

static struct buf sunk;

static void sink_bytes(void *context, const char *data, size_t len)
{
    assert_ptr_equal(context, &sunk);
    assert_int_equal(buf_add(&sunk, data, len), 0);
}

/* Without the sink these bytes would be spliced, and no function of ours would see them. */
static void a_sink_gets_the_bytes_up_to_the_limit(void **state)
{
    struct pipe_fixture reader;
    struct forward forward;
    sbr_error err;

    (void)state;
    pipe_fixture_init(&reader);
    forward_init(&forward, reader.write_end);
    buf_init(&sunk, 100);
    capture = (struct capture){ .fd = f.read_end,
                                .max = 5,
                                .sink = { sink_bytes, &sunk },
                                .forward = &forward,
                                .excess = count_excess };
    assert_int_equal(capture_start(&capture, &f.loop, &err), 0);
    put("123");
    pipe_fixture_turn(&f);
    assert_string_equal(sunk.data, "123");
    assert_string_equal(pipe_fixture_read(&reader), "123");
    put("4567");
    assert_finished(NULL, 7, true);
    assert_string_equal(sunk.data, "12345");
    assert_string_equal(pipe_fixture_read(&reader), "45");
    buf_done(&sunk);
    forward_done(&forward);
    pipe_fixture_done(&reader);
}

/* A process outside that has the other end writes whenever there is room again. */
static void write_more(void *context, const char *data, size_t len)
{
    (void)context;
    (void)data;
    (void)len;
    if (n_excess++ < 1000)
        put("more");
}

static void what_others_write_after_the_end_is_not_waited_for(void **state)
{
    (void)state;
    start(100, true, NULL);
    capture.sink.on_bytes = write_more;
    put("the program's own");
    assert_finished("the program's own", strlen("the program's own"), false);
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
        OUTPUT_TEST(what_is_beyond_the_limit_ends_the_run_once),
        OUTPUT_TEST(excess_that_is_seen_after_the_end_ends_nothing),
        OUTPUT_TEST(a_terminal_that_comes_while_nothing_is_wanted_waits),
        OUTPUT_TEST(a_stopped_reader_holds_the_program_up),
        OUTPUT_TEST(output_that_is_not_kept_is_still_counted),
        OUTPUT_TEST(output_is_passed_on_up_to_the_limit),
        OUTPUT_TEST(a_sink_gets_the_bytes_up_to_the_limit),
        OUTPUT_TEST(a_reader_that_left_is_passed_on_to_the_program),
        OUTPUT_TEST(a_reader_that_left_does_not_end_what_is_kept),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
