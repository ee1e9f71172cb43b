/* Whole packets of IPv4 and IPv6, as raw sockets send them.  Pure. */
#ifndef EGRESS_PACKET_H
#define EGRESS_PACKET_H

#include "model/address.h"

struct endpoint {
    struct address address;
    uint16_t port;
};

#define PACKET_HEADROOM 48 /* of IPv6 and UDP */
#define PACKET_MAX_PAYLOAD 65535
#define PACKET_QUOTED 64 /* most bytes of a datagram that an error quotes */
#define PACKET_UNREACHABLE_SIZE (40 + 8 + 48 + PACKET_QUOTED)

/* Adds bytes to a sum of RFC 1071; packet_checksum folds and inverts it. */
uint32_t packet_sum(uint32_t sum, const void *data, size_t len);
uint16_t packet_checksum(uint32_t sum);

/* Writes the headers of a datagram in front of its payload, where PACKET_HEADROOM bytes are free.
 * Both endpoints are of one family.  Returns the first byte of the packet, and its length; NULL
 * when it would be too large. */
uint8_t *packet_wrap(uint8_t *payload, size_t len, const struct endpoint *from,
                     const struct endpoint *to, size_t *ret_len);

/* Builds "port unreachable" about a datagram of `len` bytes, from the host that `from` asked for to
 * `from`.  Returns its length. */
size_t packet_unreachable(uint8_t ret[PACKET_UNREACHABLE_SIZE], const struct endpoint *from,
                          const struct endpoint *asked, const void *payload, size_t len);

#endif
