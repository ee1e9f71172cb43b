#include "monitor/stdin_pump.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "pipe_fixture.h"
#include "unit.h"

/* `f` is the program's stdin. */
static struct pipe_fixture f;
static struct stdin_pump stdin_pump;

static int set_up(void **state)
{
    (void)state;
    pipe_fixture_init(&f);
    stdin_pump = (struct stdin_pump){ .to = f.write_end, .from = -1 };
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    stdin_pump_done(&stdin_pump);
    f.write_end = -1; /* the feed owned it */
    pipe_fixture_done(&f);
    return 0;
}

static void start(void)
{
    sbr_error err;

    assert_int_equal(stdin_pump_start(&stdin_pump, &f.loop, &err), 0);
}

static void assert_end_of_input(void)
{
    char byte;

    assert_int_equal(stdin_pump.to, -1);
    assert_int_equal(read(f.read_end, &byte, 1), 0);
}

static void no_input_is_end_of_file(void **state)
{
    (void)state;
    start();
    assert_end_of_input();
}

static void input_from_memory_is_followed_by_end_of_file(void **state)
{
    (void)state;
    stdin_pump.data = "hello";
    stdin_pump.len = 5;
    start();
    assert_string_equal(pipe_fixture_read(&f), "hello");
    assert_end_of_input();
}

static void more_than_the_pipe_holds_is_fed_as_the_program_reads(void **state)
{
    size_t len = 3 * pipe_fixture_shrink(&f) + 7, got = 0;
    char *data = malloc(len);

    (void)state;
    assert_non_null(data);
    for (size_t i = 0; i < len; i++)
        data[i] = (char)('a' + i % 23);
    stdin_pump.data = data;
    stdin_pump.len = len;
    start();
    while (got < len) {
        const char *text = pipe_fixture_read(&f);

        assert_memory_equal(text, data + got, strlen(text));
        got += strlen(text);
        if (got < len)
            pipe_fixture_turn(&f);
    }
    assert_end_of_input();
    free(data);
}

static void a_program_that_closes_its_input_ends_the_feeding_without_a_signal(void **state)
{
    struct sigaction deadly = { .sa_handler = SIG_DFL };
    size_t len = 2 * pipe_fixture_shrink(&f);

    (void)state;
    sigaction(SIGPIPE, &deadly, NULL); /* as in a program that uses the library */
    stdin_pump.data = calloc(1, len);
    stdin_pump.len = len;
    start();
    pipe_fixture_close(&f.read_end);
    pipe_fixture_turn(&f);
    assert_int_equal(stdin_pump.to, -1);
    free((char *)stdin_pump.data - (len - stdin_pump.len));
}

static void a_program_that_never_had_its_input_open_is_no_accident(void **state)
{
    struct sigaction deadly = { .sa_handler = SIG_DFL };

    (void)state;
    sigaction(SIGPIPE, &deadly, NULL);
    pipe_fixture_close(&f.read_end);
    stdin_pump.data = "x";
    stdin_pump.len = 1;
    start();
    assert_int_equal(stdin_pump.to, -1);
}

static void a_pipe_is_passed_on_as_it_comes(void **state)
{
    struct pipe_fixture source;

    (void)state;
    pipe_fixture_init(&source);
    stdin_pump.from = source.read_end;
    stdin_pump.data = "first ";
    stdin_pump.len = 6;
    start();
    assert_string_equal(pipe_fixture_read(&f), "first ");
    assert_true(loop_turn(&f.loop, 0) >= 0);
    assert_string_equal(pipe_fixture_read(&f), "");
    assert_int_equal(write(source.write_end, "then", 4), 4);
    pipe_fixture_turn(&f);
    assert_string_equal(pipe_fixture_read(&f), "then");
    pipe_fixture_close(&source.write_end);
    pipe_fixture_turn(&f);
    assert_end_of_input();
    pipe_fixture_done(&source);
}

/* As another process does that has the same stdin: it is faster. */
static void read_first(void *context, uint32_t events)
{
    const struct pipe_fixture *source = context;
    char taken[16];

    (void)events;
    assert_true(read(source->read_end, taken, sizeof(taken)) > 0);
}

static void bytes_that_another_reader_took_are_not_waited_for(void **state)
{
    struct pipe_fixture source, earlier;
    struct loop_watch other;

    (void)state;
    pipe_fixture_init(&source);
    pipe_fixture_init(&earlier);
    assert_int_equal(fcntl(source.read_end, F_SETFL, 0), 0); /* as a shell's pipe is */
    other = loop_watch_of(earlier.read_end, read_first, &source);
    assert_int_equal(loop_add(&f.loop, &other, EPOLLIN), 0);
    stdin_pump.from = source.read_end;
    start();
    assert_int_equal(write(earlier.write_end, "x", 1), 1); /* is reported first */
    assert_int_equal(write(source.write_end, "theirs", 6), 6);
    alarm(10); /* a read that waits, waits for ever */
    pipe_fixture_turn(&f);
    alarm(0);
    loop_remove(&f.loop, &other);
    assert_int_equal(write(source.write_end, "ours", 4), 4);
    pipe_fixture_turn(&f);
    assert_string_equal(pipe_fixture_read(&f), "ours");
    assert_int_equal(fcntl(source.read_end, F_GETFL) & O_NONBLOCK, 0);
    pipe_fixture_close(&source.write_end);
    pipe_fixture_turn(&f);
    assert_end_of_input();
    pipe_fixture_done(&earlier);
    pipe_fixture_done(&source);
}

/* A named pipe that is opened without a writer does not report the end of one that was there. */
static void a_named_pipe_whose_writer_left_has_ended(void **state)
{
    char path[] = "/tmp/sbr-stdin-pump-XXXXXX", fifo[sizeof(path) + 5];
    int from, to;

    (void)state;
    assert_non_null(mkdtemp(path));
    snprintf(fifo, sizeof(fifo), "%s/fifo", path);
    assert_int_equal(mkfifo(fifo, 0600), 0);
    from = open(fifo, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    to = open(fifo, O_WRONLY | O_CLOEXEC);
    assert_int_equal(write(to, "all", 3), 3);
    close(to);
    stdin_pump.from = from;
    start();
    pipe_fixture_turn(&f);
    assert_string_equal(pipe_fixture_read(&f), "all");
    pipe_fixture_turn(&f);
    assert_end_of_input();
    stdin_pump_done(&stdin_pump);
    close(from);
    unlink(fifo);
    rmdir(path);
}

static void a_socket_is_a_source_as_well(void **state)
{
    int ends[2];

    (void)state;
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
    stdin_pump.from = ends[0];
    start();
    assert_int_equal(write(ends[1], "words", 5), 5);
    pipe_fixture_turn(&f);
    assert_string_equal(pipe_fixture_read(&f), "words");
    close(ends[1]);
    pipe_fixture_turn(&f);
    assert_end_of_input();
    close(ends[0]);
}

static void a_source_waits_until_the_program_has_read(void **state)
{
    size_t size = pipe_fixture_shrink(&f), got = 0;
    struct pipe_fixture source;
    char *data = calloc(1, 2 * size);

    (void)state;
    assert_non_null(data);
    memset(data, 'x', 2 * size);
    pipe_fixture_init(&source);
    assert_int_equal(write(source.write_end, data, 2 * size), 2 * size);
    stdin_pump.from = source.read_end;
    start();
    pipe_fixture_turn(&f);
    assert_true(stdin_pump.target.on);
    assert_false(stdin_pump.source.on);
    pipe_fixture_close(&source.write_end);
    while (stdin_pump.to >= 0) {
        got += strlen(pipe_fixture_read(&f));
        pipe_fixture_turn(&f);
    }
    got += strlen(pipe_fixture_read(&f));
    assert_int_equal(got, 2 * size);
    assert_end_of_input();
    pipe_fixture_done(&source);
    free(data);
}

static void a_regular_file_is_fed_without_being_watched(void **state)
{
    int fd = memfd_create("stdin", MFD_CLOEXEC);

    (void)state;
    assert_int_equal(pwrite(fd, "content", 7, 0), 7);
    stdin_pump.from = fd;
    start();
    assert_string_equal(pipe_fixture_read(&f), "content");
    assert_end_of_input();
    close(fd);
}

/* As a program that reads as fast as it is fed: there is room for all of it. */
static void make_room(size_t bytes)
{
    if (fcntl(f.write_end, F_SETPIPE_SZ, (int)bytes) < (int)bytes)
        skip(); /* an administrator allows less */
}

static size_t fed(void)
{
    int n = 0;

    assert_int_equal(ioctl(f.read_end, FIONREAD, &n), 0);
    return (size_t)n;
}

/* The clock, output and cancelling wait for one turn, however fast the program reads. */
static void assert_fed_in_turns(size_t all)
{
    start();
    for (size_t before = 0; before < all;) {
        assert_in_range(fed() - before, 1, STDIN_PER_TURN);
        before = fed();
        if (before < all)
            pipe_fixture_turn(&f);
    }
    while (stdin_pump.to >= 0)
        pipe_fixture_turn(&f);
    assert_int_equal(fed(), all);
}

static void memory_is_fed_in_turns(void **state)
{
    size_t all = STDIN_PER_TURN + STDIN_PER_TURN / 2;
    char *data = calloc(1, all);

    (void)state;
    assert_non_null(data);
    make_room(2 * STDIN_PER_TURN);
    stdin_pump.data = data;
    stdin_pump.len = all;
    assert_fed_in_turns(all);
    free(data);
}

static void a_regular_file_is_fed_in_turns(void **state)
{
    size_t all = STDIN_PER_TURN + STDIN_PER_TURN / 2;
    int fd = memfd_create("stdin", MFD_CLOEXEC);

    (void)state;
    assert_int_equal(ftruncate(fd, (off_t)all), 0);
    make_room(2 * STDIN_PER_TURN);
    stdin_pump.from = fd;
    assert_fed_in_turns(all);
    close(fd);
}

static void a_feed_that_never_started_can_be_ended(void **state)
{
    struct stdin_pump idle = { .to = -1, .from = -1 };

    (void)state;
    stdin_pump_done(&idle);
}

#define FEED_TEST(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

/* The program's side of a terminal that the pump writes to; it shows what a program reads. */
static int open_terminal(void)
{
    int master = open("/dev/ptmx", O_RDWR | O_NOCTTY | O_NONBLOCK | O_CLOEXEC), unlocked = 0;
    int slave;

    if (master < 0 || ioctl(master, TIOCSPTLCK, &unlocked) < 0)
        skip(); /* a machine without terminals */
    slave = ioctl(master, TIOCGPTPEER, O_RDWR | O_NOCTTY | O_NONBLOCK | O_CLOEXEC);
    assert_true(slave >= 0);
    close(stdin_pump.to);
    stdin_pump.to = master;
    stdin_pump.is_tty = true;
    return slave;
}

static void a_terminal_gets_the_key_for_end_of_file(void **state)
{
    static const char *const inputs[] = { "one line\n", "half a line", "" };
    char got[64];

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(inputs); i++) {
        int slave, keep;

        if (i)
            stdin_pump = (struct stdin_pump){ .to = dup(f.read_end), .from = -1 };
        slave = open_terminal();
        keep = dup(stdin_pump.to); /* the program would be hung up on otherwise */
        stdin_pump.data = inputs[i];
        stdin_pump.len = strlen(inputs[i]);
        start();
        if (inputs[i][0])
            assert_int_equal(read(slave, got, sizeof(got)), strlen(inputs[i]));
        assert_int_equal(read(slave, got, sizeof(got)), 0);
        close(slave);
        close(keep);
        stdin_pump_done(&stdin_pump);
    }
}

static size_t without_x(void *context, char *data, size_t len)
{
    size_t n = 0;

    ++*(int *)context;
    for (size_t i = 0; i < len; i++)
        if (data[i] != 'x')
            data[n++] = data[i];
    return n;
}

static void a_tap_sees_the_source_and_takes_bytes_out(void **state)
{
    int source[2], calls = 0;
    char got[16];

    (void)state;
    assert_int_equal(pipe2(source, O_CLOEXEC | O_NONBLOCK), 0);
    stdin_pump.from = source[0];
    stdin_pump.tap = without_x;
    stdin_pump.tap_context = &calls;
    start();
    assert_int_equal(write(source[1], "axbx", 4), 4);
    loop_turn(&f.loop, 1000000);
    assert_int_equal(read(f.read_end, got, sizeof(got)), 2);
    assert_memory_equal(got, "ab", 2);
    assert_int_equal(write(source[1], "xx", 2), 2);
    loop_turn(&f.loop, 1000000);
    assert_int_equal(calls, 2);
    assert_true(stdin_pump.to >= 0);
    close(source[0]);
    close(source[1]);
}

static void a_held_source_is_not_read(void **state)
{
    int source[2];
    char got[16];

    (void)state;
    assert_int_equal(pipe2(source, O_CLOEXEC | O_NONBLOCK), 0);
    stdin_pump.from = source[0];
    start();
    stdin_pump_hold(&stdin_pump, true);
    assert_int_equal(write(source[1], "key", 3), 3);
    loop_turn(&f.loop, 1000);
    assert_int_equal(read(source[0], got, 1), 1);
    stdin_pump_hold(&stdin_pump, false);
    loop_turn(&f.loop, 1000000);
    assert_int_equal(read(f.read_end, got, sizeof(got)), 2);
    close(source[0]);
    close(source[1]);
}

static int rooms;

static void count_room(void *context)
{
    assert_ptr_equal(context, &rooms);
    rooms++;
}

static void a_feed_stays_open_until_it_is_closed(void **state)
{
    struct stdin_feed feed = { 0 };

    (void)state;
    stdin_pump_open_feed(&feed);
    stdin_pump.feed = &feed;
    stdin_pump.data = "one ";
    stdin_pump.len = 4;
    assert_int_equal(stdin_pump_put(&feed, "two ", 4), 4); /* before the program starts */
    start();
    assert_string_equal(pipe_fixture_read(&f), "one two ");
    assert_int_equal(stdin_pump_put(&feed, "three", 5), 5);
    stdin_pump_go_on(&stdin_pump);
    assert_string_equal(pipe_fixture_read(&f), "three");
    assert_true(stdin_pump.to >= 0);
    feed.is_open = false;
    stdin_pump_go_on(&stdin_pump);
    assert_end_of_input();
    assert_true(feed.is_gone);
    stdin_pump_free_feed(&feed);
}

static void a_feed_is_bounded_and_reports_room(void **state)
{
    struct stdin_feed feed = { .on_room = count_room, .context = &rooms };
    size_t size = pipe_fixture_shrink(&f), len = STDIN_FEED_MAX + 3, got = 0;
    char *data = calloc(1, len);

    (void)state;
    assert_non_null(data);
    rooms = 0;
    stdin_pump_open_feed(&feed);
    stdin_pump.feed = &feed;
    assert_int_equal(stdin_pump_put(&feed, data, len), STDIN_FEED_MAX);
    assert_int_equal(stdin_pump_put(&feed, data, 1), 0);
    start();
    assert_int_equal(rooms, 0);
    while (got < STDIN_FEED_MAX && rooms == 0) {
        char taken[4096];
        ssize_t n = read(f.read_end, taken, size < sizeof(taken) ? size : sizeof(taken));

        assert_true(n > 0);
        got += (size_t)n;
        pipe_fixture_turn(&f);
    }
    assert_int_equal(rooms, 1);
    assert_int_equal(stdin_pump_put(&feed, "x", 1), 1);
    free(data);
    stdin_pump_done(&stdin_pump);
    stdin_pump_free_feed(&feed);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        FEED_TEST(no_input_is_end_of_file),
        FEED_TEST(a_feed_stays_open_until_it_is_closed),
        FEED_TEST(a_feed_is_bounded_and_reports_room),
        FEED_TEST(input_from_memory_is_followed_by_end_of_file),
        FEED_TEST(more_than_the_pipe_holds_is_fed_as_the_program_reads),
        FEED_TEST(a_program_that_closes_its_input_ends_the_feeding_without_a_signal),
        FEED_TEST(a_program_that_never_had_its_input_open_is_no_accident),
        FEED_TEST(a_pipe_is_passed_on_as_it_comes),
        FEED_TEST(bytes_that_another_reader_took_are_not_waited_for),
        FEED_TEST(a_named_pipe_whose_writer_left_has_ended),
        FEED_TEST(a_socket_is_a_source_as_well),
        FEED_TEST(a_source_waits_until_the_program_has_read),
        FEED_TEST(a_regular_file_is_fed_without_being_watched),
        FEED_TEST(memory_is_fed_in_turns),
        FEED_TEST(a_regular_file_is_fed_in_turns),
        FEED_TEST(a_feed_that_never_started_can_be_ended),
        FEED_TEST(a_terminal_gets_the_key_for_end_of_file),
        FEED_TEST(a_tap_sees_the_source_and_takes_bytes_out),
        FEED_TEST(a_held_source_is_not_read),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
