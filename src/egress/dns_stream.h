/* DNS over TCP: queries preceded by their length, many on one connection. */
#ifndef EGRESS_DNS_STREAM_H
#define EGRESS_DNS_STREAM_H

#include "egress/egress_internal.h"

/* True for the address of the resolver that the sandbox is configured with. */
bool dns_stream_is_for(const struct endpoint *asked);
/* Takes over the file descriptor. */
void dns_stream_start(struct egress *egress, int take_fd);
/* Sends the answer to a query of the stream with this number; does nothing when that is gone. */
void dns_stream_answer(struct egress *egress, uint64_t number, const uint8_t *message, size_t len);
void dns_stream_tick(struct egress *egress, uint64_t now_us);

#endif
