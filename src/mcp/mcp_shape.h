/* Output of programs for a reader with little room: a model's context window.  Pure. */
#ifndef MCP_MCP_SHAPE_H
#define MCP_MCP_SHAPE_H

#include <jansson.h>

#include "base/buf.h"

/* A stream as a result has it. */
struct mcp_stream {
    const char *head, *tail; /* tail NULL: head is all */
    size_t head_len, tail_len;
    uint64_t bytes;   /* what the program wrote */
    uint64_t omitted; /* between head and tail */
};

/* Adds the text to `out`: what a terminal obeys, what cannot be seen and what is no UTF-8 becomes
 * \x1b and the like, but for line ends and tabs.  Returns the number of characters. */
size_t mcp_shape_visibly(const char *text, size_t len, struct buf *out);

/* Whether all of it stays as it is, the ends of lines as on Windows included. */
bool mcp_shape_is_visible(const char *text, size_t len);
/* The same with each string of a result; its depth is ours, not the program's. */
void mcp_shape_json(json_t *value);

/* Adds at most about `max` characters: the beginning, the end, and between them how much is left
 * out, and `handle`, which says where it is.  True when something was left out. */
bool mcp_shape_stream(const struct mcp_stream *stream, size_t max, const char *handle,
                      struct buf *out);

#endif
