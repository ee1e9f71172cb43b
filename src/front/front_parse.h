/* The head of a request that can be read in one way only.
 *
 * Everything else is odd: libmicrohttpd reads it, as it reads all that comes by TLS.  So what this
 * accepts is a small part of HTTP, and nothing depends on what it does not know. */
#ifndef FRONT_FRONT_PARSE_H
#define FRONT_FRONT_PARSE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"

enum front_parsed {
    FRONT_PARSED_WHOLE, /* head and body are there                                     */
    FRONT_PARSED_MORE,  /* what is there reads well so far                             */
    FRONT_PARSED_ODD,   /* not for this reader                                         */
    FRONT_PARSED_BAD,   /* for none: front_check.c knows a second way to read the head */
};

/* Fields as wire/front.h has them are added to `fields` when the request is whole: its head has
 * `head_len` bytes, its body `body_len`, at most FRONT_SMALL_BODY. */
enum front_parsed front_parse(const char *data, size_t len, struct buf *fields, size_t *head_len,
                              size_t *body_len);

#endif
