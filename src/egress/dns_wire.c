#include "egress/dns_wire.h"

#include <stdio.h>
#include <string.h>

#define MAX_LABEL 63
#define MAX_ADDITIONAL 4 /* OPT and a signature: no real query has more */
#define RECORD_FIXED 10  /* type, class, TTL, length                    */

/* Bits of the header's flags. */
enum {
    FLAG_ANSWER = 0x8000,
    FLAG_OPCODE = 0x7800,
    FLAG_RECURSION = 0x0100,
    FLAG_RECURSION_OFFERED = 0x0080,
    FLAG_UNCHECKED = 0x0010,
    FLAG_RCODE = 0x000f,
};

#define EDNS_DNSSEC 0x80 /* in the third byte of the field that is the TTL elsewhere */

static uint16_t get16(const uint8_t *p)
{
    return (uint16_t)(p[0] << 8 | p[1]);
}

static uint8_t *put16(uint8_t *p, unsigned int value)
{
    p[0] = (uint8_t)(value >> 8);
    p[1] = (uint8_t)value;
    return p + 2;
}

/* Length of the name at the beginning of `bytes`; 0: there is none.  A query has nothing to point
 * back to, so a compressed name is invalid. */
static size_t name_length(const uint8_t *bytes, size_t len)
{
    size_t at = 0;

    while (at < len && at < DNS_MAX_NAME) {
        if (bytes[at] == 0)
            return at + 1;
        if (bytes[at] > MAX_LABEL)
            return 0;
        at += 1 + (size_t)bytes[at];
    }
    return 0;
}

/* Joins the labels.  A dot within a label would look like a separator: such a
 * name is not canonical. */
static bool name_canonical(const uint8_t *name, char ret[HOSTNAME_SIZE])
{
    char text[DNS_MAX_NAME];
    size_t n = 0;

    for (; *name; name += 1 + *name) {
        if (n)
            text[n++] = '.';
        if (memchr(name + 1, '.', *name))
            return false;
        memcpy(text + n, name + 1, *name);
        n += *name;
    }
    return hostname_canonical(text, n, ret);
}

static bool read_question(const uint8_t *bytes, size_t len, struct dns_question *ret)
{
    size_t name = name_length(bytes, len);

    if (name == 0 || len - name < 4)
        return false;
    memcpy(ret->bytes, bytes, name + 4);
    ret->len = name + 4;
    ret->type = get16(bytes + name);
    ret->class = get16(bytes + name + 2);
    ret->canonical = name_canonical(ret->bytes, ret->name);
    return true;
}

/* Length of one record after the question; 0: there is none, or it is a second OPT. */
static size_t read_additional(const uint8_t *bytes, size_t len, struct dns_question *q)
{
    size_t name = name_length(bytes, len), data;

    if (name == 0 || len - name < RECORD_FIXED)
        return 0;
    data = get16(bytes + name + 8);
    if (len - name - RECORD_FIXED < data)
        return 0;
    if (get16(bytes + name) == DNS_OPT) {
        if (q->edns || name != 1)
            return 0;
        q->edns = true;
        q->edns_size = get16(bytes + name + 2);
        q->dnssec = bytes[name + 6] & EDNS_DNSSEC;
    }
    return name + RECORD_FIXED + data;
}

int dns_wire_read(const uint8_t *message, size_t len, struct dns_question *ret)
{
    unsigned int flags, additional;
    size_t at = DNS_HEADER;

    memset(ret, 0, sizeof(*ret));
    if (len < DNS_HEADER)
        return DNS_NO_QUERY;
    ret->id = get16(message);
    flags = get16(message + 2);
    additional = get16(message + 10);
    if (flags & FLAG_ANSWER)
        return DNS_NO_QUERY;
    ret->recursion = flags & FLAG_RECURSION;
    ret->unchecked = flags & FLAG_UNCHECKED;
    if (flags & FLAG_OPCODE)
        return DNS_NOTIMP;
    if (len > DNS_MAX_MESSAGE || get16(message + 4) != 1 || get16(message + 6) != 0 ||
        get16(message + 8) != 0 || additional > MAX_ADDITIONAL ||
        !read_question(message + at, len - at, ret))
        return DNS_FORMERR;
    at += ret->len;
    for (; additional; additional--) {
        size_t record = read_additional(message + at, len - at, ret);

        if (record == 0)
            return DNS_FORMERR;
        at += record;
    }
    return at == len ? DNS_NOERROR : DNS_FORMERR;
}

static uint8_t *put_header(uint8_t *p, unsigned int id, unsigned int flags,
                           const uint16_t counts[static 4])
{
    p = put16(p, id);
    p = put16(p, flags);
    for (int i = 0; i < 4; i++)
        p = put16(p, counts[i]);
    return p;
}

static uint8_t *put_bytes(uint8_t *p, const void *bytes, size_t len)
{
    memcpy(p, bytes, len);
    return p + len;
}

static unsigned int repeated_flags(const struct dns_question *q)
{
    return (q->recursion ? FLAG_RECURSION : 0) | (q->unchecked ? FLAG_UNCHECKED : 0);
}

size_t dns_wire_answer(const struct dns_question *q, enum dns_rcode rcode,
                       const struct address *address, uint8_t ret[DNS_MAX_OWN_ANSWER])
{
    const uint16_t counts[] = { q->len > 0, address != NULL, 0, 0 };
    unsigned int flags = FLAG_ANSWER | FLAG_RECURSION_OFFERED | repeated_flags(q) | rcode;
    uint8_t *p = put_header(ret, q->id, flags, counts);

    p = put_bytes(p, q->bytes, q->len);
    if (address) {
        size_t skipped = address_is_v4(address) ? 12 : 0, len = sizeof(address->bytes) - skipped;

        p = put16(p, 0xc000 | DNS_HEADER); /* the name is the question's */
        p = put16(p, q->type);
        p = put16(p, DNS_IN);
        p = put16(p, 0);
        p = put16(p, DNS_TTL);
        p = put16(p, (unsigned int)len);
        p = put_bytes(p, address->bytes + skipped, len);
    }
    return (size_t)(p - ret);
}

size_t dns_wire_forward(const struct dns_question *q, uint16_t id, uint8_t ret[DNS_MAX_FORWARD])
{
    const uint16_t counts[] = { 1, 0, 0, q->edns };
    uint8_t *p = put_header(ret, id, repeated_flags(q), counts);

    p = put_bytes(p, q->bytes, q->len);
    if (q->edns) {
        *p++ = 0; /* the root's name */
        p = put16(p, DNS_OPT);
        p = put16(p, q->edns_size < DNS_MAX_MESSAGE ? q->edns_size : DNS_MAX_MESSAGE);
        p = put16(p, 0);
        p = put16(p, q->dnssec ? EDNS_DNSSEC << 8 : 0);
        p = put16(p, 0);
    }
    return (size_t)(p - ret);
}

/* Lengths are below 'A', so the whole name can be compared as text, byte by byte. */
static bool same_question(const uint8_t *a, const uint8_t *b, size_t len)
{
    for (size_t i = 0; i < len - 4; i++) {
        uint8_t x = a[i] >= 'A' && a[i] <= 'Z' ? a[i] | 0x20 : a[i];
        uint8_t y = b[i] >= 'A' && b[i] <= 'Z' ? b[i] | 0x20 : b[i];

        if (x != y)
            return false;
    }
    return memcmp(a + len - 4, b + len - 4, 4) == 0;
}

bool dns_wire_accept(const struct dns_question *q, uint16_t id, uint8_t *message, size_t len)
{
    unsigned int flags;

    if (len < DNS_HEADER + q->len || len > DNS_MAX_MESSAGE || get16(message) != id)
        return false;
    flags = get16(message + 2);
    if (!(flags & FLAG_ANSWER) || (flags & FLAG_OPCODE) || get16(message + 4) != 1 ||
        !same_question(message + DNS_HEADER, q->bytes, q->len))
        return false;
    put16(message, q->id);
    memcpy(message + DNS_HEADER, q->bytes, q->len); /* the server may have changed the case */
    return true;
}

bool dns_wire_same(const struct dns_question *a, const struct dns_question *b)
{
    return a->id == b->id && a->len == b->len && memcmp(a->bytes, b->bytes, a->len) == 0;
}

void dns_wire_show(const struct dns_question *q, char ret[DNS_SHOWN_SIZE])
{
    size_t n = 0;

    ret[0] = '\0';
    for (const uint8_t *label = q->bytes; q->len && *label; label += 1 + *label) {
        for (size_t i = 1; i <= *label; i++) {
            bool plain = label[i] > ' ' && label[i] < 0x7f && label[i] != '.' && label[i] != '\\';

            if (n + 6 > DNS_SHOWN_SIZE) /* an escape, a dot and the end */
                return;
            n += (size_t)snprintf(ret + n, DNS_SHOWN_SIZE - n, plain ? "%c" : "\\%03u", label[i]);
        }
        if (label[1 + *label])
            n += (size_t)snprintf(ret + n, DNS_SHOWN_SIZE - n, ".");
    }
    if (n == 0)
        snprintf(ret, DNS_SHOWN_SIZE, ".");
}

/* Reads d.c.b.a. */
static bool reverse_v4(const char *name, size_t len, struct address *ret)
{
    char text[sizeof("255.255.255.255")];
    size_t n = 0, end = len;

    if (len >= sizeof(text))
        return false;
    while (end > 0) {
        size_t start = end;

        while (start > 0 && name[start - 1] != '.')
            start--;
        memcpy(text + n, name + start, end - start);
        n += end - start;
        if (start > 0)
            text[n++] = '.';
        end = start > 0 ? start - 1 : 0;
    }
    text[n] = '\0';
    return address_parse(text, ret) && address_is_v4(ret);
}

/* Reads 32 digits, the last of the address first, separated by dots. */
static bool reverse_v6(const char *name, size_t len, struct address *ret)
{
    static const char digits[] = "0123456789abcdef";
    struct address a = { { 0 } };

    if (len != 63)
        return false;
    for (size_t i = 0; i < 32; i++) {
        const char *digit = memchr(digits, name[62 - 2 * i], sizeof(digits) - 1);

        if (!digit || (i < 31 && name[61 - 2 * i] != '.'))
            return false;
        a.bytes[i / 2] |= (uint8_t)((digit - digits) << (i % 2 ? 0 : 4));
    }
    *ret = a;
    return true;
}

bool dns_wire_reverse(const char *name, struct address *ret)
{
    static const struct {
        const char *suffix;
        bool (*read)(const char *name, size_t len, struct address *ret);
    } zones[] = { { ".in-addr.arpa", reverse_v4 }, { ".ip6.arpa", reverse_v6 } };
    size_t len = strlen(name);

    for (size_t i = 0; i < ARRAY_LEN(zones); i++) {
        size_t tail = strlen(zones[i].suffix);

        if (len > tail && strcmp(name + len - tail, zones[i].suffix) == 0)
            return zones[i].read(name, len - tail, ret);
    }
    return false;
}
