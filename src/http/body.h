/* A large body is read in a thread: jansson reads a hundred megabytes a second at best, and the
 * loop has other clients. */
#ifndef HTTP_BODY_H
#define HTTP_BODY_H

#include "base/sha256.h"
#include "http/submission.h"
#include "mcp/mcp_message.h"

/* What a thread has read: the `read` of an exchange whose body was large. */
struct body_read {
    json_t *tree;              /* NULL: there is a request, or `fault` says why not */
    sbr_request *req;          /* of a ROUTE_RUN, instead of the tree */
    sbr_session_bounds bounds; /* of a ROUTE_SESSION, beside it */
    struct refusal fault;
    struct mcp_message message; /* instead of the tree, where messages come */
    char fingerprint[SHA256_HEX_SIZE];
};

/* Calls the handler: at once, or when the body was read, unless the client has left. */
void body_take(struct exchange *x);

#endif
