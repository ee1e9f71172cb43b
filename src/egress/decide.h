/* Decides what may be reached: only here, and on the bytes that are dialled.  Pure. */
#ifndef EGRESS_DECIDE_H
#define EGRESS_DECIDE_H

#include "model/denial.h"
#include "model/network.h"

struct decision {
    bool allowed;
    const struct host_rule *by; /* the rule that allows it; NULL: the mode does                 */
    char rule[160];             /* refused: why, "network: allow (no rule for example.org:443)" */
    enum denial_source source;  /* refused: what did it                                         */
    char remedy[300];           /* refused: what helps, "--allow-host example.org:443", or ""   */
};

/* Where an address is, by this host's routes; all zero: behind a router.  `link` is for the
 * address and for the one within it: the network that holds it and that this host is connected
 * to without a router. */
struct whereabouts {
    bool own;        /* leads to this host, by itself or by the address within it */
    uint8_t link[2]; /* prefix, of 128 bits; 0: none                              */
};

/* May this (canonical) name be looked up at all? */
struct decision decide_name(const struct network *network, const char *name);

/* May a connection go to this (canonical) name and port by a proxy, which looks it up?  A rule must
 * be for the name. */
struct decision decide_name_at(const struct network *network, const char *name, uint16_t port);

/* May a connection go to this address and port?  `name` is what the program asked for, canonical;
 * NULL: it asked for the address itself.
 *
 *   mode allow  a rule must be for the name, or hold the address, at this port
 *   mode full   nothing else is needed for a public address
 *   either      an address that is not public (model/address.h) needs its own rule at this port:
 *               one whose whole range is of one such kind, as 10.0.0.0/8 or 169.254.169.254 is.
 *               0.0.0.0/0 holds such addresses and does not open them; nor does the rule for a name
 *               that leads to one, except
 *               - `localhost`, which opens loopback at its port (rules for loopback have one);
 *               - a name with `anywhere`, which opens all but link-local, because no registry is at
 *                 a metadata address.
 *               The host's own addresses need a rule for exactly that address, or `anywhere`.
 *               A public address in a network that the host is connected to is a neighbour: it
 *               needs a rule whose whole range is in that network, or `anywhere`.
 *   never       multicast, broadcast, and the addresses inside that stand for names
 *
 * An IPv4 address within an IPv6 one is checked as well: neither may be special unless it is
 * opened.  A rule for it is a rule for the whole only where the address within is the host that is
 * reached (NAT64), not for tunnels. */
struct decision decide_address(const struct network *network, const char *name,
                               const struct address *address, uint16_t port, struct whereabouts at);

#endif
