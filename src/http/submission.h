/* The body of a request to run something: JSON to a checked request of the library.
 *
 * Paths of the host never cross HTTP: a field that would name one is refused.  The tenant's
 * ceilings bound what the rest may ask for. */
#ifndef HTTP_SUBMISSION_H
#define HTTP_SUBMISSION_H

#include <jansson.h>

#include "base/sha256.h"
#include "http/execution.h"
#include "mcp/mcp_message.h"

#define SUBMISSION_MAX_DEPTH 32

/* Reads JSON that is not nested too deep.  NULL: it cannot be read. */
json_t *submission_parse(const char *text, size_t len, struct refusal *fault);
/* For `tenant`; the caller frees the request.  0 or -1. */
int submission_read(struct server *server, const struct grant *tenant, const json_t *body,
                    sbr_request **ret, struct refusal *fault);
/* What a tenant's agents begin with: the configuration within the tenant's ceilings, and its
 * workspace (NULL: none).  The caller frees the request.  0 or -1. */
int submission_base(struct server *server, const struct grant *tenant, const char *workspace,
                    sbr_request **ret, struct refusal *fault);
/* What the JSON of a request does not say. */
struct submission_extra {
    enum execution_mode mode;
    /* Changes a request that was read, by bytes of stdin, say; 0 or SBR_E_*.  NULL: nothing. */
    int (*add)(sbr_request *req, void *context, sbr_error *err);
    void *context;
    bool lives; /* it is a sandbox that counts among the tenant's sessions */
};

/* Makes sure of room, and starts what submission_read has read; takes it over.  0 or -1. */
int submission_launch(struct server *server, const struct grant *tenant, sbr_request *req,
                      const struct submission_extra *extra, struct execution **ret,
                      struct refusal *fault);
/* Reads, makes sure of room, starts.  0 or -1. */
int submission_begin(struct server *server, const struct grant *tenant, const json_t *body,
                     const struct submission_extra *extra, struct execution **ret,
                     struct refusal *fault);
/* The same for an exchange.  NULL: it has its reply. */
struct execution *submission_start(struct exchange *x, const json_t *body,
                                   const struct submission_extra *extra);
/* The same of what submission_read has left: a request, which goes over, or NULL and a fault. */
struct execution *submission_start_read(struct exchange *x, sbr_request *req,
                                        enum execution_mode mode, struct refusal *fault);
/* The same of a request that was read already, or of a body that was not; takes both over. */
struct execution *submission_start_body(struct exchange *x, enum execution_mode mode);
/* A field of a body that is no request. */
struct submission_field {
    const char *name;
    bool is_count; /* a whole number above 0; otherwise a text */
};
/* 0, or -1 with the field. */
int submission_check_field(const struct submission_field *field, const json_t *value,
                           struct refusal *fault);
/* The same for all of a body, which has no others. */
int submission_check_fields(const json_t *body, const struct submission_field *fields, size_t n,
                            struct refusal *fault);
/* The content of a body in JSON; replies and returns NULL when it is none. */
json_t *submission_body(struct exchange *x);

/* A large body is read in a thread: jansson reads a hundred megabytes a second at best, and the
 * loop has other clients. */

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
