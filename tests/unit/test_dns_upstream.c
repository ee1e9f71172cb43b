#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/clock.h"
#include "dns_fixture.h"
#include "egress/dns_upstream.h"
#include "unit.h"

/* Servers of the test stand in for those of the host: a socket that connects to port 53 reaches one
 * of them. */
static int servers[DNS_MAX_SERVERS];
static unsigned int n_connected;
static bool nobody_there;

static struct sockaddr_in address_of(int fd)
{
    struct sockaddr_in at;
    socklen_t len = sizeof(at);

    assert_int_equal(getsockname(fd, (struct sockaddr *)&at, &len), 0);
    return at;
}

int connect(int fd, const struct sockaddr *to, socklen_t len)
{
    struct sockaddr_in at = address_of(servers[n_connected % DNS_MAX_SERVERS]);

    assert_int_equal(((const struct sockaddr_in *)to)->sin_port, htons(53));
    n_connected++;
    if (nobody_there)
        at.sin_port = htons(1);
    return (int)syscall(SYS_connect, fd, &at, sizeof(at));
}

static struct {
    uint8_t message[DNS_MAX_MESSAGE];
    size_t len;
    unsigned int n;
    uint8_t who;
} seen;

static void on_answer(void *context, const struct dns_asker *asker, const uint8_t *message,
                      size_t len)
{
    memcpy(seen.message, message, len);
    seen.len = len;
    seen.who = asker->bytes[0];
    seen.n++;
}

static struct dns dns;

static int set_up(void **state)
{
    const struct sockaddr_in any = { .sin_family = AF_INET,
                                     .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };

    memset(&seen, 0, sizeof(seen));
    n_connected = 0;
    nobody_there = false;
    for (size_t i = 0; i < DNS_MAX_SERVERS; i++) {
        servers[i] = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
        if (bind(servers[i], (const struct sockaddr *)&any, sizeof(any)) < 0)
            return -1;
    }
    dns = (struct dns){ .answer = on_answer, .upstream_fd = -1 };
    return 0;
}

static int tear_down(void **state)
{
    dns_forwards_free(&dns);
    for (size_t i = 0; i < DNS_MAX_SERVERS; i++)
        close(servers[i]);
    return 0;
}

static bool forward_as(uint8_t who, uint16_t id, const char *name)
{
    struct query query = query_make(id, name, 16);
    const struct dns_asker asker = { { who } };
    struct dns_question q;

    assert_int_equal(dns_wire_read(query.bytes, query.len, &q), DNS_NOERROR);
    return dns_forward(&dns, &asker, &q);
}

/* A question as one of the servers sees it. */
struct arrival {
    struct query query;
    struct sockaddr_in from;
    int server;
};

static bool arrives(struct arrival *ret, int patience_ms)
{
    struct pollfd ready[DNS_MAX_SERVERS];

    for (size_t i = 0; i < DNS_MAX_SERVERS; i++)
        ready[i] = (struct pollfd){ .fd = servers[i], .events = POLLIN };
    if (poll(ready, DNS_MAX_SERVERS, patience_ms) <= 0)
        return false;
    for (size_t i = 0; i < DNS_MAX_SERVERS; i++) {
        socklen_t len = sizeof(ret->from);
        ssize_t n;

        if (!(ready[i].revents & POLLIN))
            continue;
        ret->server = servers[i];
        n = recvfrom(servers[i], ret->query.bytes, QUERY_MAX, 0, (struct sockaddr *)&ret->from,
                     &len);
        assert_true(n > 0);
        ret->query.len = (size_t)n;
        return true;
    }
    return false;
}

static void answer(const struct arrival *arrival, int from, uint16_t flip_id)
{
    struct query message = arrival->query;

    query_set16(&message, 0, message_id(message.bytes) ^ flip_id);
    query_set16(&message, 2, 0x8180);
    assert_int_equal(sendto(from, message.bytes, message.len, 0,
                            (const struct sockaddr *)&arrival->from, sizeof(arrival->from)),
                     message.len);
}

static void wait_for_upstream(void)
{
    struct pollfd ready = { .fd = dns.upstream_fd, .events = POLLIN };

    assert_int_equal(poll(&ready, 1, 5000), 1);
    dns_upstream(&dns);
}

static void an_answer_comes_back_under_the_asker_s_own_number(void **state)
{
    struct arrival arrival;

    assert_true(forward_as(9, 0x1234, "Example.org"));
    assert_true(arrives(&arrival, 5000));
    assert_int_equal(seen.n, 0);
    answer(&arrival, arrival.server, 0);
    wait_for_upstream();
    assert_int_equal(seen.n, 1);
    assert_int_equal(seen.who, 9);
    assert_int_equal(message_id(seen.message), 0x1234);
    dns_upstream(&dns);
    assert_int_equal(seen.n, 1);
}

static void numbers_are_not_the_asker_s_and_not_in_order(void **state)
{
    unsigned int same = 0, next = 0;
    uint16_t before = 0;
    struct arrival arrival;

    for (uint16_t i = 0; i < 16; i++) {
        uint16_t id;

        assert_true(forward_as(1, i, "example.org"));
        assert_true(arrives(&arrival, 5000));
        id = message_id(arrival.query.bytes);
        same += id == i;
        next += id == before + 1;
        before = id;
    }
    assert_in_range(same, 0, 2);
    assert_in_range(next, 0, 2);
}

static void an_answer_of_another_number_or_sender_is_none(void **state)
{
    int stranger = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    struct arrival arrival;

    assert_true(forward_as(1, 1, "example.org"));
    assert_true(arrives(&arrival, 5000));
    answer(&arrival, stranger, 0);
    answer(&arrival, arrival.server, 0x0101);
    wait_for_upstream();
    assert_int_equal(seen.n, 0);
    answer(&arrival, arrival.server, 0);
    wait_for_upstream();
    assert_int_equal(seen.n, 1);
    close(stranger);
}

static void a_question_is_asked_twice_and_then_given_up(void **state)
{
    struct arrival first, second;
    uint64_t now;

    assert_true(forward_as(3, 5, "example.org"));
    now = clock_now_us();
    assert_true(arrives(&first, 5000));
    dns_forwards_tick(&dns, now + 1000000);
    assert_false(arrives(&second, 0));
    dns_forwards_tick(&dns, now + 2100000);
    assert_true(arrives(&second, 5000));
    dns_forwards_tick(&dns, now + 3000000);
    assert_false(arrives(&second, 0));
    assert_int_equal(seen.n, 0);
    dns_forwards_tick(&dns, now + 4600000);
    assert_int_equal(seen.n, 1);
    assert_int_equal(message_rcode(seen.message), DNS_SERVFAIL);
    assert_int_equal(message_id(seen.message), 5);
    answer(&first, first.server, 0);
    wait_for_upstream();
    dns_forwards_tick(&dns, now + 10000000);
    assert_int_equal(seen.n, 1);
}

/* A port where nobody listens says so: no need to wait. */
static void a_server_that_is_not_there_fails_at_once(void **state)
{
    nobody_there = true;
    if (forward_as(3, 5, "example.org"))
        for (int i = 0; i < 4 && seen.n == 0; i++)
            wait_for_upstream();
    else
        return;
    assert_int_equal(seen.n, 1);
    assert_int_equal(message_rcode(seen.message), DNS_SERVFAIL);
}

static void no_more_than_so_many_are_under_way(void **state)
{
    for (uint16_t i = 0; i < 64; i++)
        assert_true(forward_as(1, i, "example.org"));
    assert_true(forward_as(1, 0, "example.org")); /* the first one again */
    assert_false(forward_as(1, 64, "example.org"));
    dns_forwards_tick(&dns, clock_now_us() + 6000000);
    assert_int_equal(seen.n, 64);
    assert_true(forward_as(1, 64, "example.org"));
}

static void servers_are_those_of_the_file(void **state)
{
    static const struct {
        const char *text, *first, *second;
    } rows[] = {
        { "", "127.0.0.1", NULL },
        { "# nameserver 192.0.2.9\nsearch example.org\n", "127.0.0.1", NULL },
        { "nameserver 192.0.2.1\n", "192.0.2.1", NULL },
        { "nameserver 192.0.2.1", "192.0.2.1", NULL },
        { "search x\nnameserver\t2001:db8::1  \r\nnameserver 192.0.2.2\nnameserver 192.0.2.3\n",
          "2001:db8::1", "192.0.2.2" },
        { "nameserver \nnameserver x\nnameservers 192.0.2.5\nnameserver 192.0.2.6 extra\n",
          "192.0.2.6", NULL },
        { "nameserver 0300.0.2.1\nnameserver fe80::1%eth0\nnameserver "
          "1111111111111111111111111111111111111111111111111111\n",
          "127.0.0.1", NULL },
    };
    struct address found[DNS_MAX_SERVERS], expected;

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        assert_int_equal(dns_servers_read(rows[i].text, found), rows[i].second ? 2 : 1);
        assert_true(address_parse(rows[i].first, &expected));
        assert_true(address_equal(&found[0], &expected));
        if (rows[i].second) {
            assert_true(address_parse(rows[i].second, &expected));
            assert_true(address_equal(&found[1], &expected));
        }
    }
}

#define UPSTREAM_TEST(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        UPSTREAM_TEST(an_answer_comes_back_under_the_asker_s_own_number),
        UPSTREAM_TEST(numbers_are_not_the_asker_s_and_not_in_order),
        UPSTREAM_TEST(an_answer_of_another_number_or_sender_is_none),
        UPSTREAM_TEST(a_question_is_asked_twice_and_then_given_up),
        UPSTREAM_TEST(a_server_that_is_not_there_fails_at_once),
        UPSTREAM_TEST(no_more_than_so_many_are_under_way),
        cmocka_unit_test(servers_are_those_of_the_file),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
