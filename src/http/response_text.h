/* Bytes that replies, events and results have together: freed with the last that drops them.  The
 * loop's alone, but for those that have one user.
 *
 * The text of a result with long streams is in parts: a stream stays as the program wrote it, and
 * becomes JSON in pieces as the text is read, so that a result never takes more memory than its
 * streams. */
#ifndef HTTP_RESPONSE_TEXT_H
#define HTTP_RESPONSE_TEXT_H

#include <stddef.h>

#include "base/jsonw.h"

struct response_part;

struct response_text {
    char *bytes; /* NUL-terminated, if they are a text; NULL: it is in parts */
    size_t len;
    unsigned int users;
    struct response_part *parts;
    size_t n_parts;
    char *skeleton; /* what stands around the streams */
    void *owner;    /* of the streams; freed with the text */
    void (*free_owner)(void *owner);
};

/* How far a text is read. */
struct response_place {
    size_t part, at; /* a byte of that part as it is in memory */
    size_t done;     /* bytes of the text */
};

#define RESPONSE_TEXT_ROOM 8 /* a reader has at least that much */

/* Takes the bytes over, which then have one user; NULL without memory, or for none. */
struct response_text *response_text_of(char *text);
struct response_text *response_text_of_bytes(char *bytes, size_t len);
/* The text with its long strings in the place of their names; takes `skeleton` over, and the owner
 * of the strings unless it returns NULL, without memory. */
struct response_text *response_text_of_apart(char *skeleton, const struct jsonw_apart *apart,
                                             void *owner, void (*free_owner)(void *owner));
/* One user more. */
struct response_text *response_text_share(struct response_text *text);
void response_text_drop(struct response_text *text);
/* The next bytes, at most `max`, which is RESPONSE_TEXT_ROOM or more; 0 at the end. */
size_t response_text_read(const struct response_text *text, struct response_place *place, char *to,
                          size_t max);
/* All of it in one piece: `to` has RESPONSE_TEXT_ROOM more than its length. */
void response_text_copy(const struct response_text *text, char *to);

#endif
