#include "base/pump.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdatomic.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "unit.h"

/* The pump is between `in` and `out`: what `sender` sends comes to `receiver`. */
static int sender, in, out, receiver;
static _Atomic uint64_t used;
static struct pump_meter meter;
static struct pump pump;

static void connect_pair(int *ret_client, int *ret_accepted)
{
    struct sockaddr_in name = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    socklen_t size = sizeof(name);
    int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    assert_int_equal(bind(listener, (struct sockaddr *)&name, size), 0);
    assert_int_equal(listen(listener, 1), 0);
    assert_int_equal(getsockname(listener, (struct sockaddr *)&name, &size), 0);
    *ret_client = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(connect(*ret_client, (struct sockaddr *)&name, size), 0);
    *ret_accepted = accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
    assert_true(*ret_accepted >= 0);
    close(listener);
}

static int set_up(void **state)
{
    (void)state;
    connect_pair(&sender, &in);
    connect_pair(&receiver, &out);
    used = 0;
    meter = (struct pump_meter){ &used, UINT64_MAX };
    pump_init(&pump, &meter, in, out);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    pump_done(&pump);
    close(sender);
    close(in);
    close(out);
    close(receiver);
    return 0;
}

/* Moves what comes until `from` has ended; the result of the last move. */
static enum pump_result move_to_the_end(void)
{
    enum pump_result result = PUMP_MORE;

    while (!pump.done && (result == PUMP_MORE || result == PUMP_WAITS)) {
        struct pollfd fd = { .fd = in, .events = POLLIN | POLLPRI | POLLRDHUP };

        assert_int_equal(poll(&fd, 1, 10000), 1);
        result = pump_move(&pump, fd.revents & POLLPRI ? EPOLLIN | EPOLLPRI : EPOLLIN);
    }
    return result;
}

static const char *received(void)
{
    static char text[256];
    size_t len = 0;
    ssize_t n;

    while ((n = recv(receiver, text + len, sizeof(text) - 1 - len, 0)) > 0)
        len += (size_t)n;
    assert_int_equal(n, 0);
    text[len] = '\0';
    return text;
}

static void say(const char *text, int flags)
{
    assert_int_equal(send(sender, text, strlen(text), flags), strlen(text));
}

static void bytes_and_the_end_pass(void **state)
{
    (void)state;
    say("hello", 0);
    shutdown(sender, SHUT_WR);
    assert_int_equal(move_to_the_end(), PUMP_WAITS);
    assert_string_equal(received(), "hello");
    assert_int_equal(used, 5);
}

static void an_urgent_byte_stays_where_it_was(void **state)
{
    const int inline_too = 1;

    (void)state;
    setsockopt(receiver, SOL_SOCKET, SO_OOBINLINE, &inline_too, sizeof(inline_too));
    say("before", 0);
    say("!", MSG_OOB);
    say("behind", 0);
    shutdown(sender, SHUT_WR);
    move_to_the_end();
    assert_string_equal(received(), "before!behind");
    assert_int_equal(used, 13);
}

static void an_urgent_byte_that_no_event_reported_is_not_the_end(void **state)
{
    (void)state;
    say("before", 0);
    say("!", MSG_OOB);
    say("behind", 0);
    shutdown(sender, SHUT_WR);
    while (!pump.done)
        assert_int_equal(pump_move(&pump, EPOLLIN), PUMP_WAITS);
    assert_string_equal(received(), "beforebehind");
}

static void what_comes_later_than_an_urgent_byte_passes(void **state)
{
    char byte = '\0';

    (void)state;
    say("before!", MSG_OOB); /* its last byte is the urgent one */
    while (used < 7)
        assert_int_equal(pump_move(&pump, EPOLLIN | EPOLLPRI), PUMP_WAITS);
    assert_int_equal(pump_move(&pump, EPOLLIN), PUMP_WAITS);
    say("behind", 0);
    shutdown(sender, SHUT_WR);
    move_to_the_end();
    assert_int_equal(recv(receiver, &byte, 1, MSG_OOB), 1);
    assert_int_equal(byte, '!');
    assert_string_equal(received(), "beforebehind"); /* as recv() leaves it out */
}

static void at_the_limit_no_byte_passes(void **state)
{
    (void)state;
    meter.max = 3;
    say("hello", 0);
    shutdown(sender, SHUT_WR);
    assert_int_equal(move_to_the_end(), PUMP_FULL);
    shutdown(out, SHUT_WR);
    assert_string_equal(received(), "hel");
}

#define PUMP_TEST(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        PUMP_TEST(bytes_and_the_end_pass),
        PUMP_TEST(an_urgent_byte_stays_where_it_was),
        PUMP_TEST(an_urgent_byte_that_no_event_reported_is_not_the_end),
        PUMP_TEST(what_comes_later_than_an_urgent_byte_passes),
        PUMP_TEST(at_the_limit_no_byte_passes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
