/* Internet addresses in one form for both families: IPv4 is stored as ::ffff:a.b.c.d, so that
 * another spelling of an address cannot pass a check. */
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
    ADDRESS_LOOPBACK,   /* 127/8, ::1; 0/8 and :: reach the same */
    ADDRESS_LINK_LOCAL, /* 169.254/16 and 168.63.129.16 (cloud metadata), fe80::/10 */
    /* RFC 1918, 100.64/10, fc00::/7 (cloud metadata, too), fec0::/10, 64:ff9b:1::/48 */
    ADDRESS_PRIVATE,
    ADDRESS_MULTICAST, /* and broadcast */
    ADDRESS_RESERVED,  /* documentation, benchmarks, 240/4, discard, ORCHID, Teredo ... */
    N_ADDRESS_CLASSES
};

#define ADDRESS_TEXT_SIZE 46

/* Accepts only the strict forms: four decimal numbers without leading zeros, or RFC 4291. */
bool address_parse(const char *text, struct address *ret);
/* Dotted for IPv4. */
const char *address_format(const struct address *a, char buf[ADDRESS_TEXT_SIZE]);
bool address_is_v4(const struct address *a);
bool address_equal(const struct address *a, const struct address *b);
/* True when the first `prefix` bits (of 128) are the same. */
bool address_in(const struct address *a, const struct address *network, unsigned int prefix);
/* The first address of the network that holds `a`. */
struct address address_network(const struct address *a, unsigned int prefix);
/* Looks through every form that wraps an IPv4 address: mapped, compatible, NAT64 (64:ff9b::/96 and
 * 64:ff9b:1::/48), 6to4.  Public only when both the outer and the inner address are public. */
enum address_class address_class(const struct address *a);
/* The class of the outer address alone. */
enum address_class address_outer_class(const struct address *a);
/* The class that all addresses of a range share (broadcast and multicast aside, which are always
 * closed); ADDRESS_PUBLIC when classes differ.  Does not look through wrapped forms. */
enum address_class address_range_class(const struct address *network, unsigned int prefix);

enum address_wrap {
    ADDRESS_PLAIN,      /* nothing is wrapped (a mapped address is an IPv4 address here) */
    ADDRESS_TRANSLATED, /* the inner address is the host that is reached: NAT64 */
    ADDRESS_TUNNELLED   /* the inner address is a relay: 6to4, compatible, NAT64 of a site */
};
/* Sets *ret to the inner IPv4 address, unless there is none. */
enum address_wrap address_inner(const struct address *a, struct address *ret);

const char *address_class_name(enum address_class c); /* "loopback", "link-local", ... */

/* False for families other than IPv4 and IPv6. */
bool address_from_socket(const struct sockaddr *sa, struct address *ret, uint16_t *ret_port);
/* Uses IPv4's family for a mapped address.  Returns the length. */
socklen_t address_to_socket(const struct address *a, uint16_t port, struct sockaddr_storage *ret);

/* Host names are made canonical once; comparing, resolving and showing them use the same bytes. */
#define HOSTNAME_SIZE 254 /* DNS carries at most 253 characters; one for the NUL */

/* Makes letters lower case and removes one trailing dot.  Labels have 1 to 63 letters, digits, '-'
 * and '_'.  False for everything else: empty, too long, NUL and control characters, not ASCII, and
 * names that a C library would read as an address (the last label is a number, also in
 * hexadecimal). */
bool hostname_canonical(const char *text, size_t len, char ret[HOSTNAME_SIZE]);

#endif
