/* Names that the program looked up, each with an address inside that stands for it. */
#ifndef EGRESS_NAMES_H
#define EGRESS_NAMES_H

#include "model/address.h"

#define NAMES_MAX 4096
#define NAME_MAX_ADDRESSES 16

struct name_entry {
    char name[HOSTNAME_SIZE];                     /* canonical            */
    struct address addresses[NAME_MAX_ADDRESSES]; /* outside, as resolved */
    unsigned int n_addresses;
    uint64_t resolved_us; /* CLOCK_MONOTONIC; 0: not yet */
};

struct names {
    struct name_entry *entries[NAMES_MAX];
    unsigned int n;
};

void names_done(struct names *names);
/* The entry of a name, or NULL. */
struct name_entry *names_find(const struct names *names, const char *name,
                              unsigned int *ret_number);
/* The entry of a name, made when it is new; NULL when the table or memory is full. */
struct name_entry *names_take(struct names *names, const char *name, unsigned int *ret_number);
/* The address inside that stands for a name: v4 or v6. */
struct address names_inside(unsigned int number, bool v6);
/* The entry that an address inside stands for, or NULL. */
struct name_entry *names_of(const struct names *names, const struct address *inside);
/* True for every address of these ranges, used or not: such an address is never dialled. */
bool names_is_inside(const struct address *a);

#endif
