#include "monitor/forward.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "pipe_fixture.h"
#include "unit.h"

static struct pipe_fixture f;
static struct forward forward;

static int set_up(void **state)
{
    (void)state;
    pipe_fixture_init(&f);
    forward_init(&forward, f.write_end);
    forward_attach(&forward, &f.loop);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    forward_done(&forward);
    pipe_fixture_done(&f);
    return 0;
}

static int put(const char *text)
{
    char copy[64];

    memcpy(copy, text, strlen(text));
    return forward_write(&forward, copy, strlen(text));
}

static void bytes_arrive_at_once_when_there_is_room(void **state)
{
    (void)state;
    assert_int_equal(put("hello"), 0);
    assert_int_equal(put(" world"), 0);
    assert_true(forward_is_idle(&forward));
    assert_string_equal(pipe_fixture_read(&f), "hello world");
}

static void the_flags_of_a_shared_descriptor_are_left_alone(void **state)
{
    int ends[2];

    (void)state;
    assert_int_equal(pipe(ends), 0);
    forward_done(&forward);
    forward_init(&forward, ends[1]);
    assert_int_equal(fcntl(ends[1], F_GETFL) & O_NONBLOCK, 0);
    forward_done(&forward);
    assert_int_equal(fcntl(ends[1], F_GETFD), 0); /* and it is still open */
    close(ends[0]);
    close(ends[1]);
}

/* Writes `len` bytes of a pattern, more than the pipe holds. */
static char *overfill(size_t len)
{
    char *data = malloc(len), *copy = malloc(len);

    assert_non_null(data);
    assert_non_null(copy);
    for (size_t i = 0; i < len; i++)
        data[i] = (char)('a' + i % 23);
    memcpy(copy, data, len);
    assert_int_equal(forward_write(&forward, copy, len), 0);
    free(copy);
    return data;
}

static void a_slow_reader_gets_everything_in_order(void **state)
{
    size_t len = 5 * pipe_fixture_shrink(&f), got = 0;
    char *data = overfill(len);

    (void)state;
    assert_false(forward_is_idle(&forward));
    assert_int_equal(put("end"), 0); /* stays behind what waits already */
    while (got < len + 3) {
        const char *text = pipe_fixture_read(&f);
        size_t n = strlen(text);

        for (size_t i = 0; i < n; i++)
            assert_int_equal(text[i], got + i < len ? data[got + i] : "end"[got + i - len]);
        got += n;
        if (got < len + 3)
            pipe_fixture_turn(&f);
    }
    assert_true(forward_is_idle(&forward));
    assert_true(loop_turn(&f.loop, 0) >= 0); /* nothing is watched any more */
    free(data);
}

static void a_reader_that_left_is_noticed(void **state)
{
    (void)state;
    pipe_fixture_close(&f.read_end);
    assert_int_equal(put("x"), -1);
    assert_int_equal(put("x"), -1);
    assert_true(forward_is_idle(&forward));
}

static void a_reader_that_leaves_later_ends_the_waiting(void **state)
{
    (void)state;
    free(overfill(3 * pipe_fixture_shrink(&f)));
    assert_false(forward_is_idle(&forward));
    pipe_fixture_close(&f.read_end);
    pipe_fixture_turn(&f);
    assert_true(forward_is_idle(&forward));
    assert_int_equal(put("x"), -1);
}

static void what_waits_has_a_greatest_length(void **state)
{
    size_t size = pipe_fixture_shrink(&f);

    (void)state;
    forward_done(&forward);
    forward_init(&forward, f.write_end);
    forward.queue.max = size;
    forward_attach(&forward, &f.loop);
    free(overfill(2 * size));
    assert_int_equal(put("x"), -1);
    assert_true(forward_is_idle(&forward));
    assert_int_equal(forward.sys_errno, ENOMEM); /* it must not look as if the reader had left */
}

static void count_ready(void *context)
{
    ++*(int *)context;
}

static void who_waits_is_called_once_when_the_queue_is_empty(void **state)
{
    size_t len = 3 * pipe_fixture_shrink(&f), got = 0;
    int calls = 0;

    (void)state;
    free(overfill(len));
    forward_when_ready(&forward, count_ready, &calls);
    while (!forward_is_idle(&forward)) {
        assert_int_equal(calls, 0);
        got += strlen(pipe_fixture_read(&f));
        pipe_fixture_turn(&f);
    }
    assert_int_equal(calls, 1);
    assert_int_equal(got + strlen(pipe_fixture_read(&f)), len);
    assert_true(forward_is_idle(&forward));
}

static void who_waits_is_called_when_the_reader_leaves(void **state)
{
    int calls = 0;

    (void)state;
    free(overfill(3 * pipe_fixture_shrink(&f)));
    forward_when_ready(&forward, count_ready, &calls);
    pipe_fixture_close(&f.read_end);
    pipe_fixture_turn(&f);
    assert_int_equal(calls, 1);
    forward_when_ready(&forward, count_ready, &calls); /* and at once from then on */
    assert_int_equal(calls, 2);
}

static void at_the_end_the_kernel_keeps_the_rest_for_the_reader(void **state)
{
    size_t len = 3 * pipe_fixture_shrink(&f), got = 0;
    char *data = overfill(len);

    (void)state;
    assert_true(forward_queued(&forward) > 0);
    forward_end(&forward);
    assert_true(forward_is_idle(&forward));
    while (got < len) {
        const char *text = pipe_fixture_read(&f);

        assert_memory_equal(text, data + got, strlen(text));
        got += strlen(text);
    }
    free(data);
}

static void a_socket_is_written_to_without_waiting(void **state)
{
    size_t len = 1 << 20, got = 0;
    char *data, text[65536];
    int ends[2];

    (void)state;
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
    forward_done(&forward);
    forward_init(&forward, ends[1]);
    forward_attach(&forward, &f.loop);
    data = overfill(len);
    assert_false(forward_is_idle(&forward));
    while (got < len) {
        ssize_t n = recv(ends[0], text, sizeof(text), MSG_DONTWAIT);

        if (n > 0) {
            assert_memory_equal(text, data + got, (size_t)n);
            got += (size_t)n;
        } else {
            pipe_fixture_turn(&f);
        }
    }
    forward_done(&forward);
    free(data);
    close(ends[0]);
    close(ends[1]);
}

static void two_streams_can_have_the_same_socket(void **state)
{
    struct forward other;
    char *data = calloc(1, 1 << 20);
    size_t got = 0;
    int ends[2];

    (void)state;
    assert_non_null(data);
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
    forward_done(&forward);
    forward_init(&forward, ends[0]);
    forward_init(&other, ends[0]);
    forward_attach(&forward, &f.loop);
    forward_attach(&other, &f.loop);
    assert_int_equal(forward_write(&forward, data, 1 << 20), 0);
    assert_int_equal(forward_write(&other, data, 1 << 20), 0);
    assert_false(forward_is_idle(&forward) || forward_is_idle(&other));
    while (got < 2 << 20) {
        char taken[65536];
        ssize_t n = recv(ends[1], taken, sizeof(taken), MSG_DONTWAIT);

        got += n > 0 ? (size_t)n : 0;
        if (got < 2 << 20 && n < 0)
            pipe_fixture_turn(&f);
    }
    assert_true(forward_is_idle(&forward) && forward_is_idle(&other));
    forward_done(&other);
    assert_int_equal(send(ends[0], "x", 1, MSG_NOSIGNAL), 1); /* the caller's own stays open */
    forward_done(&forward);
    close(ends[0]);
    close(ends[1]);
    free(data);
}

static void a_regular_file_is_written_to_as_it_is(void **state)
{
    int fd = memfd_create("sink", MFD_CLOEXEC);
    char text[8] = "";

    (void)state;
    forward_done(&forward);
    forward_init(&forward, fd);
    assert_int_equal(put("hello"), 0);
    assert_true(forward_is_idle(&forward));
    assert_int_equal(pread(fd, text, sizeof(text), 0), 5);
    assert_string_equal(text, "hello");
    close(fd);
}

static void no_descriptor_is_a_reader_that_left(void **state)
{
    (void)state;
    forward_done(&forward);
    forward_init(&forward, -1);
    assert_int_equal(put("x"), -1);
    assert_true(forward_is_idle(&forward));
}

static void drop_vowels(void *context, const char *data, size_t len, struct buf *out)
{
    ++*(int *)context;
    for (size_t i = 0; i < len; i++)
        if (!strchr("aeiou", data[i]))
            assert_int_equal(buf_add(out, &data[i], 1), 0);
}

static void a_filter_sees_everything_once(void **state)
{
    int calls = 0;

    (void)state;
    forward.filter = drop_vowels;
    forward.filter_state = &calls;
    assert_int_equal(put("hello"), 0);
    assert_int_equal(put("aaa"), 0);
    assert_int_equal(calls, 2);
    assert_string_equal(pipe_fixture_read(&f), "hll");
}

#define SINK_TEST(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        SINK_TEST(bytes_arrive_at_once_when_there_is_room),
        SINK_TEST(the_flags_of_a_shared_descriptor_are_left_alone),
        SINK_TEST(a_slow_reader_gets_everything_in_order),
        SINK_TEST(a_reader_that_left_is_noticed),
        SINK_TEST(a_reader_that_leaves_later_ends_the_waiting),
        SINK_TEST(what_waits_has_a_greatest_length),
        SINK_TEST(who_waits_is_called_once_when_the_queue_is_empty),
        SINK_TEST(who_waits_is_called_when_the_reader_leaves),
        SINK_TEST(at_the_end_the_kernel_keeps_the_rest_for_the_reader),
        SINK_TEST(a_socket_is_written_to_without_waiting),
        SINK_TEST(two_streams_can_have_the_same_socket),
        SINK_TEST(a_regular_file_is_written_to_as_it_is),
        SINK_TEST(no_descriptor_is_a_reader_that_left),
        SINK_TEST(a_filter_sees_everything_once),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
