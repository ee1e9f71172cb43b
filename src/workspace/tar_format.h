/* The header of ustar, which every other format builds on. */
#ifndef WORKSPACE_TAR_FORMAT_H
#define WORKSPACE_TAR_FORMAT_H

#include <stdint.h>

#define TAR_BLOCK 512

struct tar_header {
    char name[100];
    char mode[8];
    char uid[8];
    char gid[8];
    char size[12];
    char mtime[12];
    char sum[8];
    char type;
    char link[100];
    char magic[6]; /* "ustar" and NUL; GNU: "ustar " */
    char version[2];
    char user[32];
    char group[32];
    char major[8];
    char minor[8];
    char prefix[155]; /* GNU has other things here */
    char unused[12];
};

_Static_assert(sizeof(struct tar_header) == TAR_BLOCK, "a header is one block");

/* The sum of all bytes, as if the field of the sum were spaces. */
static inline unsigned int tar_sum(const struct tar_header *header)
{
    const unsigned char *bytes = (const unsigned char *)header;
    unsigned int sum = 8 * ' ';

    for (unsigned int i = 0; i < TAR_BLOCK; i++)
        sum += bytes[i];
    for (unsigned int i = 0; i < sizeof(header->sum); i++)
        sum -= (unsigned char)header->sum[i];
    return sum;
}

#endif
