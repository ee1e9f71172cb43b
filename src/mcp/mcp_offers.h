/* What a method of the protocol is, and those about resources, prompts and completion. */
#ifndef MCP_MCP_OFFERS_H
#define MCP_MCP_OFFERS_H

#include "mcp/mcp_internal.h"

struct mcp_fault {
    enum mcp_code code; /* 0: none */
    char text[sizeof(((sbr_error *)0)->message)];
    json_t *data;           /* NULL: none */
    struct mcp_spent spent; /* of the call, which is over */
};

/* The result, or NULL and a fault; neither: there is nothing to send. */
typedef json_t *mcp_method_fn(struct mcp_peer *peer, const struct mcp_message *message,
                              const struct mcp_era *era, struct mcp_fault *fault);

/* NULL, for the caller to return. */
json_t *mcp_offers_fault(struct mcp_fault *fault, enum mcp_code code, const char *text);
/* True, and a fault, when the client asks for a page: everything is on the first one. */
bool mcp_offers_has_cursor(const struct mcp_message *message, struct mcp_fault *fault);

mcp_method_fn mcp_offers_resources, mcp_offers_templates, mcp_offers_read, mcp_offers_subscribe,
    mcp_offers_prompts, mcp_offers_complete;

#endif
