/* Bytes that replies, events and results have together: freed with the last that drops them.  The
 * loop's alone, but for those that have one user. */
#ifndef HTTP_RESPONSE_TEXT_H
#define HTTP_RESPONSE_TEXT_H

#include <stddef.h>

struct response_text {
    char *bytes; /* NUL-terminated, if they are a text */
    size_t len;
    unsigned int users;
};

/* Takes the bytes over, which then have one user; NULL without memory, or for none. */
struct response_text *response_text_of(char *text);
struct response_text *response_text_of_bytes(char *bytes, size_t len);
/* One user more. */
struct response_text *response_text_share(struct response_text *text);
void response_text_drop(struct response_text *text);

#endif
