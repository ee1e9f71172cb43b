/* Internet addresses.  One form for both families, so that no check can be passed by writing an
 * address in another way: IPv4 is kept as ::ffff:a.b.c.d. */
#ifndef MODEL_ADDRESS_H
#define MODEL_ADDRESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

struct address {
    uint8_t bytes[16];
};

/* What an address leads to.  All but the first are closed unless a rule names the address. */
enum address_class {
    ADDRESS_PUBLIC,
    ADDRESS_LOOPBACK,   /* 127/8, ::1, and 0/8 and ::, which reach the same                   */
    ADDRESS_LINK_LOCAL, /* 169.254/16 and 168.63.129.16 (metadata of clouds), fe80::/10       */
    ADDRESS_PRIVATE,    /* RFC 1918, 100.64/10, fc00::/7 (metadata again), fec0::/10,
                           64:ff9b:1::/48                                                     */
    ADDRESS_MULTICAST,  /* and broadcast                                                      */
    ADDRESS_RESERVED,   /* documentation, benchmarks, 240/4, discard, ORCHID, Teredo ...      */
    N_ADDRESS_CLASSES
};

#define ADDRESS_TEXT_SIZE 46

/* The strict forms only: four decimal numbers without leading zeros, or RFC 4291. */
bool address_parse(const char *text, struct address *ret);
/* As people write it: dotted for IPv4. */
const char *address_format(const struct address *a, char buf[ADDRESS_TEXT_SIZE]);
bool address_is_v4(const struct address *a);
bool address_equal(const struct address *a, const struct address *b);
/* The first `prefix` bits (of 128) are the same. */
bool address_in(const struct address *a, const struct address *network, unsigned int prefix);
/* The first address of the network that `a` is in. */
struct address address_network(const struct address *a, unsigned int prefix);
/* Looks through what wraps an IPv4 address: mapped, compatible, NAT64 (64:ff9b::/96 and
 * 64:ff9b:1::/48), 6to4.  Public is only what is public outside and within. */
enum address_class address_class(const struct address *a);
/* The same without looking through. */
enum address_class address_outer_class(const struct address *a);
/* The class that all of a range has (broadcast and multicast apart, which are closed anyway);
 * ADDRESS_PUBLIC when they differ.  Does not look through. */
enum address_class address_range_class(const struct address *network, unsigned int prefix);

enum address_wrap {
    ADDRESS_PLAIN,      /* nothing is wrapped (a mapped address is an IPv4 address here)       */
    ADDRESS_TRANSLATED, /* the address within is the very host that is reached: NAT64          */
    ADDRESS_TUNNELLED   /* it is on the way: 6to4, compatible, a site's own NAT64              */
};
/* *ret is the IPv4 address within, unless there is none. */
enum address_wrap address_inner(const struct address *a, struct address *ret);

const char *address_class_name(enum address_class c); /* "loopback", "link-local", ... */

/* False when the family is neither of the internet's. */
bool address_from_socket(const struct sockaddr *sa, struct address *ret, uint16_t *ret_port);
/* The family is IPv4's for a mapped address.  Returns the length. */
socklen_t address_to_socket(const struct address *a, uint16_t port, struct sockaddr_storage *ret);

#endif
