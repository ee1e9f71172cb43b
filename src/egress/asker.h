/* The destination of an answer of the resolver: the content of struct dns_asker. */
#ifndef EGRESS_ASKER_H
#define EGRESS_ASKER_H

#include <string.h>

#include "egress/dns.h"
#include "egress/egress_internal.h"

struct asker {
    uint64_t stream;      /* its number; 0: a datagram */
    struct endpoint from; /* sender of the datagram    */
};

_Static_assert(sizeof(struct asker) <= sizeof(struct dns_asker), "it is kept in there");

/* Askers are compared as bytes, so the padding between the fields counts too. */
static inline struct dns_asker asker_keep(uint64_t stream, const struct endpoint *from)
{
    struct dns_asker kept = { { 0 } };
    struct asker asker;

    memset(&asker, 0, sizeof(asker));
    asker.stream = stream;
    if (from)
        asker.from = *from;
    memcpy(kept.bytes, &asker, sizeof(asker));
    return kept;
}

#endif
