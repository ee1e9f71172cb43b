/* Hosts with several addresses, on loopback.  An address that does not answer is a listener whose
 * queue is full: what is sent to it then is dropped, as by a host that is not there. */
#include "egress/dial.h"

#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "unit.h"

#define MAX_HELD 8

static struct loop events;
static uint64_t due_us;
static struct loop_watch winner;
static unsigned int n_done;
static struct dial dial;
static struct address addresses[DIAL_AT_ONCE + 2];
static int held[MAX_HELD], listeners[MAX_HELD];
static size_t n_held, n_listeners;

static int set_up(void **state)
{
    sbr_error err;

    (void)state;
    n_done = 0;
    n_held = n_listeners = 0;
    due_us = UINT64_MAX;
    winner = (struct loop_watch){ .fd = -1 };
    return loop_init(&events, "egress", &err);
}

static int tear_down(void **state)
{
    (void)state;
    dial_stop(&dial);
    loop_close(&events, &winner);
    while (n_held)
        close(held[--n_held]);
    while (n_listeners)
        close(listeners[--n_listeners]);
    close(events.epoll_fd);
    return 0;
}

static void done(void *context, struct loop_watch *won)
{
    assert_ptr_equal(context, &events);
    n_done++;
    if (won)
        loop_move(&events, won, &winner);
}

static struct address address_of(const char *text)
{
    struct address a;

    assert_true(address_parse(text, &a));
    return a;
}

/* Listens at the address; *port 0: any, which is stored. */
static int serve(const char *text, uint16_t *port, int queue)
{
    struct address a = address_of(text);
    struct sockaddr_storage name;
    socklen_t size = address_to_socket(&a, *port, &name);
    int fd = socket(name.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

    assert_true(fd >= 0);
    assert_int_equal(bind(fd, (struct sockaddr *)&name, size), 0);
    assert_int_equal(listen(fd, queue), 0);
    assert_int_equal(getsockname(fd, (struct sockaddr *)&name, &size), 0);
    assert_true(address_from_socket((struct sockaddr *)&name, &a, port));
    assert_true(n_listeners < MAX_HELD);
    listeners[n_listeners++] = fd;
    return fd;
}

/* An address at which nobody answers at all. */
static void serve_silence(const char *text, uint16_t *port)
{
    struct address a = address_of(text);
    struct sockaddr_storage name;
    socklen_t size;
    int fd;

    serve(text, port, 0);
    size = address_to_socket(&a, *port, &name);
    fd = socket(name.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    assert_true(fd >= 0);
    (void)connect(fd, (struct sockaddr *)&name, size); /* the one that there is room for */
    assert_int_equal(poll(&(struct pollfd){ .fd = fd, .events = POLLOUT }, 1, 5000), 1);
    assert_true(n_held < MAX_HELD);
    held[n_held++] = fd;
}

static void start(unsigned int n, uint16_t port, uint64_t now_us)
{
    dial = (struct dial){ .events = &events,
                          .due_us = &due_us,
                          .addresses = addresses,
                          .n = n,
                          .port = port,
                          .done = done,
                          .context = &events };
    dial_start(&dial, now_us);
}

/* Lets time pass for the dial alone; the events of loopback come at once. */
static void turn_until_done(uint64_t now_us, unsigned int most)
{
    for (unsigned int i = 0; !n_done && i < most; i++) {
        loop_turn(&events, 100000);
        if (!n_done && now_us >= due_us) {
            due_us = UINT64_MAX;
            dial_tick(&dial, now_us);
        }
    }
}

static void assert_winner(const char *text)
{
    struct address expected = address_of(text), found;
    struct sockaddr_storage name;
    socklen_t size = sizeof(name);
    uint16_t port;

    assert_int_equal(n_done, 1);
    assert_true(winner.fd >= 0 && winner.events);
    assert_int_equal(getpeername(winner.fd, (struct sockaddr *)&name, &size), 0);
    assert_true(address_from_socket((struct sockaddr *)&name, &found, &port));
    assert_true(address_equal(&expected, &found));
    assert_int_equal(dial.n_open, 0);
}

static void families_take_turns(void **state)
{
    static const struct {
        const char *before[6], *after[6];
    } rows[] = {
        { { "::1", "::2", "1.1.1.1", "1.1.1.2" }, { "::1", "1.1.1.1", "::2", "1.1.1.2" } },
        { { "1.1.1.1", "1.1.1.2", "1.1.1.3", "::1" }, { "1.1.1.1", "::1", "1.1.1.2", "1.1.1.3" } },
        { { "::1", "::2", "::3" }, { "::1", "::2", "::3" } },
        { { "1.1.1.1" }, { "1.1.1.1" } },
        { { "::1", "1.1.1.1", "::2", "::3", "::4", "1.1.1.2" },
          { "::1", "1.1.1.1", "::2", "1.1.1.2", "::3", "::4" } },
    };

    (void)state;
    dial_interleave(addresses, 0);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        unsigned int n = 0;

        for (; n < 6 && rows[i].before[n]; n++)
            addresses[n] = address_of(rows[i].before[n]);
        dial_interleave(addresses, n);
        for (unsigned int k = 0; k < n; k++) {
            struct address expected = address_of(rows[i].after[k]);

            assert_true(address_equal(&addresses[k], &expected));
        }
    }
}

static void the_first_that_answers_is_taken_at_once(void **state)
{
    uint16_t port = 0;

    (void)state;
    serve("127.0.0.1", &port, 8);
    serve("127.0.0.2", &port, 8);
    addresses[0] = address_of("127.0.0.1");
    addresses[1] = address_of("127.0.0.2");
    start(2, port, 1000);
    turn_until_done(1000, 50);
    assert_winner("127.0.0.1");
    /* Nobody else was bothered. */
    assert_int_equal(poll(&(struct pollfd){ .fd = listeners[1], .events = POLLIN }, 1, 0), 0);
}

static void the_next_one_is_due_after_a_quarter_of_a_second(void **state)
{
    uint16_t port = 0;

    (void)state;
    serve_silence("127.0.0.1", &port);
    serve("127.0.0.2", &port, 8);
    addresses[0] = address_of("127.0.0.1");
    addresses[1] = address_of("127.0.0.2");
    start(2, port, 1000);
    assert_int_equal(due_us, 1000 + DIAL_NEXT_US);
    dial_tick(&dial, due_us - 1);
    assert_int_equal(dial.n_open, 1);
    turn_until_done(1000 + DIAL_NEXT_US, 50);
    assert_winner("127.0.0.2");
}

static void a_slow_one_may_still_win(void **state)
{
    uint16_t port = 0;

    (void)state;
    serve_silence("127.0.0.1", &port);
    serve_silence("127.0.0.2", &port);
    addresses[0] = address_of("127.0.0.1");
    addresses[1] = address_of("127.0.0.2");
    start(2, port, 1000);
    dial_tick(&dial, 1000 + DIAL_NEXT_US);
    assert_int_equal(dial.n_open, 2);
    assert_int_equal(dial.next, 2);
    close(accept(listeners[0], NULL, NULL)); /* room: the kernel's next attempt gets through */
    turn_until_done(1000 + DIAL_NEXT_US, 100);
    assert_winner("127.0.0.1");
}

static void a_failure_starts_the_next_at_once(void **state)
{
    uint16_t port = 0;

    (void)state;
    serve("127.0.0.3", &port, 8);
    addresses[0] = address_of("127.0.0.1");       /* refused */
    addresses[1] = address_of("255.255.255.255"); /* fails in the call */
    addresses[2] = address_of("127.0.0.3");
    start(3, port, 1000);
    turn_until_done(1000, 50);
    assert_winner("127.0.0.3");
}

static void only_some_are_dialled_at_once_and_each_has_its_time(void **state)
{
    uint16_t port = 0;
    uint64_t now_us = 1000;

    (void)state;
    for (unsigned int i = 0; i <= DIAL_AT_ONCE; i++) {
        char text[16];

        snprintf(text, sizeof(text), "127.0.0.%u", i + 1);
        serve_silence(text, &port);
        addresses[i] = address_of(text);
    }
    start(DIAL_AT_ONCE + 1, port, now_us);
    for (unsigned int i = 0; i < 2 * DIAL_AT_ONCE; i++) {
        now_us += DIAL_NEXT_US;
        dial_tick(&dial, now_us);
    }
    assert_int_equal(dial.n_open, DIAL_AT_ONCE);
    assert_int_equal(dial.next, DIAL_AT_ONCE);
    /* The first gives up, and the last has its turn. */
    dial_tick(&dial, 1000 + DIAL_GIVE_UP_US);
    assert_int_equal(dial.n_open, DIAL_AT_ONCE);
    assert_int_equal(dial.next, DIAL_AT_ONCE + 1);
    assert_int_equal(n_done, 0);
    dial_tick(&dial, 1000 + 2 * DIAL_GIVE_UP_US);
    assert_int_equal(n_done, 1);
    assert_int_equal(dial.n_open, 0);
    assert_int_equal(winner.fd, -1);
}

static void without_an_address_nobody_wins(void **state)
{
    (void)state;
    start(0, 80, 1000);
    assert_int_equal(n_done, 1);
    assert_int_equal(winner.fd, -1);
}

static void a_dial_that_is_stopped_says_nothing(void **state)
{
    uint16_t port = 0;

    (void)state;
    serve("127.0.0.1", &port, 8);
    addresses[0] = address_of("127.0.0.1");
    start(1, port, 1000);
    if (!n_done) {
        dial_stop(&dial);
        assert_int_equal(loop_turn(&events, 0), 0);
        assert_int_equal(n_done, 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(families_take_turns),
#define DIAL_TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
        DIAL_TEST(the_first_that_answers_is_taken_at_once),
        DIAL_TEST(the_next_one_is_due_after_a_quarter_of_a_second),
        DIAL_TEST(a_slow_one_may_still_win),
        DIAL_TEST(a_failure_starts_the_next_at_once),
        DIAL_TEST(only_some_are_dialled_at_once_and_each_has_its_time),
        DIAL_TEST(without_an_address_nobody_wins),
        DIAL_TEST(a_dial_that_is_stopped_says_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
