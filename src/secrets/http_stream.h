/* One direction of an HTTP/1.1 connection: heads go through a callback, bodies through a mask.
 * Nothing waits for the end of a body; at most a head, a line, or what may be the beginning of a
 * text of the mask is held back.  Pure. */
#ifndef SECRETS_HTTP_STREAM_H
#define SECRETS_HTTP_STREAM_H

#include "base/buf.h"
#include "secrets/http_head.h"
#include "secrets/mask.h"

enum http_state {
    HTTP_IN_HEAD,
    HTTP_IN_BODY, /* `left` bytes of it, or until the end of the stream */
    HTTP_IN_CHUNK_SIZE,
    HTTP_IN_CHUNK,
    HTTP_IN_CHUNK_END,
    HTTP_IN_TRAILER,
    HTTP_IN_OTHER, /* another protocol: WebSocket */
};

/* What a head is followed by. */
struct http_next {
    enum http_body body;
    uint64_t length;
    bool other; /* another protocol from here on */
};

struct http_stream {
    enum http_state state;
    uint64_t left;
    struct buf line; /* a head, a trailer or the line of a chunk, until it is whole */
    struct buf held; /* of a body: what may be the beginning of a text */
    size_t given;    /* of `held`: passed on already */
    bool chunked;
    const struct mask *mask; /* of bodies and trailers; NULL: they stay */
    bool only_watches;       /* the mask replaces nothing, so nothing need be held back */
    mask_seen *seen;
    /* Writes the head as it is passed on.  False: the connection cannot go on. */
    bool (*head)(void *context, char *data, size_t len, struct http_next *next, struct buf *out);
    void *context;
};

void http_stream_init(struct http_stream *stream);
/* False: what came cannot be passed on, and the connection is over. */
bool http_stream_feed(struct http_stream *stream, const char *data, size_t len, struct buf *out);
/* How many bytes wait for those that follow; passes them on all the same. */
size_t http_stream_held(const struct http_stream *stream);
void http_stream_release(struct http_stream *stream, struct buf *out);
/* The stream has ended.  False: in the middle of a message. */
bool http_stream_end(struct http_stream *stream, struct buf *out);
void http_stream_done(struct http_stream *stream);

#endif
