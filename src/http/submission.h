/* The body of a request to run something: JSON to a checked request of the library.
 *
 * Paths of the host never cross HTTP: a field that would name one is refused.  The tenant's
 * ceilings bound what the rest may ask for. */
#ifndef HTTP_SUBMISSION_H
#define HTTP_SUBMISSION_H

#include <jansson.h>

#include "http/execution.h"

#define SUBMISSION_MAX_DEPTH 32

/* What is wrong with a submission, for its problem. */
struct submission_fault {
    sbr_error err;
    unsigned int status; /* 0: by the error's code */
    char field[64];      /* empty: none */
};

/* Reads JSON that is not nested too deep.  NULL: it cannot be read. */
json_t *submission_parse(const char *text, size_t len, struct submission_fault *fault);
/* For `tenant`; the caller frees the request.  0 or -1. */
int submission_read(struct server *server, const struct tenant *tenant, const json_t *body,
                    sbr_request **ret, struct submission_fault *fault);
/* What a tenant's agents begin with: the configuration within the tenant's ceilings, and its
 * workspace (NULL: none).  The caller frees the request.  0 or -1. */
int submission_base(struct server *server, const struct tenant *tenant, const char *workspace,
                    sbr_request **ret, struct submission_fault *fault);
/* What the JSON of a request does not say. */
struct submission_extra {
    enum execution_mode mode;
    /* Changes a request that was read, by bytes of stdin, say; 0 or SBR_E_*.  NULL: nothing. */
    int (*add)(sbr_request *req, void *context, sbr_error *err);
    void *context;
};

/* Reads, makes sure of room, starts.  0 or -1. */
int submission_begin(struct server *server, const struct tenant *tenant, const json_t *body,
                     const struct submission_extra *extra, struct execution **ret,
                     struct submission_fault *fault);
/* The same for an exchange.  NULL: it has its reply. */
struct execution *submission_start(struct exchange *x, const json_t *body,
                                   enum execution_mode mode);
/* The same of a request that was read already, or of a body that was not; takes both over. */
struct execution *submission_start_body(struct exchange *x, enum execution_mode mode);
void submission_refuse(struct exchange *x, const struct submission_fault *fault);
/* The content of a body in JSON; replies and returns NULL when it is none. */
json_t *submission_body(struct exchange *x);

#endif
