#include "base/frames.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/fd.h"
#include "unit.h"

#define FRAME_MAX 4096
#define WAITING_MAX ((size_t)1 << 20)

struct ends {
    struct frames near, far;
};

static int make_ends(void **state)
{
    static struct ends ends;
    int fds[2];

    assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fds), 0);
    frames_init(&ends.near, fds[0], WAITING_MAX);
    frames_init(&ends.far, fds[1], WAITING_MAX);
    *state = &ends;
    return 0;
}

static int free_ends(void **state)
{
    struct ends *ends = *state;

    frames_done(&ends->near);
    frames_done(&ends->far);
    return 0;
}

/* A frame whose bytes say which one it is; its length differs from that of its neighbours. */
static int send_numbered(struct frames *f, uint32_t number)
{
    char data[1000];

    memset(data, (int)number, sizeof(data));
    return frames_send(f, &number, sizeof(number), data, number % sizeof(data));
}

static void assert_numbered(const struct frames *f, uint32_t number)
{
    char frame[FRAME_MAX];
    uint32_t found;

    assert_int_equal(frames_receive(f, frame, sizeof(frame)), sizeof(number) + number % 1000);
    memcpy(&found, frame, sizeof(found));
    assert_int_equal(found, number);
    for (size_t i = 0; i < number % 1000; i++)
        assert_int_equal(frame[sizeof(number) + i], (char)number);
}

/* Sends until some wait; how many were taken. */
static uint32_t fill(struct frames *f)
{
    uint32_t n = 0;

    while (!frames_is_waiting(f))
        assert_int_equal(send_numbered(f, n++), 0);
    return n;
}

static void assert_nothing_waits_in_the_socket(const struct frames *f)
{
    char frame[FRAME_MAX];

    assert_int_equal(frames_receive(f, frame, sizeof(frame)), -1);
    assert_int_equal(errno, EAGAIN);
}

static void frames_arrive_whole_and_in_order_also_those_that_had_to_wait(void **state)
{
    struct ends *ends = *state;
    uint32_t last = fill(&ends->near) + 100;

    for (uint32_t n = last - 100; n < last; n++)
        assert_int_equal(send_numbered(&ends->near, n), 0);
    for (uint32_t n = 0; n < last; n++) {
        assert_numbered(&ends->far, n);
        assert_int_equal(frames_flush(&ends->near), 0);
    }
    assert_nothing_waits_in_the_socket(&ends->far);
    assert_false(frames_is_waiting(&ends->near));
}

static void a_channel_without_waiting_frames_holds_no_memory(void **state)
{
    struct ends *ends = *state;
    uint32_t last = fill(&ends->near);

    for (uint32_t n = 0; n < last; n++) {
        assert_numbered(&ends->far, n);
        assert_int_equal(frames_flush(&ends->near), 0);
    }
    assert_int_equal(ends->near.waiting.capacity, 0);
    assert_int_equal(ends->near.waiting.max, WAITING_MAX);
}

/* Part of a frame must never be sent, nor one behind a gap. */
static void a_frame_above_the_bound_ends_the_channel_for_sending(void **state)
{
    struct ends *ends = *state;
    uint32_t whole = fill(&ends->near);
    char *large = calloc(1, WAITING_MAX);
    size_t waiting = ends->near.waiting.len;

    assert_non_null(large);
    assert_int_equal(frames_send(&ends->near, "head", 4, large, WAITING_MAX - waiting), -1);
    free(large);
    assert_int_equal(ends->near.waiting.len, waiting);
    for (uint32_t n = 0; n + 1 < whole; n++)
        assert_numbered(&ends->far, n);
    assert_int_equal(frames_flush(&ends->near), -1);
    assert_int_equal(send_numbered(&ends->near, 1), -1);
    assert_nothing_waits_in_the_socket(&ends->far);
}

static void a_frame_longer_than_its_reader_takes_is_refused_and_the_next_one_is_whole(void **state)
{
    struct ends *ends = *state;
    char frame[8];

    assert_int_equal(frames_send(&ends->near, "12345678", 8, "9", 1), 0);
    assert_int_equal(frames_send(&ends->near, "12345678", 8, NULL, 0), 0);
    assert_int_equal(frames_receive(&ends->far, frame, sizeof(frame)), -1);
    assert_int_equal(errno, EMSGSIZE);
    assert_int_equal(frames_receive(&ends->far, frame, sizeof(frame)), 8);
    assert_memory_equal(frame, "12345678", 8);
}

static void a_frame_without_bytes_reads_as_the_end(void **state)
{
    struct ends *ends = *state;
    char frame[8];

    assert_int_equal(frames_send(&ends->near, NULL, 0, NULL, 0), 0);
    assert_int_equal(frames_receive(&ends->far, frame, sizeof(frame)), 0);
}

static void a_closed_end_is_the_end_and_takes_nothing(void **state)
{
    struct ends *ends = *state;
    char frame[8];

    (void)fill(&ends->near);
    frames_done(&ends->far);
    assert_int_equal(frames_flush(&ends->near), -1);
    assert_true(frames_receive(&ends->near, frame, sizeof(frame)) <= 0);
    assert_int_equal(frames_send(&ends->near, "a", 1, NULL, 0), -1);
}

static int lowest_free_fd(void)
{
    int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);

    assert_true(fd >= 0);
    close(fd);
    return fd;
}

/* A front that was taken over could fill the gateway's table of descriptors. */
static void descriptors_that_come_with_a_frame_are_not_taken(void **state)
{
    struct ends *ends = *state;
    const int fds[] = { 0, 1 };
    int before = lowest_free_fd();
    char frame[8];

    assert_true(fd_send(ends->near.fd, "frame", 5, fds, 2) >= 0);
    assert_int_equal(frames_receive(&ends->far, frame, sizeof(frame)), 5);
    assert_int_equal(lowest_free_fd(), before);
}

int main(void)
{
#define WITH_ENDS(test) cmocka_unit_test_setup_teardown(test, make_ends, free_ends)
    const struct CMUnitTest tests[] = {
        WITH_ENDS(frames_arrive_whole_and_in_order_also_those_that_had_to_wait),
        WITH_ENDS(a_channel_without_waiting_frames_holds_no_memory),
        WITH_ENDS(a_frame_above_the_bound_ends_the_channel_for_sending),
        WITH_ENDS(a_frame_longer_than_its_reader_takes_is_refused_and_the_next_one_is_whole),
        WITH_ENDS(a_frame_without_bytes_reads_as_the_end),
        WITH_ENDS(a_closed_end_is_the_end_and_takes_nothing),
        WITH_ENDS(descriptors_that_come_with_a_frame_are_not_taken),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
