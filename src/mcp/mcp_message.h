/* One JSON-RPC message of MCP: reading it, and the forms of an answer.  Pure. */
#ifndef MCP_MCP_MESSAGE_H
#define MCP_MCP_MESSAGE_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"

#define MCP_MESSAGE_MAX ((size_t)16 << 20)
#define MCP_ID_MAX 1024 /* bytes of an id: it is sent back with every answer */

/* Codes of JSON-RPC and of MCP. */
enum mcp_code {
    MCP_OK = 0,
    MCP_PARSE_ERROR = -32700,
    MCP_INVALID_REQUEST = -32600,
    MCP_NO_METHOD = -32601,
    MCP_INVALID_PARAMS = -32602,
    MCP_INTERNAL = -32603,
    MCP_NO_RESOURCE = -32002, /* before 2026-07-28 */
    MCP_HEADER_MISMATCH = -32020,
    MCP_NO_CAPABILITY = -32021,
    MCP_NO_VERSION = -32022
};

enum mcp_kind { MCP_BAD, MCP_REQUEST, MCP_NOTIFICATION, MCP_RESPONSE };

/* Pointers are borrowed from `json`. */
struct mcp_message {
    enum mcp_kind kind;
    json_t *json; /* NULL: no JSON */
    json_t *id;   /* NULL: there is none that may be sent back */
    const char *method;
    json_t *params;     /* NULL: none; otherwise an object */
    enum mcp_code code; /* of MCP_BAD */
    char why[sizeof(((sbr_error *)0)->message)];
    size_t memory; /* bytes that text and tree take at most */
    /* The transport's own: */
    bool stateless; /* it says that the message is of 2026-07-28 or later */
    void *context;  /* for what is sent while it is handled */
};

/* Never fails: a text that is no message becomes MCP_BAD. */
void mcp_message_read(const char *text, size_t len, struct mcp_message *ret);
void mcp_message_done(struct mcp_message *message);

/* Both take `result` or `data` over, and return NULL without memory.  `id` may be NULL. */
json_t *mcp_message_result(json_t *id, json_t *result);
json_t *mcp_message_error(json_t *id, enum mcp_code code, const char *text, json_t *data);
/* A request with an id, or without one a notification; takes `params` over. */
json_t *mcp_message_call(json_t *id, const char *method, json_t *params);

/* A member of an object that is text; NULL: there is none. */
const char *mcp_text(const json_t *object, const char *key);

#endif
