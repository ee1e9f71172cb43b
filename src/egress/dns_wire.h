/* DNS messages as bytes (RFC 1035): one question in, one answer out.  Pure.  Input is hostile, so
 * nothing of it is used that was not checked here, and nothing is sent that was not built here. */
#ifndef EGRESS_DNS_WIRE_H
#define EGRESS_DNS_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "egress/dns.h"
#include "model/address.h"

enum dns_rcode {
    DNS_NOERROR,
    DNS_FORMERR,
    DNS_SERVFAIL,
    DNS_NXDOMAIN,
    DNS_NOTIMP,
    DNS_REFUSED,
};
#define DNS_NO_QUERY (-1) /* nothing that can be answered */

enum dns_type {
    DNS_A = 1,
    DNS_PTR = 12,
    DNS_AAAA = 28,
    DNS_OPT = 41,
    DNS_SVCB = 64,
    DNS_HTTPS = 65,
    DNS_TKEY = 249, /* from here to ANY: actions, not records */
    DNS_ANY = 255,
};
#define DNS_IN 1

#define DNS_HEADER 12
#define DNS_MAX_NAME 255                    /* bytes on the wire, with lengths and root */
#define DNS_MAX_QUESTION (DNS_MAX_NAME + 4) /* and its type and class                   */
#define DNS_MAX_OWN_ANSWER (DNS_HEADER + DNS_MAX_QUESTION + 28)
#define DNS_MAX_FORWARD (DNS_HEADER + DNS_MAX_QUESTION + 11)
#define DNS_SHOWN_SIZE 256
#define DNS_TTL 30 /* seconds that our answers are valid */

struct dns_question {
    uint16_t id;
    bool recursion, unchecked; /* RD and CD, which answers repeat            */
    bool edns, dnssec;         /* the asker understands long answers, DNSSEC */
    uint16_t edns_size;
    uint8_t bytes[DNS_MAX_QUESTION]; /* as received; answers repeat them */
    size_t len;                      /* 0: it could not be read          */
    uint16_t type, class;
    bool canonical;
    char name[HOSTNAME_SIZE]; /* when canonical */
};

/* DNS_NO_QUERY, or DNS_NOERROR with a whole question, or the code to answer with.  The id is always
 * set, the question's bytes when they could be read. */
int dns_wire_read(const uint8_t *message, size_t len, struct dns_question *ret);
/* Builds an answer of our own; `address`: its one record, NULL for none.  Returns its length. */
size_t dns_wire_answer(const struct dns_question *q, enum dns_rcode rcode,
                       const struct address *address, uint8_t ret[DNS_MAX_OWN_ANSWER]);
/* Builds the question anew for the host's resolver, from nothing but its name, type and class. */
size_t dns_wire_forward(const struct dns_question *q, uint16_t id, uint8_t ret[DNS_MAX_FORWARD]);
/* Turns an answer to dns_wire_forward into one for the first asker, in place.  False: it
 * answers another question. */
bool dns_wire_accept(const struct dns_question *q, uint16_t id, uint8_t *message, size_t len);
/* True when it is the same question, asked again. */
bool dns_wire_same(const struct dns_question *a, const struct dns_question *b);
/* The name in printable form, whatever bytes it has; cut where it is too long. */
void dns_wire_show(const struct dns_question *q, char ret[DNS_SHOWN_SIZE]);
/* The address that a name below in-addr.arpa or ip6.arpa asks about. */
bool dns_wire_reverse(const char *name, struct address *ret);

#endif
