#include "egress/egress_internal.h"

#include <netinet/in.h>

#include "unit.h"

static struct endpoint endpoint(const char *text, uint16_t port)
{
    struct endpoint e = { .port = port };

    assert_true(address_parse(text, &e.address));
    return e;
}

/* As the receiver checks it: everything that is covered, the checksum among it, makes 0. */
static uint16_t transport_check(const struct endpoint *from, const struct endpoint *to,
                                uint8_t protocol, const uint8_t *data, size_t len)
{
    bool v4 = address_is_v4(&from->address);
    uint32_t sum = packet_sum(0, from->address.bytes + (v4 ? 12 : 0), v4 ? 4 : 16);

    sum = packet_sum(sum, to->address.bytes + (v4 ? 12 : 0), v4 ? 4 : 16);
    return packet_checksum(packet_sum(sum + protocol + (uint32_t)len, data, len));
}

static void a_sum_is_that_of_rfc_1071(void **state)
{
    static const uint8_t example[] = { 0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7 };
    uint32_t sum = packet_sum(0, example, sizeof(example));

    (void)state;
    assert_int_equal(packet_checksum(sum), 0xffff & ~0xddf2);
}

/* The plain way: 16 bits at a time, the first byte above the second. */
static uint16_t plain_checksum(const uint8_t *data, size_t len)
{
    uint64_t sum = 0;

    for (size_t i = 0; i < len; i++)
        sum += i % 2 ? data[i] : (uint64_t)data[i] << 8;
    while (sum >> 16)
        sum = (sum & 0xffff) + (sum >> 16);
    return (uint16_t)~sum;
}

static void a_sum_of_any_length_is_the_plain_one(void **state)
{
    uint8_t data[70];

    (void)state;
    for (size_t i = 0; i < sizeof(data); i++)
        data[i] = (uint8_t)(0xff - i * 29);
    for (size_t len = 0; len <= sizeof(data); len++)
        assert_int_equal(packet_checksum(packet_sum(0, data, len)), plain_checksum(data, len));
    memset(data, 0xff, sizeof(data));
    assert_int_equal(packet_checksum(packet_sum(0, data, sizeof(data))), 0);
}

static void a_sum_goes_on_where_another_ended(void **state)
{
    uint8_t data[32];

    (void)state;
    for (size_t i = 0; i < sizeof(data); i++)
        data[i] = (uint8_t)(0xf0 + i);
    for (size_t at = 0; at <= sizeof(data); at += 2) {
        uint32_t sum = packet_sum(0, data, at);

        assert_int_equal(packet_checksum(packet_sum(sum, data + at, sizeof(data) - at)),
                         plain_checksum(data, sizeof(data)));
    }
}

static void an_ipv4_datagram_is_what_its_receiver_expects(void **state)
{
    struct endpoint from = endpoint("198.18.4.7", 7), to = endpoint("198.18.0.1", 40000);
    uint8_t room[PACKET_HEADROOM + 5], *packet;
    size_t len;

    (void)state;
    memcpy(room + PACKET_HEADROOM, "hello", 5);
    packet = packet_wrap(room + PACKET_HEADROOM, 5, &from, &to, &len);
    assert_ptr_equal(packet, room + PACKET_HEADROOM - 28);
    assert_int_equal(len, 33);
    assert_int_equal(packet[0], 0x45);
    assert_int_equal(packet[2] << 8 | packet[3], 33);
    assert_int_equal(packet[9], IPPROTO_UDP);
    assert_memory_equal(packet + 12, from.address.bytes + 12, 4);
    assert_memory_equal(packet + 16, to.address.bytes + 12, 4);
    assert_int_equal(packet_checksum(packet_sum(0, packet, 20)), 0);
    assert_int_equal(packet[20] << 8 | packet[21], 7);
    assert_int_equal(packet[22] << 8 | packet[23], 40000);
    assert_int_equal(packet[24] << 8 | packet[25], 13);
    assert_int_equal(transport_check(&from, &to, IPPROTO_UDP, packet + 20, 13), 0);
    assert_memory_equal(packet + 28, "hello", 5);
}

static void an_ipv6_datagram_is_what_its_receiver_expects(void **state)
{
    struct endpoint from = endpoint("fd53:6272:1::3", 443), to = endpoint("fd53:6272::1", 50001);
    uint8_t room[PACKET_HEADROOM + 3], *packet;
    size_t len;

    (void)state;
    memcpy(room + PACKET_HEADROOM, "abc", 3);
    packet = packet_wrap(room + PACKET_HEADROOM, 3, &from, &to, &len);
    assert_ptr_equal(packet, room);
    assert_int_equal(len, 51);
    assert_int_equal(packet[0], 0x60);
    assert_int_equal(packet[4] << 8 | packet[5], 11);
    assert_int_equal(packet[6], IPPROTO_UDP);
    assert_memory_equal(packet + 8, from.address.bytes, 16);
    assert_memory_equal(packet + 24, to.address.bytes, 16);
    assert_int_equal(transport_check(&from, &to, IPPROTO_UDP, packet + 40, 11), 0);
}

/* 0 in its place would say that there is none. */
static void a_checksum_of_zero_is_written_as_all_ones(void **state)
{
    struct endpoint from = endpoint("198.18.4.7", 7), to = endpoint("198.18.0.1", 40000);
    uint8_t room[PACKET_HEADROOM + 2] = { 0 }, *payload = room + PACKET_HEADROOM, *packet;
    size_t len;

    (void)state;
    packet = packet_wrap(payload, 2, &from, &to, &len);
    memcpy(payload, packet + 26, 2); /* what the rest lacks to make a whole */
    packet = packet_wrap(payload, 2, &from, &to, &len);
    assert_int_equal(packet[26] << 8 | packet[27], 0xffff);
}

static void what_no_packet_can_hold_is_refused(void **state)
{
    static uint8_t room[PACKET_HEADROOM + PACKET_MAX_PAYLOAD];
    struct endpoint v4 = endpoint("198.18.0.1", 1), v6 = endpoint("fd53:6272::1", 1);
    size_t len;

    (void)state;
    assert_non_null(packet_wrap(room + PACKET_HEADROOM, 65507, &v4, &v4, &len));
    assert_int_equal(len, 65535);
    assert_null(packet_wrap(room + PACKET_HEADROOM, 65508, &v4, &v4, &len));
    assert_non_null(packet_wrap(room + PACKET_HEADROOM, 65527, &v6, &v6, &len));
    assert_null(packet_wrap(room + PACKET_HEADROOM, 65528, &v6, &v6, &len));
}

static void a_refusal_in_ipv4_quotes_the_datagram(void **state)
{
    struct endpoint from = endpoint("198.18.0.1", 40000), asked = endpoint("192.0.2.1", 53);
    uint8_t packet[PACKET_UNREACHABLE_SIZE];
    size_t len = packet_unreachable(packet, &from, &asked, "question", 8);

    (void)state;
    assert_int_equal(len, 20 + 8 + 20 + 8 + 8);
    assert_memory_equal(packet + 12, asked.address.bytes + 12, 4);
    assert_memory_equal(packet + 16, from.address.bytes + 12, 4);
    assert_int_equal(packet[9], IPPROTO_ICMP);
    assert_int_equal(packet[20], 3); /* unreachable */
    assert_int_equal(packet[21], 3); /* port        */
    assert_int_equal(packet_checksum(packet_sum(0, packet + 20, len - 20)), 0);
    assert_int_equal(packet_checksum(packet_sum(0, packet + 28, 20)), 0);
    assert_memory_equal(packet + 28 + 12, from.address.bytes + 12, 4);
    assert_memory_equal(packet + 28 + 16, asked.address.bytes + 12, 4);
    assert_int_equal(transport_check(&from, &asked, IPPROTO_UDP, packet + 48, 16), 0);
}

static void a_refusal_in_ipv6_quotes_the_datagram(void **state)
{
    struct endpoint from = endpoint("fd53:6272::1", 40000), asked = endpoint("2001:db8::9", 123);
    uint8_t packet[PACKET_UNREACHABLE_SIZE];
    size_t len = packet_unreachable(packet, &from, &asked, "", 0);

    (void)state;
    assert_int_equal(len, 40 + 8 + 40 + 8);
    assert_int_equal(packet[6], IPPROTO_ICMPV6);
    assert_memory_equal(packet + 8, asked.address.bytes, 16);
    assert_memory_equal(packet + 24, from.address.bytes, 16);
    assert_int_equal(packet[40], 1); /* unreachable */
    assert_int_equal(packet[41], 4); /* port        */
    assert_int_equal(transport_check(&asked, &from, IPPROTO_ICMPV6, packet + 40, len - 40), 0);
    assert_memory_equal(packet + 48 + 8, from.address.bytes, 16);
    assert_memory_equal(packet + 48 + 24, asked.address.bytes, 16);
}

static void a_long_datagram_is_quoted_in_part(void **state)
{
    static const uint8_t data[60000];
    struct endpoint from = endpoint("fd53:6272::1", 40000), asked = endpoint("2001:db8::9", 123);
    uint8_t packet[PACKET_UNREACHABLE_SIZE];

    (void)state;
    assert_int_equal(packet_unreachable(packet, &from, &asked, data, sizeof(data)), sizeof(packet));
    assert_int_equal(packet[48 + 4] << 8 | packet[48 + 5], 8 + sizeof(data)); /* as it was */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_sum_is_that_of_rfc_1071),
        cmocka_unit_test(a_sum_of_any_length_is_the_plain_one),
        cmocka_unit_test(a_sum_goes_on_where_another_ended),
        cmocka_unit_test(an_ipv4_datagram_is_what_its_receiver_expects),
        cmocka_unit_test(an_ipv6_datagram_is_what_its_receiver_expects),
        cmocka_unit_test(a_checksum_of_zero_is_written_as_all_ones),
        cmocka_unit_test(what_no_packet_can_hold_is_refused),
        cmocka_unit_test(a_refusal_in_ipv4_quotes_the_datagram),
        cmocka_unit_test(a_refusal_in_ipv6_quotes_the_datagram),
        cmocka_unit_test(a_long_datagram_is_quoted_in_part),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
