#include "model/address.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <string.h>

#include "base/err.h"

#define V4_PREFIX 96

static const uint8_t mapped[V4_PREFIX / 8] = { [10] = 0xff, [11] = 0xff };

/* Ranges of one family.  The first that holds an address gives its class; the last holds all. */
struct range {
    struct address network;
    uint8_t prefix; /* of 128 bits */
    uint8_t class;
};

#define V4(a, b, c, d, n, class)                                                                   \
    {                                                                                              \
        { { [10] = 0xff, 0xff, a, b, c, d } }, V4_PREFIX + (n), class                              \
    }
#define HALF(x) (x) >> 8, (x)&0xff
#define V6(a, b, c, d, n, class)                                                                   \
    {                                                                                              \
        { { HALF(a), HALF(b), HALF(c), HALF(d) } }, n, class                                       \
    }

/* clang-format off */
static const struct range ranges4[] = {
    V4(  0,   0,   0,   0,  8, ADDRESS_LOOPBACK),   /* connect() treats it as 127.0.0.1 */
    V4( 10,   0,   0,   0,  8, ADDRESS_PRIVATE),
    V4(100,  64,   0,   0, 10, ADDRESS_PRIVATE),    /* carrier NAT; metadata service of a cloud */
    V4(127,   0,   0,   0,  8, ADDRESS_LOOPBACK),
    V4(168,  63, 129,  16, 32, ADDRESS_LINK_LOCAL), /* looks public; the host itself on Azure */
    V4(169, 254,   0,   0, 16, ADDRESS_LINK_LOCAL),
    V4(172,  16,   0,   0, 12, ADDRESS_PRIVATE),
    V4(192,   0,   0,   0, 24, ADDRESS_RESERVED),   /* protocols; metadata service of a cloud */
    V4(192,   0,   2,   0, 24, ADDRESS_RESERVED),   /* documentation */
    V4(192,  88,  99,   0, 24, ADDRESS_RESERVED),   /* 6to4 relays */
    V4(192, 168,   0,   0, 16, ADDRESS_PRIVATE),
    V4(198,  18,   0,   0, 15, ADDRESS_RESERVED),   /* benchmarks */
    V4(198,  51, 100,   0, 24, ADDRESS_RESERVED),   /* documentation */
    V4(203,   0, 113,   0, 24, ADDRESS_RESERVED),   /* documentation */
    V4(224,   0,   0,   0,  4, ADDRESS_MULTICAST),
    V4(255, 255, 255, 255, 32, ADDRESS_MULTICAST),  /* broadcast */
    V4(240,   0,   0,   0,  4, ADDRESS_RESERVED),
    V4(  0,   0,   0,   0,  0, ADDRESS_PUBLIC),
};

static const struct range ranges6[] = {
    { { { [15] = 1 } }, 128, ADDRESS_LOOPBACK },
    { { { 0 } }, 128, ADDRESS_LOOPBACK },
    V6(0x0064, 0xff9b, 0x0001, 0, 48, ADDRESS_PRIVATE),  /* NAT64 of a site */
    V6(0x0064, 0xff9b, 0,      0, 96, ADDRESS_PUBLIC),   /* NAT64 */
    V6(0x2001, 0x0db8, 0,      0, 32, ADDRESS_RESERVED), /* documentation */
    V6(0x2001, 0,      0,      0, 23, ADDRESS_RESERVED), /* protocols: Teredo, ORCHID, benchmarks */
    V6(0x3fff, 0,      0,      0, 20, ADDRESS_RESERVED), /* documentation */
    V6(0x2000, 0,      0,      0,  3, ADDRESS_PUBLIC),   /* all that is allocated so far */
    V6(0xfc00, 0,      0,      0,  7, ADDRESS_PRIVATE),
    V6(0xfe80, 0,      0,      0, 10, ADDRESS_LINK_LOCAL),
    V6(0xfec0, 0,      0,      0, 10, ADDRESS_PRIVATE),
    V6(0xff00, 0,      0,      0,  8, ADDRESS_MULTICAST),
    V6(0,      0,      0,      0,  0, ADDRESS_RESERVED), /* not allocated yet */
};

/* IPv6 ranges that carry IPv4 addresses. */
static const struct {
    struct address network;
    uint8_t prefix;
    uint8_t offset; /* bytes before the IPv4 address */
    enum address_wrap wrap;
} wrappers[] = {
    { { { 0x00, 0x64, 0xff, 0x9b } },             96, 12, ADDRESS_TRANSLATED },
    { { { 0x00, 0x64, 0xff, 0x9b, 0x00, 0x01 } }, 48, 12, ADDRESS_TUNNELLED },
    { { { 0x20, 0x02 } },                         16,  2, ADDRESS_TUNNELLED },
    { { { 0 } },                                  96, 12, ADDRESS_TUNNELLED },
};

static const char *const class_names[N_ADDRESS_CLASSES] = {
    [ADDRESS_PUBLIC] = "public",
    [ADDRESS_LOOPBACK] = "loopback",
    [ADDRESS_LINK_LOCAL] = "link-local",
    [ADDRESS_PRIVATE] = "private",
    [ADDRESS_MULTICAST] = "multicast",
    [ADDRESS_RESERVED] = "reserved",
};
/* clang-format on */

static struct address from_v4(const void *bytes)
{
    struct address a;

    memcpy(a.bytes, mapped, sizeof(mapped));
    memcpy(a.bytes + sizeof(mapped), bytes, 4);
    return a;
}

bool address_parse(const char *text, struct address *ret)
{
    struct in_addr v4;
    struct address a;

    if (inet_pton(AF_INET, text, &v4) == 1)
        *ret = from_v4(&v4);
    else if (inet_pton(AF_INET6, text, a.bytes) == 1)
        *ret = a;
    else
        return false;
    return true;
}

const char *address_format(const struct address *a, char buf[ADDRESS_TEXT_SIZE])
{
    bool v4 = address_is_v4(a);
    const void *bytes = v4 ? a->bytes + sizeof(mapped) : a->bytes;

    return inet_ntop(v4 ? AF_INET : AF_INET6, bytes, buf, ADDRESS_TEXT_SIZE);
}

bool address_is_v4(const struct address *a)
{
    return !memcmp(a->bytes, mapped, sizeof(mapped));
}

bool address_equal(const struct address *a, const struct address *b)
{
    return !memcmp(a->bytes, b->bytes, sizeof(a->bytes));
}

bool address_in(const struct address *a, const struct address *network, unsigned int prefix)
{
    unsigned int whole = prefix / 8, rest = prefix % 8;

    if (memcmp(a->bytes, network->bytes, whole) != 0)
        return false;
    return !rest || ((a->bytes[whole] ^ network->bytes[whole]) >> (8 - rest)) == 0;
}

struct address address_network(const struct address *a, unsigned int prefix)
{
    unsigned int whole = prefix / 8, rest = prefix % 8;
    struct address network = { { 0 } };

    memcpy(network.bytes, a->bytes, whole);
    if (rest)
        network.bytes[whole] = (uint8_t)(a->bytes[whole] & (0xff << (8 - rest)));
    return network;
}

static const struct range *ranges_of(const struct address *a, size_t *ret_n)
{
    bool v4 = address_is_v4(a);

    *ret_n = v4 ? ARRAY_LEN(ranges4) : ARRAY_LEN(ranges6);
    return v4 ? ranges4 : ranges6;
}

enum address_class address_outer_class(const struct address *a)
{
    size_t n, i = 0;
    const struct range *ranges = ranges_of(a, &n);

    while (i + 1 < n && !address_in(a, &ranges[i].network, ranges[i].prefix))
        i++;
    return (enum address_class)ranges[i].class;
}

enum address_class address_range_class(const struct address *network, unsigned int prefix)
{
    enum address_class within = ADDRESS_PUBLIC;
    bool some = false;
    size_t n;
    const struct range *ranges = ranges_of(network, &n);

    for (size_t i = 0; i < n; i++) {
        const struct range *r = &ranges[i];
        enum address_class class = (enum address_class)r->class;

        if (r->prefix <= prefix) {
            if (address_in(network, &r->network, r->prefix))
                return some && within != class ? ADDRESS_PUBLIC : class;
        } else if (class != ADDRESS_MULTICAST && address_in(&r->network, network, prefix)) {
            if (some && within != class)
                return ADDRESS_PUBLIC;
            within = class;
            some = true;
        }
    }
    return ADDRESS_PUBLIC; /* not reached: the last range holds all */
}

enum address_wrap address_inner(const struct address *a, struct address *ret)
{
    /* :: and ::1 have the form of a compatible address, too. */
    if (address_outer_class(a) == ADDRESS_LOOPBACK)
        return ADDRESS_PLAIN;
    for (size_t i = 0; i < ARRAY_LEN(wrappers); i++) {
        if (address_in(a, &wrappers[i].network, wrappers[i].prefix)) {
            *ret = from_v4(a->bytes + wrappers[i].offset);
            return wrappers[i].wrap;
        }
    }
    return ADDRESS_PLAIN;
}

enum address_class address_class(const struct address *a)
{
    struct address inner;

    if (address_inner(a, &inner) != ADDRESS_PLAIN) {
        enum address_class class = address_outer_class(&inner);

        if (class != ADDRESS_PUBLIC)
            return class;
    }
    return address_outer_class(a);
}

const char *address_class_name(enum address_class c)
{
    return class_names[c];
}

bool address_from_socket(const struct sockaddr *sa, struct address *ret, uint16_t *ret_port)
{
    struct sockaddr_in v4;
    struct sockaddr_in6 v6;

    /* Copied because the bytes may come from a message and be unaligned. */
    if (sa->sa_family == AF_INET) {
        memcpy(&v4, sa, sizeof(v4));
        *ret = from_v4(&v4.sin_addr);
        *ret_port = ntohs(v4.sin_port);
        return true;
    }
    if (sa->sa_family == AF_INET6) {
        memcpy(&v6, sa, sizeof(v6));
        memcpy(ret->bytes, &v6.sin6_addr, sizeof(ret->bytes));
        *ret_port = ntohs(v6.sin6_port);
        return true;
    }
    return false;
}

socklen_t address_to_socket(const struct address *a, uint16_t port, struct sockaddr_storage *ret)
{
    struct sockaddr_in v4 = { .sin_family = AF_INET, .sin_port = htons(port) };
    struct sockaddr_in6 v6 = { .sin6_family = AF_INET6, .sin6_port = htons(port) };

    memset(ret, 0, sizeof(*ret));
    if (address_is_v4(a)) {
        memcpy(&v4.sin_addr, a->bytes + sizeof(mapped), sizeof(v4.sin_addr));
        memcpy(ret, &v4, sizeof(v4));
        return sizeof(v4);
    }
    memcpy(&v6.sin6_addr, a->bytes, sizeof(v6.sin6_addr));
    memcpy(ret, &v6, sizeof(v6));
    return sizeof(v6);
}
