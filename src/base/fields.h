/* Fields as a front and the gateway send them (wire/front.h): the kind, one byte; the name and the
 * value, each with a NUL.  The bytes may be anything. */
#ifndef BASE_FIELDS_H
#define BASE_FIELDS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"

struct field {
    char kind;
    const char *name, *value; /* both point into the bytes that were read */
};

int fields_add(struct buf *out, char kind, const char *name, const char *value);
/* Reads the field at *at and moves *at behind it.  False: there is none, and all bytes were read
 * well if *at is `end`. */
bool fields_next(const char **at, const char *end, struct field *ret);

#endif
