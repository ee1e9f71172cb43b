#include "model/address.h"

#include <netinet/in.h>

#include "unit.h"

static struct address parse(const char *text)
{
    struct address a;

    if (!address_parse(text, &a))
        fail_msg("'%s' was not taken", text);
    return a;
}

static void an_address_has_one_form(void **state)
{
    static const struct {
        const char *text, *form;
        bool v4;
    } rows[] = {
        { "1.2.3.4", "1.2.3.4", true },
        { "255.255.255.255", "255.255.255.255", true },
        { "::ffff:1.2.3.4", "1.2.3.4", true },
        { "::FFFF:102:304", "1.2.3.4", true },
        { "0:0:0:0:0:ffff:0102:0304", "1.2.3.4", true },
        { "::", "::", false },
        { "::1", "::1", false },
        { "2001:DB8:0:0::1", "2001:db8::1", false },
        { "64:ff9b::1.2.3.4", "64:ff9b::102:304", false },
    };
    char text[ADDRESS_TEXT_SIZE];

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct address a = parse(rows[i].text);

        assert_string_equal(address_format(&a, text), rows[i].form);
        assert_int_equal(address_is_v4(&a), rows[i].v4);
    }
}

static void a_form_that_can_be_read_differently_is_refused(void **state)
{
    static const char *const rows[] = {
        "",
        "1",
        "1.2.3",
        "127.1",
        "0177.0.0.1",
        "127.0.0.01",
        "0x7f.0.0.1",
        "2130706433",
        "256.1.1.1",
        "1.2.3.4.",
        " 1.2.3.4",
        "1.2.3.4 ",
        "1.2.3.4.5",
        "1..3.4",
        "1.2.3.-4",
        ":",
        ":::",
        "1::2::3",
        "::1%lo",
        "[::1]",
        "::12345",
        "::g",
        "1:2:3:4:5:6:7",
        "::ffff:1.2.3",
        "::ffff:01.2.3.4",
        "1:2:3:4:5:6:7:8:9",
        "localhost",
    };
    struct address a;

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        if (address_parse(rows[i], &a))
            fail_msg("'%s' was taken", rows[i]);
    }
}

/* clang-format off */
/* The first and the last of every range, and their neighbours. */
static const struct {
    const char *text;
    enum address_class class;
} classes[] = {
    { "0.0.0.0", ADDRESS_LOOPBACK }, { "0.255.255.255", ADDRESS_LOOPBACK },
    { "1.0.0.0", ADDRESS_PUBLIC }, { "9.255.255.255", ADDRESS_PUBLIC },
    { "10.0.0.0", ADDRESS_PRIVATE }, { "10.255.255.255", ADDRESS_PRIVATE },
    { "11.0.0.0", ADDRESS_PUBLIC }, { "100.63.255.255", ADDRESS_PUBLIC },
    { "100.64.0.0", ADDRESS_PRIVATE }, { "100.100.100.200", ADDRESS_PRIVATE },
    { "100.127.255.255", ADDRESS_PRIVATE }, { "100.128.0.0", ADDRESS_PUBLIC },
    { "126.255.255.255", ADDRESS_PUBLIC }, { "127.0.0.0", ADDRESS_LOOPBACK },
    { "127.0.0.1", ADDRESS_LOOPBACK }, { "127.255.255.255", ADDRESS_LOOPBACK },
    { "128.0.0.0", ADDRESS_PUBLIC },
    { "168.63.129.15", ADDRESS_PUBLIC }, { "168.63.129.16", ADDRESS_LINK_LOCAL },
    { "168.63.129.17", ADDRESS_PUBLIC },
    { "169.253.255.255", ADDRESS_PUBLIC }, { "169.254.0.0", ADDRESS_LINK_LOCAL },
    { "169.254.169.254", ADDRESS_LINK_LOCAL }, { "169.254.255.255", ADDRESS_LINK_LOCAL },
    { "169.255.0.0", ADDRESS_PUBLIC },
    { "172.15.255.255", ADDRESS_PUBLIC }, { "172.16.0.0", ADDRESS_PRIVATE },
    { "172.31.255.255", ADDRESS_PRIVATE }, { "172.32.0.0", ADDRESS_PUBLIC },
    { "191.255.255.255", ADDRESS_PUBLIC }, { "192.0.0.0", ADDRESS_RESERVED },
    { "192.0.0.192", ADDRESS_RESERVED }, { "192.0.0.255", ADDRESS_RESERVED },
    { "192.0.1.0", ADDRESS_PUBLIC }, { "192.0.1.255", ADDRESS_PUBLIC },
    { "192.0.2.0", ADDRESS_RESERVED }, { "192.0.2.255", ADDRESS_RESERVED },
    { "192.0.3.0", ADDRESS_PUBLIC },
    { "192.88.98.255", ADDRESS_PUBLIC }, { "192.88.99.0", ADDRESS_RESERVED },
    { "192.88.99.255", ADDRESS_RESERVED }, { "192.88.100.0", ADDRESS_PUBLIC },
    { "192.167.255.255", ADDRESS_PUBLIC }, { "192.168.0.0", ADDRESS_PRIVATE },
    { "192.168.255.255", ADDRESS_PRIVATE }, { "192.169.0.0", ADDRESS_PUBLIC },
    { "198.17.255.255", ADDRESS_PUBLIC }, { "198.18.0.0", ADDRESS_RESERVED },
    { "198.19.255.255", ADDRESS_RESERVED }, { "198.20.0.0", ADDRESS_PUBLIC },
    { "198.51.99.255", ADDRESS_PUBLIC }, { "198.51.100.0", ADDRESS_RESERVED },
    { "198.51.100.255", ADDRESS_RESERVED }, { "198.51.101.0", ADDRESS_PUBLIC },
    { "203.0.112.255", ADDRESS_PUBLIC }, { "203.0.113.0", ADDRESS_RESERVED },
    { "203.0.113.255", ADDRESS_RESERVED }, { "203.0.114.0", ADDRESS_PUBLIC },
    { "223.255.255.255", ADDRESS_PUBLIC }, { "224.0.0.0", ADDRESS_MULTICAST },
    { "239.255.255.255", ADDRESS_MULTICAST }, { "240.0.0.0", ADDRESS_RESERVED },
    { "255.255.255.254", ADDRESS_RESERVED }, { "255.255.255.255", ADDRESS_MULTICAST },

    { "::", ADDRESS_LOOPBACK }, { "::1", ADDRESS_LOOPBACK },
    { "ff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", ADDRESS_RESERVED },
    { "100::", ADDRESS_RESERVED }, { "100::ffff:ffff:ffff:ffff", ADDRESS_RESERVED },
    { "1fff:ffff::", ADDRESS_RESERVED }, { "2000::", ADDRESS_PUBLIC },
    { "2000:ffff::", ADDRESS_PUBLIC }, { "2001::", ADDRESS_RESERVED },
    { "2001:0:1234::1", ADDRESS_RESERVED }, { "2001:2::", ADDRESS_RESERVED },
    { "2001:10::", ADDRESS_RESERVED }, { "2001:2f::", ADDRESS_RESERVED },
    { "2001:1ff:ffff::", ADDRESS_RESERVED }, { "2001:200::", ADDRESS_PUBLIC },
    { "2001:db7:ffff::", ADDRESS_PUBLIC }, { "2001:db8::", ADDRESS_RESERVED },
    { "2001:db8:ffff:ffff:ffff:ffff:ffff:ffff", ADDRESS_RESERVED },
    { "2001:db9::", ADDRESS_PUBLIC }, { "2606:4700::1111", ADDRESS_PUBLIC },
    { "3ffe:ffff::", ADDRESS_PUBLIC }, { "3fff::", ADDRESS_RESERVED },
    { "3fff:fff:ffff::", ADDRESS_RESERVED }, { "3fff:1000::", ADDRESS_PUBLIC },
    { "3fff:ffff::", ADDRESS_PUBLIC }, { "4000::", ADDRESS_RESERVED },
    { "5f00::1", ADDRESS_RESERVED }, { "fbff:ffff::", ADDRESS_RESERVED },
    { "fc00::", ADDRESS_PRIVATE }, { "fd00:ec2::254", ADDRESS_PRIVATE },
    { "fdff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", ADDRESS_PRIVATE },
    { "fe00::", ADDRESS_RESERVED }, { "fe7f:ffff::", ADDRESS_RESERVED },
    { "fe80::", ADDRESS_LINK_LOCAL }, { "febf:ffff::", ADDRESS_LINK_LOCAL },
    { "fec0::", ADDRESS_PRIVATE }, { "feff:ffff::", ADDRESS_PRIVATE },
    { "ff00::", ADDRESS_MULTICAST }, { "ff02::1", ADDRESS_MULTICAST },
    { "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", ADDRESS_MULTICAST },

    /* With an IPv4 address within. */
    { "::ffff:127.0.0.1", ADDRESS_LOOPBACK }, { "::ffff:169.254.169.254", ADDRESS_LINK_LOCAL },
    { "::ffff:10.0.0.1", ADDRESS_PRIVATE }, { "::ffff:8.8.8.8", ADDRESS_PUBLIC },
    { "::ffff:0:8.8.8.8", ADDRESS_RESERVED }, { "::fffe:8.8.8.8", ADDRESS_RESERVED },
    { "::127.0.0.1", ADDRESS_LOOPBACK }, { "::10.0.0.1", ADDRESS_PRIVATE },
    { "::8.8.8.8", ADDRESS_RESERVED }, { "::2", ADDRESS_LOOPBACK },
    { "64:ff9b::127.0.0.1", ADDRESS_LOOPBACK }, { "64:ff9b::10.0.0.1", ADDRESS_PRIVATE },
    { "64:ff9b::169.254.169.254", ADDRESS_LINK_LOCAL }, { "64:ff9b::224.0.0.1", ADDRESS_MULTICAST },
    { "64:ff9b::8.8.8.8", ADDRESS_PUBLIC }, { "64:ff9b::1:8.8.8.8", ADDRESS_RESERVED },
    { "64:ff9b:1::10.0.0.1", ADDRESS_PRIVATE }, { "64:ff9b:1::8.8.8.8", ADDRESS_PRIVATE },
    { "64:ff9b:1::127.0.0.1", ADDRESS_LOOPBACK },
    { "64:ff9b:1:ffff:ffff:ffff:ffff:ffff", ADDRESS_MULTICAST },
    { "64:ff9b:2::8.8.8.8", ADDRESS_RESERVED }, { "64:ff9a:ffff::8.8.8.8", ADDRESS_RESERVED },
    { "2002:7f00:1::1", ADDRESS_LOOPBACK }, { "2002:a00:1::", ADDRESS_PRIVATE },
    { "2002:a9fe:a9fe::1", ADDRESS_LINK_LOCAL }, { "2002:808:808::1", ADDRESS_PUBLIC },
    { "2003::7f00:1", ADDRESS_PUBLIC },
};
/* clang-format on */

static void every_range_ends_where_it_should(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(classes); i++) {
        struct address a = parse(classes[i].text);

        if (address_class(&a) != classes[i].class)
            fail_msg("%s is %s, not %s", classes[i].text, address_class_name(address_class(&a)),
                     address_class_name(classes[i].class));
    }
}

static void a_range_has_a_class_when_all_of_it_has(void **state)
{
    static const struct {
        const char *network;
        unsigned int prefix;
        enum address_class class;
    } rows[] = {
        { "0.0.0.0", 96, ADDRESS_PUBLIC },
        { "10.0.0.0", 96 + 8, ADDRESS_PRIVATE },
        { "10.1.0.0", 96 + 16, ADDRESS_PRIVATE },
        { "10.0.0.0", 96 + 7, ADDRESS_PUBLIC },
        { "8.0.0.0", 96 + 6, ADDRESS_PUBLIC },
        { "172.16.0.0", 96 + 12, ADDRESS_PRIVATE },
        { "172.0.0.0", 96 + 8, ADDRESS_PUBLIC },
        { "192.0.0.0", 96 + 16, ADDRESS_PUBLIC },
        { "127.0.0.0", 96 + 8, ADDRESS_LOOPBACK },
        { "169.254.169.254", 128, ADDRESS_LINK_LOCAL },
        { "224.0.0.0", 96 + 4, ADDRESS_MULTICAST },
        { "240.0.0.0", 96 + 4, ADDRESS_RESERVED },
        { "224.0.0.0", 96 + 3, ADDRESS_PUBLIC },
        { "168.63.129.0", 96 + 24, ADDRESS_PUBLIC },
        { "8.8.8.8", 128, ADDRESS_PUBLIC },
        { "::", 0, ADDRESS_PUBLIC },
        { "::1", 128, ADDRESS_LOOPBACK },
        { "::", 8, ADDRESS_PUBLIC },
        { "fc00::", 7, ADDRESS_PRIVATE },
        { "fc00::", 6, ADDRESS_PUBLIC },
        { "fe80::", 10, ADDRESS_LINK_LOCAL },
        { "fe80::", 64, ADDRESS_LINK_LOCAL },
        { "fe80::", 9, ADDRESS_PUBLIC },
        { "2000::", 3, ADDRESS_PUBLIC },
        { "2001::", 16, ADDRESS_PUBLIC },
        { "2001:db8::", 32, ADDRESS_RESERVED },
        { "ff00::", 8, ADDRESS_MULTICAST },
        { "8000::", 1, ADDRESS_PUBLIC },
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct address a = parse(rows[i].network);

        if (address_range_class(&a, rows[i].prefix) != rows[i].class)
            fail_msg("%s/%u is not %s", rows[i].network, rows[i].prefix,
                     address_class_name(rows[i].class));
    }
}

static void an_address_is_in_the_networks_of_its_first_bits(void **state)
{
    struct address a = parse("2001:db8:ffff::1");

    (void)state;
    for (unsigned int prefix = 0; prefix <= 128; prefix++) {
        struct address network = address_network(&a, prefix), other = a;

        assert_true(address_in(&a, &network, prefix));
        assert_true(address_in(&network, &a, prefix));
        if (prefix == 0)
            continue;
        other.bytes[(prefix - 1) / 8] ^= (uint8_t)(0x80 >> ((prefix - 1) % 8));
        assert_false(address_in(&other, &network, prefix));
        assert_true(address_in(&other, &network, prefix - 1));
        assert_false(address_equal(&other, &a));
    }
}

static void what_is_within_is_found(void **state)
{
    static const struct {
        const char *text;
        enum address_wrap wrap;
        const char *inner;
    } rows[] = {
        { "64:ff9b::1.2.3.4", ADDRESS_TRANSLATED, "1.2.3.4" },
        { "64:ff9b:1:2:3:4:1.2.3.4", ADDRESS_TUNNELLED, "1.2.3.4" },
        { "2002:102:304:5::6", ADDRESS_TUNNELLED, "1.2.3.4" },
        { "::1.2.3.4", ADDRESS_TUNNELLED, "1.2.3.4" },
        { "1.2.3.4", ADDRESS_PLAIN, NULL },
        { "::ffff:1.2.3.4", ADDRESS_PLAIN, NULL },
        { "::1", ADDRESS_PLAIN, NULL },
        { "::", ADDRESS_PLAIN, NULL },
        { "2001:200::1.2.3.4", ADDRESS_PLAIN, NULL },
    };
    char text[ADDRESS_TEXT_SIZE];

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct address a = parse(rows[i].text), inner;

        assert_int_equal(address_inner(&a, &inner), rows[i].wrap);
        if (rows[i].inner)
            assert_string_equal(address_format(&inner, text), rows[i].inner);
    }
}

static void a_socket_address_goes_there_and_back(void **state)
{
    static const char *const rows[] = { "1.2.3.4", "::1", "fe80::1", "::ffff:9.9.9.9" };
    struct sockaddr_storage storage;
    struct address back;
    uint16_t port;

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct address a = parse(rows[i]);
        socklen_t len = address_to_socket(&a, 443, &storage);
        bool v4 = address_is_v4(&a);

        assert_int_equal(storage.ss_family, v4 ? AF_INET : AF_INET6);
        assert_int_equal(len, v4 ? sizeof(struct sockaddr_in) : sizeof(struct sockaddr_in6));
        assert_true(address_from_socket((struct sockaddr *)&storage, &back, &port));
        assert_true(address_equal(&a, &back));
        assert_int_equal(port, 443);
    }
    storage.ss_family = AF_UNIX;
    assert_false(address_from_socket((struct sockaddr *)&storage, &back, &port));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_address_has_one_form),
        cmocka_unit_test(a_form_that_can_be_read_differently_is_refused),
        cmocka_unit_test(every_range_ends_where_it_should),
        cmocka_unit_test(a_range_has_a_class_when_all_of_it_has),
        cmocka_unit_test(an_address_is_in_the_networks_of_its_first_bits),
        cmocka_unit_test(what_is_within_is_found),
        cmocka_unit_test(a_socket_address_goes_there_and_back),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
