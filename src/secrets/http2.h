/* HTTP/2, for clients that speak nothing else: a server towards the program and a client towards
 * the host, whose streams are joined.  Pure: bytes in, bytes out.
 *
 *   (1) Values are put in and masked by the rules of HTTP/1.1 (secrets/rewrite.h).
 *   (2) What waits for a slow reader is bounded by the windows that its writer was given, streams
 *       by HTTP2_MAX_STREAMS, heads as those of HTTP/1.1.
 *   (3) Values are not put into the tables that compress heads, and wiped when they are freed. */
#ifndef SECRETS_HTTP2_H
#define SECRETS_HTTP2_H

#include <nghttp2/nghttp2.h>

#include "base/list.h"
#include "secrets/rewrite.h"

#define HTTP2_PREFACE "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
#define HTTP2_MAX_STREAMS 100

enum http2_end { HTTP2_PROGRAM, HTTP2_HOST, N_HTTP2_ENDS };

struct http2;

/* What a session knows of itself. */
struct http2_side {
    struct http2 *http2;
    enum http2_end end;
    nghttp2_session *session;
};

struct http2 {
    struct http2_side sides[N_HTTP2_ENDS];
    struct link streams;
    unsigned int n_streams;
    struct rewrite *rewrite; /* its rules, and whom it tells */
};

/* NULL without memory. */
struct http2 *http2_new(struct rewrite *rewrite);
void http2_free(struct http2 *http2);
/* Bytes that came from that end.  False: they are not HTTP/2, or too much of it. */
bool http2_feed(struct http2 *http2, enum http2_end from, const char *data, size_t len);
/* Adds bytes for that end.  False: the connection is over. */
bool http2_take(struct http2 *http2, enum http2_end to, struct buf *out);
/* True when there are bytes for that end. */
bool http2_has(const struct http2 *http2, enum http2_end to);
/* How many bytes for that end wait for those that follow; passes them on all the same. */
size_t http2_held(const struct http2 *http2, enum http2_end to);
void http2_release(struct http2 *http2, enum http2_end to);

#endif
