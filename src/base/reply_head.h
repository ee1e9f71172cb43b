/* The head of a reply of HTTP/1.1, as text: the gateway and its fronts write the same. */
#ifndef BASE_REPLY_HEAD_H
#define BASE_REPLY_HEAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

#define REPLY_HEAD_CHUNKS UINT64_MAX /* for a length: the body comes in chunks */

struct reply_head {
    unsigned int status;
    const char *fields; /* of base/fields.h */
    size_t fields_len;
    uint64_t length; /* of the body */
    bool closes;     /* the connection ends after this reply; also when a field says so */
};

/* The one place that knows which replies have a body: none of 1xx, 204 and 304, whatever was to be
 * sent with it.  A client would take such a body for the next reply. */
bool reply_head_has_body(unsigned int status);
/* True for a final status that the gateway sends. */
bool reply_head_knows(unsigned int status);
/* A value that stays in its line. */
bool reply_head_is_value(const char *text);
/* False: the fields do not read well, or memory ran out. */
bool reply_head_add(const struct reply_head *head, struct buf *to);
/* True when a field says that the connection ends. */
bool reply_head_closes(const char *fields, size_t len);

#endif
