#include "dns_fixture.h"
#include "egress/dns.h"
#include "egress/dns_upstream.h"
#include "egress/dns_wire.h"
#include "unit.h"

/* Doubles of what is outside: one name that is being looked up at a time, and what was sent on. */
static struct {
    char name[HOSTNAME_SIZE];
    resolve_done *done;
    void *context;
    unsigned int n_asked;
    bool busy;
    unsigned int n_forwarded, n_probed;
} outside;

bool resolver_ask(struct resolver *resolver, const char *name, resolve_done *done, void *context)
{
    if (outside.busy)
        return false;
    memcpy(outside.name, name, strlen(name) + 1);
    outside.done = done;
    outside.context = context;
    outside.n_asked++;
    return true;
}

void resolver_forget(struct resolver *resolver, const void *context)
{
    outside.done = NULL;
}

bool dns_forward(struct dns *dns, const struct dns_asker *asker, const struct dns_question *q)
{
    outside.n_forwarded++;
    return !outside.busy;
}

void dns_probe(struct dns *dns, const struct dns_question *q)
{
    outside.n_probed++;
}

void dns_forwards_tick(struct dns *dns, uint64_t now_us)
{
}

void dns_forwards_free(struct dns *dns)
{
}

/* What came of a query. */
static struct {
    uint8_t message[DNS_MAX_MESSAGE];
    size_t len;
    unsigned int n_answers, n_refused, n_looked_up;
    struct dns_asker asker;
    char name[300], rule[160], remedy[300];
} seen;

static void on_answer(void *context, const struct dns_asker *asker, const uint8_t *message,
                      size_t len)
{
    assert_in_range(len, DNS_HEADER, DNS_MAX_MESSAGE);
    memcpy(seen.message, message, len);
    seen.len = len;
    seen.asker = *asker;
    seen.n_answers++;
}

static void on_refused(void *context, const char *name, const struct decision *why)
{
    strncpy(seen.name, name, sizeof(seen.name) - 1);
    strncpy(seen.rule, why->rule, sizeof(seen.rule) - 1);
    strncpy(seen.remedy, why->remedy, sizeof(seen.remedy) - 1);
    seen.n_refused++;
}

static void on_looked_up(void *context)
{
    seen.n_looked_up++;
}

static struct network network;
static struct names names;
static struct dns dns;

static void on_close(void *context)
{
    network_done(&network);
    network = (struct network){ .mode = NETWORK_LOCALHOST, .closes = true, .closed = true };
}

static int set_up(void **state)
{
    static const char *const rules[] = { "example.org:443", "*.below.test" };
    struct host_rule rule;
    sbr_error err;

    memset(&outside, 0, sizeof(outside));
    memset(&seen, 0, sizeof(seen));
    network = (struct network){ .mode = NETWORK_ALLOW };
    for (size_t i = 0; i < ARRAY_LEN(rules); i++)
        if (host_rule_parse(rules[i], &rule, &err) < 0 ||
            network_add_rule(&network, &rule, &err) < 0)
            return -1;
    dns = (struct dns){ .network = &network,
                        .names = &names,
                        .answer = on_answer,
                        .refused = on_refused,
                        .looked_up = on_looked_up,
                        .close = on_close };
    dns_init(&dns);
    return 0;
}

static int tear_down(void **state)
{
    dns_done(&dns);
    names_done(&names);
    network_done(&network);
    return 0;
}

static void ask_as(uint8_t who, uint16_t id, const char *name, uint16_t type)
{
    struct query query = query_make(id, name, type);
    const struct dns_asker asker = { { who } };

    seen.len = 0;
    dns_query(&dns, &asker, query.bytes, query.len);
}

static void ask(const char *name, uint16_t type)
{
    ask_as(1, 77, name, type);
}

static void found(bool exists, const char *const *addresses, unsigned int n)
{
    struct resolution resolution = { .exists = exists, .n_addresses = n };

    memcpy(resolution.name, outside.name, sizeof(outside.name));
    for (unsigned int i = 0; i < n; i++)
        assert_true(address_parse(addresses[i], &resolution.addresses[i]));
    assert_non_null(outside.done);
    outside.done(outside.context, &resolution);
}

static void assert_answered(enum dns_rcode rcode, unsigned int n_records)
{
    assert_true(seen.len > 0);
    assert_int_equal(message_rcode(seen.message), rcode);
    assert_int_equal(message_answers(seen.message), n_records);
}

/* The record is the last of the message. */
static void assert_address(const char *text)
{
    struct address expected;

    assert_answered(DNS_NOERROR, 1);
    assert_true(address_parse(text, &expected));
    if (address_is_v4(&expected))
        assert_memory_equal(seen.message + seen.len - 4, expected.bytes + 12, 4);
    else
        assert_memory_equal(seen.message + seen.len - 16, expected.bytes, 16);
}

static const char *const v4[] = { "192.0.2.1" };
static const char *const both[] = { "192.0.2.1", "2001:db8::1" };
static const char *const v6[] = { "2001:db8::1" };

static void a_listed_name_gets_addresses_that_stand_for_it(void **state)
{
    ask("Example.Org", DNS_A);
    assert_int_equal(seen.n_answers, 0);
    assert_string_equal(outside.name, "example.org");
    found(true, both, 2);
    assert_address("198.18.4.0");
    assert_int_equal(message_id(seen.message), 77);
    ask("example.org", DNS_AAAA);
    assert_address("fd53:6272:1::");
    ask("a.below.test", DNS_A);
    found(true, v4, 1);
    assert_address("198.18.4.1");
    ask("a.below.test", DNS_AAAA);
    assert_answered(DNS_NOERROR, 0);
    ask("b.below.test", DNS_A); /* our side dials IPv6 for a program that speaks IPv4 */
    found(true, v6, 1);
    assert_address("198.18.4.2");
    assert_int_equal(outside.n_asked, 3);
    assert_int_equal(seen.n_looked_up, 3);
    assert_int_equal(seen.n_refused, 0);
}

static void what_was_found_is_kept_and_a_later_failure_takes_nothing_away(void **state)
{
    struct name_entry *entry;
    unsigned int number;

    ask("example.org", DNS_A);
    found(true, both, 2);
    entry = names_take(&names, "example.org", &number);
    assert_int_equal(entry->n_addresses, 2);
    assert_true(entry->resolved_us > 0);
    entry->resolved_us -= 31000000;
    ask("example.org", DNS_A);
    assert_int_equal(outside.n_asked, 2);
    found(false, NULL, 0);
    assert_answered(DNS_NXDOMAIN, 0);
    assert_int_equal(entry->n_addresses, 2);
    ask("example.org", DNS_A);
    found(true, v4, 1);
    assert_address("198.18.4.0");
    assert_int_equal(entry->n_addresses, 1);
}

static void a_name_that_is_not_there_and_a_lookup_that_failed_differ(void **state)
{
    ask("example.org", DNS_A);
    found(false, NULL, 0);
    assert_answered(DNS_NXDOMAIN, 0);
    ask("example.org", DNS_AAAA);
    found(true, NULL, 0);
    assert_answered(DNS_SERVFAIL, 0);
    outside.busy = true;
    ask("example.org", DNS_A);
    assert_answered(DNS_SERVFAIL, 0);
    assert_int_equal(seen.n_refused, 2); /* the host is named for each that it was asked for */
}

static void all_who_wait_for_a_name_share_its_lookup(void **state)
{
    ask_as(1, 10, "example.org", DNS_A);
    ask_as(1, 11, "example.org", DNS_AAAA);
    ask_as(2, 10, "EXAMPLE.org", DNS_A);
    ask_as(1, 10, "example.org", DNS_A); /* the first one again, out of impatience */
    assert_int_equal(outside.n_asked, 1);
    assert_int_equal(seen.n_looked_up, 1);
    found(true, v4, 1);
    assert_int_equal(seen.n_answers, 3);
}

static void no_more_than_so_many_wait(void **state)
{
    for (uint16_t i = 0; i < 640; i++)
        ask_as(1, i, "example.org", DNS_A);
    assert_int_equal(seen.n_answers, 0);
    ask_as(1, 640, "example.org", DNS_A);
    assert_answered(DNS_SERVFAIL, 0);
    found(true, v4, 1);
    assert_int_equal(seen.n_answers, 641);
}

static void another_name_is_refused_at_once_and_told(void **state)
{
    static const char *const others[] = { "example.com",           "www.example.org", "below.test",
                                          "example.org.evil.test", "xbelow.test",     "single",
                                          "localhost.evil.test",   "notlocalhost" };
    static const uint16_t types[] = { DNS_A, DNS_AAAA, 15, 16, DNS_HTTPS, DNS_ANY, 252 };
    unsigned int n = 0;

    for (size_t i = 0; i < ARRAY_LEN(others); i++) {
        for (size_t k = 0; k < ARRAY_LEN(types); k++) {
            ask(others[i], types[k]);
            assert_answered(DNS_REFUSED, 0);
            assert_int_equal(seen.n_refused, ++n);
            assert_string_equal(seen.name, others[i]);
            assert_non_null(strstr(seen.rule, "network: allow"));
            assert_non_null(strstr(seen.remedy, others[i]));
        }
    }
    assert_int_equal(outside.n_asked + outside.n_forwarded, 0);
}

static void a_dot_within_a_label_does_not_make_a_listed_name(void **state)
{
    struct query query = query_make(1, "example.org", DNS_A);

    query.bytes[DNS_HEADER] = 11; /* one label: "example" 0x03 "org" */
    query.bytes[DNS_HEADER + 8] = '.';
    dns_query(&dns, &(struct dns_asker){ { 1 } }, query.bytes, query.len);
    assert_answered(DNS_REFUSED, 0);
    assert_string_equal(seen.name, "example\\046org");
    assert_string_equal(seen.rule, "network: allow (not the name of a host)");
    assert_string_equal(seen.remedy, "");
}

static void localhost_is_the_sandbox_s_own(void **state)
{
    ask("localhost", DNS_A);
    assert_address("127.0.0.1");
    ask("db.LocalHost", DNS_AAAA);
    assert_address("::1");
    ask("localhost", DNS_HTTPS);
    assert_answered(DNS_NOERROR, 0);
    assert_int_equal(outside.n_asked + seen.n_refused, 0);
}

static void addresses_inside_have_no_names(void **state)
{
    static const char *const inside[] = {
        "1.0.18.198.in-addr.arpa",
        "9.4.19.198.in-addr.arpa",
        "1.0.0.127.in-addr.arpa",
        "1.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.2.7.2.6.3.5.d.f.ip6.arpa",
        "1.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.ip6.arpa",
    };

    for (size_t i = 0; i < ARRAY_LEN(inside); i++) {
        ask(inside[i], DNS_PTR);
        assert_answered(DNS_NXDOMAIN, 0);
    }
    assert_int_equal(seen.n_refused, 0);
    ask("1.2.0.192.in-addr.arpa", DNS_PTR);
    assert_answered(DNS_REFUSED, 0);
    assert_int_equal(seen.n_refused, 1);
}

enum outcome { EMPTY, FORWARDED, LOOKED_UP, REFUSED, NOT_DONE };

/* What happens with a type of records depends on the mode and on whether a rule has the name. */
static void other_records_are_forwarded_where_that_is_allowed(void **state)
{
    static const struct {
        enum network_mode mode;
        bool allow_dns;
        const char *name;
        uint16_t type;
        enum outcome outcome;
    } rows[] = {
        { NETWORK_ALLOW, false, "example.org", 15, EMPTY },
        { NETWORK_ALLOW, false, "example.org", DNS_HTTPS, EMPTY },
        { NETWORK_ALLOW, false, "example.org", DNS_ANY, EMPTY },
        { NETWORK_ALLOW, false, "example.org", 252, NOT_DONE },
        { NETWORK_ALLOW, false, "example.com", 15, REFUSED },
        { NETWORK_ALLOW, true, "example.org", 15, FORWARDED },
        { NETWORK_ALLOW, true, "example.org", DNS_A, LOOKED_UP },
        { NETWORK_ALLOW, true, "example.org", DNS_HTTPS, EMPTY },
        { NETWORK_ALLOW, true, "example.org", DNS_ANY, EMPTY },
        { NETWORK_ALLOW, true, "example.com", DNS_A, FORWARDED },
        { NETWORK_ALLOW, true, "example.com", DNS_AAAA, FORWARDED },
        { NETWORK_ALLOW, true, "example.com", 16, FORWARDED },
        { NETWORK_ALLOW, true, "example.com", 251, NOT_DONE },
        { NETWORK_FULL, false, "example.com", DNS_A, LOOKED_UP },
        { NETWORK_FULL, false, "example.com", 16, FORWARDED },
        { NETWORK_FULL, false, "example.com", DNS_HTTPS, FORWARDED },
        { NETWORK_FULL, false, "1.2.0.192.in-addr.arpa", DNS_PTR, FORWARDED },
        { NETWORK_FULL, false, "example.com", 249, NOT_DONE },
        { NETWORK_LOCALHOST, true, "example.org", DNS_A, REFUSED },
        { NETWORK_NONE, true, "example.com", 16, REFUSED },
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        unsigned int asked = outside.n_asked, forwarded = outside.n_forwarded;
        enum outcome outcome = EMPTY;

        network.mode = rows[i].mode;
        network.allow_dns = rows[i].allow_dns;
        ask(rows[i].name, rows[i].type);
        if (outside.n_forwarded > forwarded)
            outcome = FORWARDED;
        else if (outside.n_asked > asked)
            outcome = LOOKED_UP;
        else if (message_rcode(seen.message) != DNS_NOERROR)
            outcome = message_rcode(seen.message) == DNS_REFUSED ? REFUSED : NOT_DONE;
        assert_int_equal(outcome, rows[i].outcome);
        assert_int_equal(seen.len == 0, outcome == FORWARDED || outcome == LOOKED_UP);
        if (outcome == LOOKED_UP)
            found(false, NULL, 0);
    }
}

/* Nothing is open any more when the answer comes. */
static void a_network_is_given_back_for_good(void **state)
{
    ask(NETWORK_CLOSE_NAME, DNS_A);
    assert_answered(DNS_REFUSED, 0); /* only for a stage that may */
    assert_false(network.closed);
    network.closes = true;
    ask("close.sandbox-run.Internal", DNS_A);
    assert_answered(DNS_NOERROR, 1);
    assert_true(network.closed);
    ask(NETWORK_CLOSE_NAME, DNS_AAAA);
    assert_answered(DNS_NOERROR, 0);
    ask("example.org", DNS_A);
    assert_answered(DNS_REFUSED, 0);
    assert_string_equal(seen.rule, "network: closed (scripts of packages run without one)");
    assert_string_equal(seen.remedy, "");
    assert_int_equal(outside.n_asked, 0);
}

static void only_the_internet_s_class_is_served(void **state)
{
    struct query query = query_make(1, "example.org", DNS_A);

    query_set16(&query, query.len - 2, 3);
    dns_query(&dns, &(struct dns_asker){ { 1 } }, query.bytes, query.len);
    assert_answered(DNS_NOTIMP, 0);
}

static void a_query_that_cannot_go_on_fails_at_once(void **state)
{
    network.mode = NETWORK_FULL;
    outside.busy = true;
    ask("example.org", 16);
    assert_answered(DNS_SERVFAIL, 0);
}

static void names_have_a_greatest_number(void **state)
{
    char name[] = "n0000.below.test";
    unsigned int number;

    for (int i = 0; i < NAMES_MAX; i++) {
        for (int k = 0, rest = i; k < 4; k++, rest /= 10)
            name[4 - k] = (char)('0' + rest % 10);
        assert_non_null(names_take(&names, name, &number));
    }
    ask("example.org", DNS_A);
    found(true, (const char *const[]){ "93.184.216.34" }, 1);
    assert_answered(DNS_REFUSED, 0);
    assert_int_equal(seen.n_refused, 1);
    assert_string_equal(seen.rule, "limits: names 4096");
}

static void a_name_that_does_not_exist_takes_no_place(void **state)
{
    ask("x.below.test", DNS_A);
    found(false, NULL, 0);
    assert_answered(DNS_NXDOMAIN, 0);
    assert_int_equal(names.n, 0);
}

static void what_is_no_query_gets_no_answer(void **state)
{
    struct query query = query_make(1, "example.org", DNS_A);
    const struct dns_asker asker = { { 1 } };

    dns_query(&dns, &asker, query.bytes, 11);
    query_set16(&query, 2, 0x8180);
    dns_query(&dns, &asker, query.bytes, query.len);
    assert_int_equal(seen.n_answers, 0);
    query_set16(&query, 2, 0);
    query_set16(&query, 4, 2);
    dns_query(&dns, &asker, query.bytes, query.len);
    assert_answered(DNS_FORMERR, 0);
    assert_int_equal(seen.len, DNS_HEADER);
}

static void a_name_whose_probe_failed_is_answered_before_its_lookup_ends(void **state)
{
    uint64_t due_us;

    ask("example.org", DNS_A);
    ask("example.org", DNS_AAAA);
    due_us = dns.due_us;
    assert_true(due_us < UINT64_MAX);
    dns_tick(&dns, due_us - 1);
    assert_int_equal(outside.n_probed, 0);
    assert_int_equal(dns.due_us, due_us);
    dns_tick(&dns, due_us + 1000000);
    dns_tick(&dns, due_us + 2000000);
    assert_int_equal(outside.n_probed, 2);
    assert_true(dns.due_us == UINT64_MAX);
    dns.probe_failed(&dns, "example.org");
    assert_answered(DNS_SERVFAIL, 0);
    assert_int_equal(seen.n_answers, 2);
    assert_int_equal(seen.n_refused, 1);
    ask("example.org", DNS_A); /* again, at once */
    assert_answered(DNS_SERVFAIL, 0);
    assert_int_equal(outside.n_asked, 1);
    found(true, NULL, 0); /* the lookup, 5 s later */
    assert_int_equal(seen.n_answers, 3);
    assert_int_equal(seen.n_refused, 1);
}

#define DNS_TEST(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        DNS_TEST(a_listed_name_gets_addresses_that_stand_for_it),
        DNS_TEST(what_was_found_is_kept_and_a_later_failure_takes_nothing_away),
        DNS_TEST(a_name_that_is_not_there_and_a_lookup_that_failed_differ),
        DNS_TEST(a_name_whose_probe_failed_is_answered_before_its_lookup_ends),
        DNS_TEST(all_who_wait_for_a_name_share_its_lookup),
        DNS_TEST(no_more_than_so_many_wait),
        DNS_TEST(another_name_is_refused_at_once_and_told),
        DNS_TEST(a_dot_within_a_label_does_not_make_a_listed_name),
        DNS_TEST(localhost_is_the_sandbox_s_own),
        DNS_TEST(addresses_inside_have_no_names),
        DNS_TEST(other_records_are_forwarded_where_that_is_allowed),
        DNS_TEST(a_network_is_given_back_for_good),
        DNS_TEST(only_the_internet_s_class_is_served),
        DNS_TEST(a_query_that_cannot_go_on_fails_at_once),
        DNS_TEST(names_have_a_greatest_number),
        DNS_TEST(a_name_that_does_not_exist_takes_no_place),
        DNS_TEST(what_is_no_query_gets_no_answer),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
