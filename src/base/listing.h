/* The names in a directory, sorted by their bytes: a digest does not depend on the file system, and
 * two listings can be merged. */
#ifndef BASE_LISTING_H
#define BASE_LISTING_H

#include <stddef.h>

struct listing {
    char **names; /* without "." and ".." */
    size_t n;
    char *text; /* what the kernel wrote; the names lie in it, each behind its type */
};

/* DT_REG and the like, as the directory has it; DT_UNKNOWN where it does not. */
static inline unsigned char listing_type(const struct listing *listing, size_t i)
{
    return (unsigned char)listing->names[i][-1];
}

#define LISTING_MAX 10000000

/* Leaves `dir_fd` open, which is no O_PATH descriptor.  0, or -1 with errno; E2BIG for more than
 * LISTING_MAX names.  The caller calls listing_done either way. */
int listing_read(int dir_fd, struct listing *ret);
/* The same for a directory that others fill: E2BIG for more than `most` names. */
int listing_read_most(int dir_fd, size_t most, struct listing *ret);
/* The same in the order of the file system, which is quicker. */
int listing_read_unsorted(int dir_fd, struct listing *ret);
/* The same for a directory below `dir_fd`; a link is not followed. */
int listing_read_at(int dir_fd, const char *name, struct listing *ret);
void listing_done(struct listing *listing);

#define scoped_listing __attribute__((cleanup(listing_done)))

#endif
