#include "egress/egress_internal.h"

#include <netinet/in.h>
#include <string.h>

#define HEADER4 20
#define HEADER6 40
#define HEADER_UDP 8
#define HEADER_ICMP 8
#define HOPS 64

static void put16(uint8_t *at, size_t value)
{
    at[0] = (uint8_t)(value >> 8);
    at[1] = (uint8_t)value;
}

static uint16_t fold(uint64_t sum)
{
    while (sum >> 16)
        sum = (sum & 0xffff) + (sum >> 16);
    return (uint16_t)sum;
}

/* Four bytes at a time: the sum of a large datagram should cost less than its copy.  In this
 * machine's byte order, which RFC 1071 shows to be equivalent once all carries are added and the
 * two bytes are swapped. */
uint32_t packet_sum(uint32_t sum, const void *data, size_t len)
{
    const uint8_t *p = data;
    uint64_t total = htons(fold(sum));
    uint32_t word = 0;

    for (; len >= sizeof(word); p += sizeof(word), len -= sizeof(word)) {
        memcpy(&word, p, sizeof(word));
        total += word;
    }
    word = 0;
    memcpy(&word, p, len);
    return ntohs(fold(total + word));
}

uint16_t packet_checksum(uint32_t sum)
{
    return (uint16_t)~fold(sum);
}

static const uint8_t *raw_address(const struct address *a, size_t *ret_len)
{
    bool v4 = address_is_v4(a);

    *ret_len = v4 ? 4 : 16;
    return a->bytes + (v4 ? 12 : 0);
}

/* What UDP and ICMPv6 sum up besides their own bytes. */
static uint32_t pseudo_sum(const struct address *from, const struct address *to, uint8_t protocol,
                           size_t len)
{
    size_t size;
    const uint8_t *raw = raw_address(from, &size);
    uint32_t sum =
        packet_sum(protocol + (uint32_t)(len >> 16) + (uint32_t)(len & 0xffff), raw, size);

    raw = raw_address(to, &size);
    return packet_sum(sum, raw, size);
}

/* Writes the header in front of `len` bytes. */
static void put_ip(uint8_t *at, const struct address *from, const struct address *to,
                   uint8_t protocol, size_t len)
{
    size_t size;
    const uint8_t *source = raw_address(from, &size);
    const uint8_t *target = raw_address(to, &size);

    if (size == 4) {
        memset(at, 0, HEADER4);
        at[0] = 0x45;
        put16(at + 2, HEADER4 + len);
        at[8] = HOPS;
        at[9] = protocol;
        memcpy(at + 12, source, size);
        memcpy(at + 16, target, size);
        put16(at + 10, packet_checksum(packet_sum(0, at, HEADER4)));
        return;
    }
    memset(at, 0, HEADER6);
    at[0] = 0x60;
    put16(at + 4, len);
    at[6] = protocol;
    at[7] = HOPS;
    memcpy(at + 8, source, size);
    memcpy(at + 24, target, size);
}

/* The sum covers `len` bytes at `payload`.  It is never 0, which would mean "none". */
static void put_udp(uint8_t *at, const struct endpoint *from, const struct endpoint *to,
                    const void *payload, size_t len)
{
    uint32_t sum = pseudo_sum(&from->address, &to->address, IPPROTO_UDP, HEADER_UDP + len);
    uint16_t checksum;

    put16(at, from->port);
    put16(at + 2, to->port);
    put16(at + 4, HEADER_UDP + len);
    put16(at + 6, 0);
    checksum = packet_checksum(packet_sum(packet_sum(sum, at, HEADER_UDP), payload, len));
    put16(at + 6, checksum ? checksum : 0xffff);
}

uint8_t *packet_wrap(uint8_t *payload, size_t len, const struct endpoint *from,
                     const struct endpoint *to, size_t *ret_len)
{
    size_t header = address_is_v4(&to->address) ? HEADER4 : HEADER6;
    uint8_t *start = payload - HEADER_UDP - header;

    if (HEADER_UDP + len + (header == HEADER4 ? HEADER4 : 0) > UINT16_MAX)
        return NULL;
    put_udp(payload - HEADER_UDP, from, to, payload, len);
    put_ip(start, &from->address, &to->address, IPPROTO_UDP, HEADER_UDP + len);
    *ret_len = header + HEADER_UDP + len;
    return start;
}

size_t packet_unreachable(uint8_t ret[PACKET_UNREACHABLE_SIZE], const struct endpoint *from,
                          const struct endpoint *asked, const void *payload, size_t len)
{
    bool v4 = address_is_v4(&from->address);
    size_t header = v4 ? HEADER4 : HEADER6;
    size_t quoted = len < PACKET_QUOTED ? len : PACKET_QUOTED;
    uint8_t *icmp = ret + header, *quote = icmp + HEADER_ICMP;
    size_t body = HEADER_ICMP + header + HEADER_UDP + quoted;

    memset(icmp, 0, HEADER_ICMP);
    icmp[0] = v4 ? 3 : 1; /* destination unreachable: */
    icmp[1] = v4 ? 3 : 4; /* the port                 */
    put_ip(quote, &from->address, &asked->address, IPPROTO_UDP, HEADER_UDP + len);
    put_udp(quote + header, from, asked, payload, len);
    memcpy(quote + header + HEADER_UDP, payload, quoted);
    put16(icmp + 2,
          packet_checksum(
              packet_sum(v4 ? 0 : pseudo_sum(&asked->address, &from->address, IPPROTO_ICMPV6, body),
                         icmp, body)));
    put_ip(ret, &asked->address, &from->address, v4 ? IPPROTO_ICMP : IPPROTO_ICMPV6, body);
    return header + body;
}
