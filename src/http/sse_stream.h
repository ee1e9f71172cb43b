/* A reply that grows: server-sent events that the loop adds one by one. */
#ifndef HTTP_SSE_STREAM_H
#define HTTP_SSE_STREAM_H

#include "http/exchange.h"

struct sse_stream;

/* Replies to `x`, which may wait.  `left` is called once when the client is gone, unless
 * sse_stream_end came first.  NULL without memory: it replied. */
struct sse_stream *sse_stream_open(struct exchange *x, void (*left)(void *context), void *context);
/* One event: JSON without a newline. */
void sse_stream_send(struct sse_stream *s, const char *text, size_t len);
/* Closes behind what was sent.  The stream is not the caller's any more. */
void sse_stream_end(struct sse_stream *s);
/* Comments keep streams open on which nothing happens. */
void sse_stream_tick(struct server *server, uint64_t now_us);
/* Ends all of them: the gateway ends. */
void sse_stream_drop_all(struct server *server);

#endif
