/* The table of routes: the one place that says which paths there are.  The OpenAPI document is made
 * from it. */
#ifndef HTTP_ROUTE_H
#define HTTP_ROUTE_H

#include "http/exchange.h"

/* Each route has one of ROUTE_STARTS, ROUTE_LOOKS and ROUTE_COUNTED (tests/lint/doors.py). */
enum route_flag {
    ROUTE_OPEN = 1,        /* no token */
    ROUTE_JSON = 2,        /* the body is JSON */
    ROUTE_BYTES = 4,       /* the body is any bytes */
    ROUTE_STARTS = 8,      /* counts for the rate, and is refused while the gateway ends */
    ROUTE_STREAMS = 16,    /* the reply is a stream when `Accept` asks for one */
    ROUTE_BELOW = 32,      /* of a dialect: only below /NAME/, because the root has another */
    ROUTE_RPC = 64,        /* errors may be messages of JSON-RPC, too */
    ROUTE_ASYNC = 128,     /* `Prefer: respond-async` is heard */
    ROUTE_RUN = 256,       /* the body is a request of the library */
    ROUTE_SESSION = 512,   /* with the bounds of a session */
    ROUTE_ANY_TYPE = 1024, /* with ROUTE_BYTES: they are read as JSON, whatever type they have */
    ROUTE_LOOKS = 2048,    /* it runs nothing and changes nothing */
    ROUTE_COUNTED = 4096   /* it ends something, or is a part of what was counted already, or its
                            * handler counts */
};

struct route {
    const char *method;
    const char *path; /* {name} is one part of a path; {name...} is the rest */
    void (*handle)(struct exchange *x);
    unsigned int scope; /* enum grant_scope */
    unsigned int flags;
    unsigned int status;   /* of success */
    const char *operation; /* id in the OpenAPI document */
    const char *summary;   /* one sentence */
    const char *body;      /* schema of the body; NULL: none */
    const char *result;    /* schema of the reply; NULL: no JSON */
    const char *type;      /* media type of the reply; NULL: application/json, or none */
};

/* A row without a method ends it. */
extern const struct route route_table[];

/* Finds the route and fills x->words.  On failure replies and returns NULL. */
const struct route *route_find(struct exchange *x, const char *method);

/* The OpenAPI 3.1 document, made from the route table and data/schemas. */

/* JSON; the caller frees it.  NULL without memory. */
char *openapi_text(void);

/* A page that lists the routes, for a browser: made from the route table, without scripts and
 * without a request to anywhere. */

/* HTML; the caller frees it.  NULL without memory. */
char *reference_text(void);

#endif
