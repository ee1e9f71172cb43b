#include "sandbox/publish_process.h"

#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "unit.h"

static uint16_t port_of(int fd, uint32_t *ret_address)
{
    struct sockaddr_in name;
    socklen_t size = sizeof(name);

    assert_int_equal(getsockname(fd, (struct sockaddr *)&name, &size), 0);
    *ret_address = ntohl(name.sin_addr.s_addr);
    return ntohs(name.sin_port);
}

static void port_0_becomes_one_that_is_free(void **state)
{
    struct publish wanted = { .rules = { { .v4 = true, .inside = 80 } }, .n = 1 };
    struct publish_listeners all;
    uint32_t address;
    sbr_error err;

    (void)state;
    assert_int_equal(publish_listeners_open(&all, &wanted, &err), 0);
    assert_int_equal(all.n, 1);
    assert_int_equal(port_of(all.items[0].fd, &address), all.published.rules[0].port);
    assert_int_equal(address, INADDR_LOOPBACK);
    assert_true(all.published.rules[0].port);
    publish_listeners_close(&all);
    assert_int_equal(all.n, 0);
}

static void a_busy_port_is_refused_and_nothing_stays_open(void **state)
{
    struct publish wanted = { .rules = { { .v4 = true, .inside = 80 } }, .n = 1 }, twice;
    struct publish_listeners first, second = { 0 };
    int probe, again;
    sbr_error err;

    (void)state;
    assert_int_equal(publish_listeners_open(&first, &wanted, &err), 0);
    twice = (struct publish){ .rules = { wanted.rules[0], first.published.rules[0] }, .n = 2 };
    probe = dup(0);
    close(probe);
    assert_refused(publish_listeners_open(&second, &twice, &err), &err, SBR_E_BUSY,
                   "another program listens on port");
    again = dup(0);
    assert_int_equal(again, probe);
    close(again);
    publish_listeners_close(&first);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(port_0_becomes_one_that_is_free),
        cmocka_unit_test(a_busy_port_is_refused_and_nothing_stays_open),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
