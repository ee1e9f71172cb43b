/* A reply in the making: headers, and bytes, a file or a stream. */
#ifndef HTTP_RESPONSE_H
#define HTTP_RESPONSE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/buf.h"
#include "http/response_text.h"

#define RESPONSE_END (-1)    /* of a stream                        */
#define RESPONSE_BROKEN (-2) /* the client must learn that it is not whole */

struct visitor_user;

/* The next bytes of a stream: how many, 0: none now (exchange_resume goes on), or one of the two.
 */
typedef ssize_t response_read(void *context, char *to, size_t max);

struct response {
    struct buf fields;                  /* room for a struct front_head, then the headers */
    const struct visitor_user *upgrade; /* NULL: none; otherwise what the connection is for */
    uint64_t len;                       /* of the body; FRONT_LENGTH_UNKNOWN: a stream */
    uint64_t sent;
    char *bytes;                  /* the body, or one of the next three */
    struct response_text **texts; /* one behind the other; NULL: none */
    size_t n_texts, at_text;
    struct response_place place; /* in the text that is sent now */
    int fd;                      /* -1: none */
    response_read *read;
    void *context;
    void (*done)(void *context); /* the reply is sent, or its client is gone; NULL: nothing to do */
};

/* `bytes` is freed.  All five: NULL without memory. */
struct response *response_of_bytes(char *bytes, size_t len);
/* Texts one behind the other, which get one user more each. */
struct response *response_of_texts(struct response_text *const *texts, size_t n);
struct response *response_of_file(int fd, uint64_t len);
struct response *response_of_stream(response_read *read, void *context,
                                    void (*done)(void *context));
struct response *response_of_upgrade(const struct visitor_user *user, void *context);
void response_free(struct response *r);

/* Only the headers are sent. */
void response_drop_body(struct response *r);
void response_add_header(struct response *r, const char *name, const char *value);
bool response_has_header(const struct response *r, const char *name);
/* Writes the whole reply to the client's connection at once; false: nothing was written, because it
 * is too large, has no end that is known, ends the connection, or does not fit now.  Of one that
 * fits in part, the bytes that are to follow are added to `rest`, which is empty and has room for
 * a frame. */
bool response_send(const struct response *r, unsigned int status, int fd, struct buf *rest);
/* The next bytes of the body, as response_read. */
ssize_t response_take(struct response *r, char *to, size_t max);

#endif
