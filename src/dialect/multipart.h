/* Bodies of multipart/form-data. */
#ifndef DIALECT_MULTIPART_H
#define DIALECT_MULTIPART_H

#include <stddef.h>

struct multipart_part {
    char name[128];       /* of the field */
    char file_name[1024]; /* empty: none */
    const char *data;
    size_t len;
};

/* Fills at most `max` parts, which point into the body.  How many there are, or -1 when the body or
 * its type is none. */
int multipart_read(const char *type, const char *body, size_t len, struct multipart_part *parts,
                   size_t max);

#endif
