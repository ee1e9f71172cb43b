#include "egress/names.h"

#include <stdlib.h>
#include <string.h>

#include "wire/egress.h"

/* 198.18.0.0/15 and fd53:6272::/32, which hold all addresses of model/network.h. */
static const struct {
    struct address network;
    unsigned int prefix;
} ranges[] = {
    { { { [10] = 0xff, 0xff, 198, 18 } }, 96 + 15 },
    { { { 0xfd, 0x53, 0x62, 0x72 } }, 32 },
};

_Static_assert(4 * 256 + NAMES_MAX <= 2 * 65536, "all names have an address in 198.18.0.0/15");

void names_done(struct names *names)
{
    for (unsigned int i = 0; i < names->n; i++)
        free(names->entries[i]);
    memset(names, 0, sizeof(*names));
}

struct name_entry *names_find(const struct names *names, const char *name, unsigned int *ret_number)
{
    for (unsigned int i = 0; i < names->n; i++) {
        if (!strcmp(names->entries[i]->name, name)) {
            *ret_number = i;
            return names->entries[i];
        }
    }
    return NULL;
}

struct name_entry *names_take(struct names *names, const char *name, unsigned int *ret_number)
{
    size_t len = strlen(name);
    struct name_entry *entry = names_find(names, name, ret_number);

    if (entry)
        return entry;
    /* An entry is never freed or reused: the program may keep an address as long as it runs. */
    if (names->n >= NAMES_MAX || len >= sizeof(entry->name))
        return NULL;
    entry = calloc(1, sizeof(*entry));
    if (!entry)
        return NULL;
    memcpy(entry->name, name, len + 1);
    *ret_number = names->n;
    names->entries[names->n++] = entry;
    return entry;
}

static uint32_t last_word(const struct address *a)
{
    const uint8_t *b = a->bytes + 12;

    return (uint32_t)b[0] << 24 | (uint32_t)b[1] << 16 | (uint32_t)b[2] << 8 | b[3];
}

static struct address first_name(bool v6)
{
    struct address a = { { 0 } };

    (void)address_parse(v6 ? EGRESS_NAMES6 : EGRESS_NAMES4, &a); /* a constant, and valid */
    return a;
}

struct address names_inside(unsigned int number, bool v6)
{
    struct address a = first_name(v6);
    uint32_t word = last_word(&a) + number;

    for (int i = 15; i >= 12; i--, word >>= 8)
        a.bytes[i] = (uint8_t)word;
    return a;
}

struct name_entry *names_of(const struct names *names, const struct address *inside)
{
    struct address first = first_name(!address_is_v4(inside));
    uint32_t number = last_word(inside) - last_word(&first); /* wraps below the first */

    if (!address_in(inside, &first, 96) || number >= names->n)
        return NULL;
    return names->entries[number];
}

bool names_is_inside(const struct address *a)
{
    return address_in(a, &ranges[0].network, ranges[0].prefix) ||
           address_in(a, &ranges[1].network, ranges[1].prefix);
}
