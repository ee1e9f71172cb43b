/* DNS over TCP: queries with their length in front, many on one connection. */
#ifndef EGRESS_DNS_STREAM_H
#define EGRESS_DNS_STREAM_H

#include "egress/egress_internal.h"

/* True for the resolver that the program was told of. */
bool dns_stream_is_for(const struct endpoint *asked);
/* Takes the descriptor over. */
void dns_stream_start(struct egress *egress, int take_fd);
/* The answer to a query of the stream with this number; nothing when that has gone. */
void dns_stream_answer(struct egress *egress, uint64_t number, const uint8_t *message, size_t len);
void dns_stream_tick(struct egress *egress, uint64_t now_us);

#endif
