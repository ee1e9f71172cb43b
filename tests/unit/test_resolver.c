#include <poll.h>
#include <stdio.h>

#include "egress/resolver.h"
#include "unit.h"

/* The real thing, for names that no server has to be asked for: /etc/hosts has localhost, addresses
 * as text are their own, and a name with an empty label is none. */
static struct resolver *resolver;

struct asker {
    unsigned int n;
    struct resolution last;
    bool ask_again;
};

static unsigned int n_calls;

static void on_done(void *context, const struct resolution *resolution)
{
    struct asker *asker = context;

    asker->n++;
    asker->last = *resolution;
    n_calls++;
    if (asker->ask_again) {
        asker->ask_again = false;
        assert_true(resolver_ask(resolver, resolution->name, on_done, asker));
    }
}

static void on_done_too(void *context, const struct resolution *resolution)
{
    on_done(context, resolution);
}

static void wait_for_calls(unsigned int n)
{
    struct pollfd ready = { .fd = resolver_fd(resolver), .events = POLLIN };

    while (n_calls < n) {
        assert_int_equal(poll(&ready, 1, 30000), 1);
        resolver_dispatch(resolver);
    }
}

static int start_once(void **state)
{
    sbr_error err;

    return resolver_start(&resolver, &err);
}

static int begin(void **state)
{
    n_calls = 0;
    return 0;
}

static void a_name_of_the_hosts_file_is_found(void **state)
{
    struct asker asker = { 0 };

    assert_true(resolver_ask(resolver, "localhost", on_done, &asker));
    assert_int_equal(asker.n, 0);
    wait_for_calls(1);
    assert_int_equal(asker.n, 1);
    assert_string_equal(asker.last.name, "localhost");
    assert_true(asker.last.exists);
    assert_in_range(asker.last.n_addresses, 1, NAME_MAX_ADDRESSES);
    for (unsigned int i = 0; i < asker.last.n_addresses; i++)
        assert_int_equal(address_class(&asker.last.addresses[i]), ADDRESS_LOOPBACK);
}

static void a_name_that_is_not_there_has_no_addresses(void **state)
{
    struct asker asker = { 0 };

    assert_true(resolver_ask(resolver, "no..where", on_done, &asker));
    wait_for_calls(1);
    assert_false(asker.last.exists);
    assert_int_equal(asker.last.n_addresses, 0);
}

static void all_who_ask_are_called_and_each_once(void **state)
{
    struct asker first = { 0 }, second = { 0 };

    assert_true(resolver_ask(resolver, "localhost", on_done, &first));
    assert_true(resolver_ask(resolver, "localhost", on_done, &second));
    assert_true(resolver_ask(resolver, "localhost", on_done, &first));
    assert_true(resolver_ask(resolver, "localhost", on_done_too, &first));
    wait_for_calls(3);
    resolver_dispatch(resolver);
    assert_int_equal(first.n, 2);
    assert_int_equal(second.n, 1);
}

static void a_callback_may_ask_again(void **state)
{
    struct asker asker = { .ask_again = true };

    assert_true(resolver_ask(resolver, "localhost", on_done, &asker));
    wait_for_calls(2);
    assert_int_equal(asker.n, 2);
}

static void who_was_forgotten_is_not_called(void **state)
{
    struct asker gone = { 0 }, stays = { 0 };

    assert_true(resolver_ask(resolver, "localhost", on_done, &gone));
    assert_true(resolver_ask(resolver, "localhost", on_done, &stays));
    resolver_forget(resolver, &gone);
    wait_for_calls(1);
    assert_int_equal(gone.n, 0);
    assert_int_equal(stays.n, 1);
}

/* No dispatch in between: 64 lookups are all that can be under way. */
static void too_many_questions_are_turned_down_and_none_is_lost(void **state)
{
    struct asker asker = { 0 };
    unsigned int taken = 0;
    char name[32];

    for (unsigned int i = 0; i < 100; i++) {
        snprintf(name, sizeof(name), "127.0.0.%u", i);
        taken += resolver_ask(resolver, name, on_done, &asker);
    }
    assert_int_equal(taken, 64);
    wait_for_calls(taken);
    assert_int_equal(asker.n, taken);
    assert_true(resolver_ask(resolver, "localhost", on_done, &asker));
    wait_for_calls(taken + 1);
}

static void a_name_longer_than_any_is_turned_down(void **state)
{
    char name[HOSTNAME_SIZE + 1];

    memset(name, 'a', sizeof(name));
    name[HOSTNAME_SIZE] = '\0';
    assert_false(resolver_ask(resolver, name, on_done, NULL));
}

#define RESOLVE_TEST(test) cmocka_unit_test_setup(test, begin)

int main(void)
{
    const struct CMUnitTest tests[] = {
        RESOLVE_TEST(a_name_of_the_hosts_file_is_found),
        RESOLVE_TEST(a_name_that_is_not_there_has_no_addresses),
        RESOLVE_TEST(all_who_ask_are_called_and_each_once),
        RESOLVE_TEST(a_callback_may_ask_again),
        RESOLVE_TEST(who_was_forgotten_is_not_called),
        RESOLVE_TEST(too_many_questions_are_turned_down_and_none_is_lost),
        RESOLVE_TEST(a_name_longer_than_any_is_turned_down),
    };

    return cmocka_run_group_tests(tests, start_once, NULL);
}
