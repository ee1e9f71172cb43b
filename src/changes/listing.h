/* The names in a directory, in the order of their bytes: two listings can be merged. */
#ifndef CHANGES_LISTING_H
#define CHANGES_LISTING_H

#include <stddef.h>

struct listing {
    char **names;
    size_t n;
    char *text; /* where they lie */
};

/* Leaves `dir_fd` open.  0, or -1 with errno; to be given to listing_done() either way. */
int listing_read(int dir_fd, struct listing *ret);
void listing_done(struct listing *listing);

#endif
