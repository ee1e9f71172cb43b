/* Questions that are forwarded to the resolver of the host. */
#ifndef EGRESS_DNS_UPSTREAM_H
#define EGRESS_DNS_UPSTREAM_H

#include "egress/dns.h"
#include "egress/dns_wire.h"
#include "egress/egress_internal.h"

#define DNS_MAX_SERVERS 2

/* The first servers that a resolv.conf names; the host itself when it names
 * none.  Returns how many. */
size_t dns_servers_read(const char *text, struct address ret[DNS_MAX_SERVERS]);

/* Forwards the question.  False: it cannot be sent, or too many wait. */
bool dns_forward(struct dns *dns, const struct dns_asker *asker, const struct dns_question *q);
/* Asks on behalf of queries that wait for this name.  dns.probe_failed is called when the host's
 * resolver has no answer; any other outcome means nothing. */
void dns_probe(struct dns *dns, const struct dns_question *q);
/* Repeats and gives up questions. */
void dns_forwards_tick(struct dns *dns, uint64_t now_us);
void dns_forwards_free(struct dns *dns);

/* DNS over TCP: queries preceded by their length, many on one connection. */

/* True for the address of the resolver that the sandbox is configured with. */
bool dns_stream_is_for(const struct endpoint *asked);
/* Takes over the file descriptor. */
void dns_stream_start(struct egress *egress, int take_fd);
/* Sends the answer to a query of the stream with this number; does nothing when that is gone. */
void dns_stream_answer(struct egress *egress, uint64_t number, const uint8_t *message, size_t len);
void dns_stream_tick(struct egress *egress, uint64_t now_us);

#endif
