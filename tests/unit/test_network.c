#include <stdio.h>
#include <stdlib.h>

#include "model/network.h"
#include "unit.h"

static const char *const texts[] = {
    "example.org:443", "*.example.net", "10.0.0.0/8",   "[::1]:80",
    "localhost:80",    "localhost:81",  "127.0.0.1:82", "2000::/3",
};

static struct network make_network(void)
{
    struct network network = { .mode = NETWORK_ALLOW, .allow_dns = true };
    struct host_rule rule;
    sbr_error err;

    for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
        assert_int_equal(host_rule_parse(texts[i], &rule, &err), 0);
        rule.anywhere = i == 0;
        rule.only_public = i == 1;
        assert_int_equal(network_add_rule(&network, &rule, &err), 0);
    }
    return network;
}

static void a_mode_has_a_name(void **state)
{
    enum network_mode mode;
    sbr_error err;

    (void)state;
    for (size_t i = 0; i < N_NETWORK_MODES; i++) {
        const char *name = network_mode_name((enum network_mode)i);

        assert_int_equal(network_mode_from_name(name, &mode, &err), 0);
        assert_int_equal(mode, i);
    }
    assert_refused(network_mode_from_name("None", &mode, &err), &err, SBR_E_INVALID,
                   "give none, localhost, allow or full");
    assert_refused(network_mode_from_name("", &mode, &err), &err, SBR_E_INVALID, "''");
    assert_refused(network_mode_from_name("allow ", &mode, &err), &err, SBR_E_INVALID, "'allow '");
    assert_refused(network_mode_from_name("bridge", &mode, &err), &err, SBR_E_INVALID, "'bridge'");
    assert_refused(network_mode_from_name("full,allow", &mode, &err), &err, SBR_E_INVALID, "full");
    assert_refused(network_mode_from_name("0", &mode, &err), &err, SBR_E_INVALID, "'0'");
}

static void there_are_only_so_many_rules(void **state)
{
    struct network network = { 0 };
    struct host_rule rule;
    sbr_error err;

    (void)state;
    assert_int_equal(host_rule_parse("example.org", &rule, &err), 0);
    for (int i = 0; i < NETWORK_MAX_RULES; i++)
        assert_int_equal(network_add_rule(&network, &rule, &err), 0);
    assert_refused(network_add_rule(&network, &rule, &err), &err, SBR_E_INVALID, "more than 256");
    assert_int_equal(network.n_rules, NETWORK_MAX_RULES);
    network_done(&network);
    assert_int_equal(network.n_rules, 0);
    assert_null(network.rules);
}

static void rules_survive_as_bytes(void **state)
{
    struct network network = make_network(), back;
    struct buf_reader in = { 0 };
    struct buf bytes;
    sbr_error err;

    (void)state;
    buf_init(&bytes, 1 << 20);
    network_encode(&network, &bytes);
    assert_false(bytes.failed);
    in.data = bytes.data;
    in.len = bytes.len;
    assert_int_equal(network_decode(&in, &back, &err), 0);
    assert_int_equal(in.pos, in.len);
    assert_int_equal(back.mode, network.mode);
    assert_int_equal(back.allow_dns, network.allow_dns);
    assert_int_equal(back.n_rules, network.n_rules);
    for (size_t i = 0; i < back.n_rules; i++) {
        const struct host_rule *a = &network.rules[i], *b = &back.rules[i];

        assert_int_equal(a->kind, b->kind);
        assert_string_equal(a->name, b->name);
        assert_true(address_equal(&a->network, &b->network));
        assert_int_equal(a->prefix, b->prefix);
        assert_int_equal(a->port, b->port);
        assert_int_equal(a->anywhere, b->anywhere);
        assert_int_equal(b->only_public, i == 1);
        assert_string_equal(a->text, b->text);
    }
    network_done(&back);
    network_done(&network);
    buf_done(&bytes);
}

static void cut_bytes_are_refused(void **state)
{
    struct network network = make_network(), back = { .mode = NETWORK_FULL };
    struct buf bytes;
    sbr_error err;

    (void)state;
    buf_init(&bytes, 1 << 20);
    network_encode(&network, &bytes);
    for (size_t len = 0; len < bytes.len; len++) {
        char *cut = malloc(len + 1); /* so that a sanitizer sees a read beyond it */
        struct buf_reader in = { .data = cut, .len = len };

        assert_non_null(cut);
        memcpy(cut, bytes.data, len);
        assert_refused(network_decode(&in, &back, &err), &err, SBR_E_INVALID, "damaged");
        free(cut);
    }
    assert_int_equal(back.mode, NETWORK_FULL);
    assert_null(back.rules);
    network_done(&network);
    buf_done(&bytes);
}

/* Each changes one thing of a good rule to what host_rule_parse never makes. */
static void kind_unknown(struct host_rule *rule)
{
    rule->kind = N_HOST_RULE_KINDS;
}

static void name_not_canonical(struct host_rule *rule)
{
    memcpy(rule->name, "Example.org", sizeof("Example.org"));
}

static void name_missing(struct host_rule *rule)
{
    rule->name[0] = '\0';
}

static void name_is_an_address(struct host_rule *rule)
{
    memcpy(rule->name, "127.1", sizeof("127.1"));
}

static void name_is_localhost_without_a_port(struct host_rule *rule)
{
    memcpy(rule->name, "localhost", sizeof("localhost"));
    rule->port = 0;
}

static void network_with_a_name(struct host_rule *rule)
{
    rule->kind = HOST_NETWORK;
}

static void network_with_more_bits(struct host_rule *rule)
{
    *rule = (struct host_rule){ .kind = HOST_NETWORK, .prefix = 8 };
    rule->network.bytes[1] = 1;
}

static void network_with_a_long_prefix(struct host_rule *rule)
{
    *rule = (struct host_rule){ .kind = HOST_NETWORK, .prefix = 129, .port = 1 };
}

static void network_between_the_families(struct host_rule *rule)
{
    *rule = (struct host_rule){ .kind = HOST_NETWORK, .prefix = 95 };
    rule->network.bytes[10] = 0xff;
    rule->network.bytes[11] = 0xff;
}

static void network_of_loopback_without_a_port(struct host_rule *rule)
{
    *rule = (struct host_rule){ .kind = HOST_NETWORK, .prefix = 128 };
    rule->network.bytes[15] = 1;
}

static void what_no_text_could_make_is_refused(void **state)
{
    static void (*const changes[])(struct host_rule *) = {
        kind_unknown,
        name_not_canonical,
        name_missing,
        name_is_an_address,
        name_is_localhost_without_a_port,
        network_with_a_name,
        network_with_more_bits,
        network_with_a_long_prefix,
        network_between_the_families,
        network_of_loopback_without_a_port,
    };
    struct host_rule rule;
    struct network network = { .mode = NETWORK_ALLOW, .rules = &rule, .n_rules = 1 }, back;
    sbr_error err;

    (void)state;
    for (size_t i = 0; i <= ARRAY_LEN(changes); i++) { /* the last time nothing is changed */
        struct buf_reader in = { 0 };
        struct buf bytes;

        assert_int_equal(host_rule_parse("example.org:443", &rule, &err), 0);
        if (i < ARRAY_LEN(changes))
            changes[i](&rule);
        buf_init(&bytes, 1 << 16);
        network_encode(&network, &bytes);
        in.data = bytes.data;
        in.len = bytes.len;
        if (i == ARRAY_LEN(changes)) {
            assert_int_equal(network_decode(&in, &back, &err), 0);
            network_done(&back);
        } else {
            assert_refused(network_decode(&in, &back, &err), &err, SBR_E_INVALID, "damaged");
        }
        buf_done(&bytes);
    }
}

static void numbers_out_of_range_are_refused(void **state)
{
    /* mode, allow_dns, number of rules */
    static const uint32_t rows[][3] = {
        { N_NETWORK_MODES, 0, 0 },       { UINT32_MAX, 0, 0 }, { 0, 2, 0 },
        { 0, 0, NETWORK_MAX_RULES + 1 }, { 0, 0, UINT32_MAX }, { 0, 0, 1 },
    };
    struct network back;
    sbr_error err;

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct buf_reader in = { .data = (const char *)rows[i], .len = sizeof(rows[i]) };

        assert_refused(network_decode(&in, &back, &err), &err, SBR_E_INVALID, "damaged");
    }
}

static void loopback_ports_are_told_once(void **state)
{
    struct network network = make_network();
    uint16_t ports[8];

    (void)state;
    assert_int_equal(network_loopback_ports(&network, ports, ARRAY_LEN(ports)), 3);
    assert_int_equal(ports[0], 80);
    assert_int_equal(ports[1], 81);
    assert_int_equal(ports[2], 82);
    assert_int_equal(network_loopback_ports(&network, ports, 2), 2);
    assert_int_equal(network_loopback_ports(&network, ports, 0), 0);
    network_done(&network);
    assert_int_equal(network_loopback_ports(&network, ports, ARRAY_LEN(ports)), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_mode_has_a_name),
        cmocka_unit_test(there_are_only_so_many_rules),
        cmocka_unit_test(rules_survive_as_bytes),
        cmocka_unit_test(cut_bytes_are_refused),
        cmocka_unit_test(what_no_text_could_make_is_refused),
        cmocka_unit_test(numbers_out_of_range_are_refused),
        cmocka_unit_test(loopback_ports_are_told_once),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
