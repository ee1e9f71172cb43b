#include "egress/egress_internal.h"

#include <stdio.h>

#include "model/limits.h"
#include "unit.h"

static struct egress egress;
static struct egress_page page;

static int start_anew(void **state)
{
    (void)state;
    memset(&egress, 0, sizeof(egress));
    memset(&page, 0, sizeof(page));
    egress.page = &page;
    egress.max_connections = LIMIT_NONE;
    egress.max_bytes[DIRECTION_IN] = egress.max_bytes[DIRECTION_OUT] = LIMIT_NONE;
    return 0;
}

static void deny(enum denial_kind kind, const char *target, const char *rule)
{
    struct denial one = { .kind = kind };

    snprintf(one.target, sizeof(one.target), "%s", target);
    snprintf(one.rule, sizeof(one.rule), "%s", rule);
    account_deny(&egress, &one);
}

static void the_same_refusal_is_counted_not_repeated(void **state)
{
    (void)state;
    deny(DENIAL_CONNECT, "example.org:80", "a");
    deny(DENIAL_CONNECT, "example.org:80", "a");
    deny(DENIAL_CONNECT, "example.org:80", "b");
    deny(DENIAL_NAME, "example.org:80", "a");
    deny(DENIAL_CONNECT, "example.org:81", "a");
    assert_int_equal(page.n_denials, 4);
    assert_int_equal(page.denials[0].count, 2);
    assert_int_equal(page.denials[1].count, 1);
    assert_int_equal(page.refused, 5);
}

static void what_finds_no_room_is_only_counted(void **state)
{
    char target[32];

    (void)state;
    for (int i = 0; i < DENIALS_MAX + 3; i++) {
        snprintf(target, sizeof(target), "host%d:1", i);
        deny(DENIAL_CONNECT, target, "a");
    }
    deny(DENIAL_CONNECT, "host0:1", "a");
    assert_int_equal(page.n_denials, DENIALS_MAX);
    assert_int_equal(page.denials_dropped, 3);
    assert_int_equal(page.denials[0].count, 2);
}

static void one_connection_more_than_allowed_is_refused(void **state)
{
    (void)state;
    egress.max_connections = 2;
    assert_true(account_open(&egress, "example.org:80"));
    assert_true(account_open(&egress, "example.org:80"));
    assert_false(account_open(&egress, "example.org:80"));
    assert_int_equal(page.connections, 2);
    assert_int_equal(page.n_denials, 1);
    assert_string_equal(page.denials[0].rule, "limits: connections 2");
    assert_string_equal(page.denials[0].remedy, "--max-connections");
}

static void room_for_bytes_ends_where_the_limit_is(void **state)
{
    (void)state;
    egress.max_bytes[DIRECTION_OUT] = 100;
    assert_int_equal(account_room(&egress, DIRECTION_OUT), 100);
    account_bytes(&egress, DIRECTION_OUT, 60);
    assert_int_equal(account_room(&egress, DIRECTION_OUT), 40);
    account_bytes(&egress, DIRECTION_OUT, 40);
    assert_int_equal(account_room(&egress, DIRECTION_OUT), 0);
    account_bytes(&egress, DIRECTION_IN, 1000);
    assert_int_equal(account_room(&egress, DIRECTION_IN), UINT64_MAX);
    assert_int_equal(page.bytes_in, 1000);
    assert_int_equal(page.bytes_out, 100);
}

static void after_a_limit_of_bytes_nothing_is_opened(void **state)
{
    (void)state;
    egress.max_bytes[DIRECTION_IN] = 10;
    account_bytes(&egress, DIRECTION_IN, 10);
    assert_true(account_open(&egress, "example.org:80")); /* the last byte was within it */
    account_spent(&egress, DIRECTION_IN, "example.org:80");
    assert_false(account_open(&egress, "example.org:81"));
    assert_int_equal(page.n_denials, 2);
    assert_string_equal(page.denials[1].target, "example.org:81");
    assert_string_equal(page.denials[1].rule, "limits: network_in_bytes 10");
    assert_string_equal(page.denials[1].remedy, "--max-network-in");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(the_same_refusal_is_counted_not_repeated, start_anew),
        cmocka_unit_test_setup(what_finds_no_room_is_only_counted, start_anew),
        cmocka_unit_test_setup(one_connection_more_than_allowed_is_refused, start_anew),
        cmocka_unit_test_setup(room_for_bytes_ends_where_the_limit_is, start_anew),
        cmocka_unit_test_setup(after_a_limit_of_bytes_nothing_is_opened, start_anew),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
